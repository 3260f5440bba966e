"""The body of a request as images or rows, in memory and within limits.

Bytes are counted while they arrive. Nothing is written to disk: a multipart body is parsed in
memory, and the name that a client gives a file is only repeated in the answer.
"""

from __future__ import annotations

import io
import json
import logging
import math
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header

from myriad.serving.refusal import RETRY_AFTER, Refusal

MAX_HEADER_BYTES = 4096
MAX_FIELD_BYTES = 4096
ROWS_PER_IMAGE = 16
"""A request may have this many times more rows than images: rows need no extraction."""
# Refused forms have an answer; the parser's warnings would let anybody fill the log of a server.
logging.getLogger("python_multipart").addHandler(logging.NullHandler())
_NPY_MAGIC = b"\x93NUMPY"
_NPY_TYPES = ("application/x-npy", "application/npy", "application/vnd.numpy")
_PLAIN_TYPES = ("", "application/octet-stream", "application/x-www-form-urlencoded")


class Body(Protocol):
    """A request as Starlette makes it."""

    headers: Any

    def stream(self) -> AsyncIterator[bytes]:
        """Yield the bytes of the body as they arrive."""


@dataclass(frozen=True)
class Upload:
    """An image as it was sent, and the name by which the answer calls it."""

    name: str
    content: bytes


@dataclass
class Uploads:
    """The content of a body: images, or rows float32 (n, dim), and the fields of a form."""

    images: list[Upload] = field(default_factory=list)
    rows: NDArray[np.float32] | None = None
    fields: dict[str, str] = field(default_factory=dict)


class Budget:
    """A limit on the bytes of all bodies in memory at a time."""

    def __init__(self, limit: int) -> None:
        self.limit, self.used = limit, 0

    def acquire(self, n_bytes: int) -> None:
        """Reserve some bytes; raises `Refusal` (503) if the limit is exceeded."""
        if self.used + n_bytes > self.limit:
            raise Refusal(503, "The server has too many uploads. Try again later.", RETRY_AFTER)
        self.used += n_bytes

    def release(self, n_bytes: int) -> None:
        """Release bytes that were reserved."""
        self.used -= n_bytes


class Reader:
    """Reads bodies within limits.

    Parameters
    ----------
    max_bytes : of one body.
    max_images : images of one body.
    budget : bytes of all bodies at a time.
    """

    def __init__(self, max_bytes: int, max_images: int, budget: Budget) -> None:
        self.max_bytes, self.max_images, self.budget = max_bytes, max_images, budget

    async def read(self, request: Body) -> bytes:
        """Return the whole body; raises `Refusal` (413) as soon as it is too large.

        The caller releases the bytes from the budget.
        """
        stated = request.headers.get("content-length")
        if stated is not None and stated.isdigit() and int(stated) > self.max_bytes:
            raise self._too_large()
        chunks: list[bytes] = []
        size = 0
        try:
            async for chunk in request.stream():
                if size + len(chunk) > self.max_bytes:
                    raise self._too_large()
                self.budget.acquire(len(chunk))
                size += len(chunk)
                chunks.append(chunk)
        except BaseException:
            self.budget.release(size)
            raise
        return b"".join(chunks)

    def _too_large(self) -> Refusal:
        return Refusal(413, f"The request is larger than {self.max_bytes / 1e6:g} megabytes.")

    def parse(self, content_type: str, body: bytes) -> Uploads:
        """Return the images or rows of a body; raises `Refusal` if there are none."""
        kind, settings = parse_options_header(content_type)
        word = kind.decode("latin-1").lower()
        if not body:
            raise Refusal(400, "The request has no body: send an image or rows.")
        if word == "multipart/form-data":
            return self._check(parse_form(body, settings.get(b"boundary", b""), self.max_images))
        if word == "application/json":
            return self._check(Uploads(rows=parse_rows(read_json_body(body))))
        if word in _NPY_TYPES or body.startswith(_NPY_MAGIC):
            return self._check(Uploads(rows=parse_npy(body)))
        if word.startswith("image/") or word in _PLAIN_TYPES:
            return Uploads(images=[Upload("image", body)])
        raise Refusal(
            415,
            f"The content type {word!r} is not read: send image/*, multipart/form-data, "
            "application/json or application/x-npy.",
        )

    def _check(self, uploads: Uploads) -> Uploads:
        most = ROWS_PER_IMAGE * self.max_images
        if uploads.rows is None and not uploads.images:
            raise Refusal(400, "The form has no file: send an image as a file of the form.")
        if uploads.rows is not None and len(uploads.rows) > most:
            raise Refusal(413, f"A request may have {most} rows at most, not {len(uploads.rows)}.")
        return uploads


class _Form:
    """Collects the parts of a form; its methods are the callbacks of the parser."""

    def __init__(self, max_images: int) -> None:
        self.found = Uploads()
        self.max_images = max_images
        self._headers: dict[bytes, bytes] = {}
        self._name, self._value, self._content = b"", b"", bytearray()

    def callbacks(self) -> dict[str, Any]:
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._add_name,
            "on_header_value": self._add_value,
            "on_header_end": self._end_header,
            "on_part_data": self._add_content,
            "on_part_end": self._end,
        }

    def _begin(self) -> None:
        self._headers, self._content = {}, bytearray()

    def _add_name(self, data: bytes, start: int, end: int) -> None:
        self._name = self._limit(self._name + data[start:end])

    def _add_value(self, data: bytes, start: int, end: int) -> None:
        self._value = self._limit(self._value + data[start:end])

    def _end_header(self) -> None:
        self._headers[self._name.lower()] = self._value
        self._name = self._value = b""

    def _add_content(self, data: bytes, start: int, end: int) -> None:
        self._content += data[start:end]

    def _end(self) -> None:
        _, settings = parse_options_header(self._headers.get(b"content-disposition", b""))
        if b"filename" in settings:
            if len(self.found.images) >= self.max_images:
                raise Refusal(413, f"A request may have {self.max_images} images at most.")
            given = settings[b"filename"].decode("utf-8", "replace")
            name = clean_name(given) or f"image {len(self.found.images) + 1}"
            self.found.images.append(Upload(name, bytes(self._content)))
            return
        if len(self._content) > MAX_FIELD_BYTES or len(self.found.fields) >= 16:
            raise Refusal(413, "A field of the form is too large.")
        key = settings.get(b"name", b"").decode("utf-8", "replace")
        self.found.fields[key] = bytes(self._content).decode("utf-8", "replace")

    @staticmethod
    def _limit(text: bytes) -> bytes:
        if len(text) > MAX_HEADER_BYTES:
            raise Refusal(400, "A header of the form is too large.")
        return text


def parse_form(body: bytes, boundary: bytes, max_images: int) -> Uploads:
    """Return the files and fields of a multipart body."""
    form = _Form(max_images)
    try:
        parser = MultipartParser(boundary, form.callbacks())  # type: ignore[arg-type]
        parser.write(body)
        parser.finalize()
    except (MultipartParseError, ValueError):
        raise Refusal(400, "The body is not a valid multipart form.") from None
    if not body.rstrip().endswith(b"--" + boundary + b"--"):
        raise Refusal(400, "The body of the form is truncated.")
    return form.found


def clean_name(name: str) -> str:
    """Return the last part of a client's file name, for the answer; it is never used as a path."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(c for c in last if c.isprintable())[:200].strip()


def read_json_body(body: bytes) -> Any:
    """Return the content of a JSON body."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise Refusal(400, "The body is not valid JSON.") from None


def parse_rows(content: Any) -> NDArray[np.float32]:
    """Return the rows of ``{"rows": [[...], ...]}``."""
    rows = content.get("rows") if isinstance(content, dict) else None
    if not isinstance(rows, list) or not rows:
        raise Refusal(400, 'Rows as JSON are an object {"rows": [[...], ...]}.')
    return as_float_rows(rows)


def as_float_rows(values: Any) -> NDArray[np.float32]:
    """Return numbers as float32 rows (n, dim); raises `Refusal` if they are not."""
    try:
        with np.errstate(over="ignore"):
            rows = np.asarray(values).astype(np.float32)
    except (TypeError, ValueError, OverflowError):
        raise Refusal(400, "Rows must be lists of numbers of the same length.") from None
    rows = rows[None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or 0 in rows.shape:
        raise Refusal(400, "Rows must be lists of numbers of the same length.")
    if not np.isfinite(rows).all():
        raise Refusal(400, "Rows must have finite values of float32.")
    return rows


def parse_npy(body: bytes) -> NDArray[np.float32]:
    """Return the rows of an .npy file; nothing in it is unpickled."""
    stream = io.BytesIO(body)
    try:
        version = np.lib.format.read_magic(stream)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, by_column, dtype = read(stream)
    except Exception:  # a damaged header raises nearly every kind of exception
        raise Refusal(400, "The body is not a valid .npy file of numbers.") from None
    size = math.prod(shape)
    whole = all(type(n) is int and n > 0 for n in shape)
    if dtype.kind not in "fiu" or len(shape) not in (1, 2) or not whole:
        raise Refusal(400, "An .npy file of rows holds numbers in one or two dimensions.")
    if len(body) - stream.tell() != size * dtype.itemsize:
        raise Refusal(400, "The .npy file is truncated.")
    flat = np.frombuffer(body, dtype, count=size, offset=stream.tell())
    return as_float_rows(flat.reshape(shape, order="F" if by_column else "C"))
