"""Valid files of every reader, to start fuzzing from."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from myriad.codes.code import save_code
from myriad.files import write_arrays
from myriad.models import ClassPictures, HeldScores
from myriad.models.calibration.classes import LEAST_ROWS
from myriad.pipelines.predicting.files import Journal
from myriad.training.checkpoints import Checkpoint
from tests.robustness.inputs import picture

ROWS = np.random.default_rng(0).standard_normal((12, 4)).astype(np.float32)
NAMES = ("ant", "bee", "cow")
N_HELD_CLASSES = 9
"""Classes of a file of held-out scores, which has more of them than it keeps for a row."""


def copy_of(name: str) -> Callable[[Path, Path], object]:
    return lambda ready, folder: shutil.copytree(ready / name, folder, dirs_exist_ok=True)


def put(name: str, content: bytes, **more: bytes) -> Callable[[Path, Path], object]:
    def make(ready: Path, folder: Path) -> None:
        (folder / name).write_bytes(content)
        for other, text in more.items():
            (folder / other.replace("_", ".")).write_bytes(text)

    return make


def to_bytes(function: Callable[..., Any], *arguments: Any, **named: Any) -> bytes:
    """Return what a function writes to a stream."""
    stream = io.BytesIO()
    function(stream, *arguments, **named)
    return stream.getvalue()


def save_picture(form: str, mode: str = "RGB", **options: Any) -> bytes:
    """Return the file of a drawn character, in a mode of Pillow."""
    image = Image.open(io.BytesIO(picture(1, 2))).convert("RGB").convert(mode)
    if options.pop("animated", False):
        options |= {"save_all": True, "append_images": [image.rotate(90), image.rotate(180)]}
    if orientation := options.pop("orientation", None):
        exif = Image.Exif()
        exif[0x0112] = orientation
        options["exif"] = exif
    return to_bytes(lambda stream: image.save(stream, form, **options))


LABELS = "".join(f"{NAMES[i % 3]}\n" for i in range(12)).encode()
NPY = to_bytes(np.save, ROWS)
MEMBERS = {f"{name}/{i}.png": picture(i, i) for name in NAMES[:2] for i in range(2)}
TABLE = pa.table({"rows": ROWS.tolist(), "label": [NAMES[i % 3] for i in range(12)]})
LABELLED = {
    name: content
    for i in range(4)
    for name, content in (
        (f"{i}.png", picture(i, i)),
        (f"{i}.cls", NAMES[i % 2].encode()) if i < 3 else (f"{i}.json", b'{"label": "bee"}'),
    )
}
"""Images with their labels beside them, as WebDataset has them."""
IMAGE_TABLE = pa.table(
    {
        "image": [{"bytes": content, "path": name} for name, content in MEMBERS.items()],
        "label": [name.partition("/")[0] for name in MEMBERS],
    }
)
IMAGE_TABLES = tuple(
    to_bytes(lambda stream, table=table: pq.write_table(table, stream))
    for table in (
        IMAGE_TABLE.set_column(0, "image", pa.array(list(MEMBERS.values()))),
        IMAGE_TABLE.set_column(1, "label", pa.array([0, 1, 0, 1])).replace_schema_metadata(
            {
                "huggingface": '{"info": {"features": {"label": {"_type": "ClassLabel", '
                '"names": ["ant", "bee"]}, "image": {"_type": "Image"}}}}'
            }
        ),
        IMAGE_TABLE.append_column("split", pa.array(["train", "validation", "test", "train"])),
    )
)
MANIFEST = b"path,label,split,group\n" + b"".join(
    b"%d.png,%s,%s,g%d\n" % (i, NAMES[i // 3].encode(), (b"train", b"val", b"train")[i % 3], i % 3)
    for i in range(9)
)


def make_manifest(ready: Path, folder: Path) -> None:
    (folder / "list.csv").write_bytes(MANIFEST)
    for i in range(9):
        (folder / f"{i}.png").write_bytes(picture(i, 0))


def make_network(ready: Path, folder: Path) -> None:
    from tests.signatures.onnx_files import write_network

    write_network(folder / "net.onnx")


def make_pictures(ready: Path, folder: Path) -> None:
    pictures = ClassPictures.of([picture(1, 1, "JPEG"), None, picture(2, 1, "JPEG")])
    write_arrays(folder / "pictures.safetensors", pictures.to_arrays(NAMES))


def make_held_scores(ready: Path, folder: Path) -> None:
    """Write scores of enough rows to calibrate on, with the other classes in groups."""
    n_rows, k, draws = LEAST_ROWS + 10, 4, np.random.default_rng(0)
    scores = np.sort(draws.standard_normal((n_rows, k)).astype(np.float32))[:, ::-1]
    classes = np.argsort(draws.random((n_rows, N_HELD_CLASSES)))[:, :k].astype(np.int32)
    rest = scores[:, -1:] - np.array([[0.5, 1.0]], np.float32)
    held = HeldScores(
        labels=classes[:, 0].copy(),
        true=scores[:, 0].copy(),
        classes=classes,
        scores=np.ascontiguousarray(scores),
        rest_scores=rest,
        rest_counts=np.full_like(rest, (N_HELD_CLASSES - k) / 2),
    )
    write_arrays(folder / "held_scores.safetensors", held.to_arrays())


def make_clip(ready: Path, folder: Path) -> None:
    (folder / "img_emb").mkdir()
    (folder / "metadata").mkdir()
    np.save(folder / "img_emb" / "img_emb_0.npy", ROWS)
    table = pa.table({"caption": TABLE["label"], "image_path": [f"{i}.png" for i in range(12)]})
    pq.write_table(table, folder / "metadata" / "metadata_0.parquet")


JOURNAL_KEY = {"model": "a", "k": 1}


def make_journal(ready: Path, folder: Path) -> None:
    journal = Journal(folder / "p.csv")
    journal.begin(JOURNAL_KEY)
    labels = [{"label": name, "score": 0.5, "probability": 0.25} for name in NAMES]
    journal.add({"path": f"{i}.png", "labels": labels, "set": [*NAMES]} for i in range(3))
    journal.add([{"path": "3.png", "reason": "empty file"}])
    journal.close(done=False)


def make_code(ready: Path, folder: Path) -> None:
    from myriad.codes import CODES, CodeOptions, Source
    from myriad.parallel import LearningContext

    code = CODES["scalar"].learn(Source(ROWS), CodeOptions("scalar"), LearningContext())
    save_code(folder, code)


def make_checkpoint(ready: Path, folder: Path) -> None:
    Checkpoint(folder / "c.safetensors", {"a": 1}).save({"b": 2}, {"c": ROWS})


def make_torch(ready: Path, folder: Path) -> None:
    from tests.signatures.torch_files import write_example

    write_example(folder / "w.pth")


PICTURES = {
    "PNG": [
        save_picture("PNG", "L"),
        save_picture("PNG", "P", transparency=3),
        save_picture("PNG", "RGBA", orientation=6),
        save_picture("PNG", "I;16"),
        save_picture("PNG", "1"),
        save_picture("PNG", animated=True),
    ],
    "JPEG": [
        save_picture("JPEG", progressive=True, orientation=5),
        save_picture("JPEG", "CMYK"),
        save_picture("JPEG", "L", optimize=True),
        save_picture("JPEG", subsampling=2, restart_marker_rows=1, comment=b"c"),
    ],
    "GIF": [save_picture("GIF", "P", transparency=0), save_picture("GIF", animated=True)],
    "BMP": [save_picture("BMP", mode) for mode in ("L", "1", "P", "RGBA")],
    "TIFF": [
        *(
            save_picture("TIFF", mode, compression=compression)
            for mode, compression in (
                ("RGB", "tiff_lzw"),
                ("RGBA", "tiff_adobe_deflate"),
                ("L", "packbits"),
                ("1", "group4"),
                ("RGB", "jpeg"),
                ("CMYK", "raw"),
                ("I;16", "raw"),
                ("F", "raw"),
                ("P", "raw"),
            )
        ),
        save_picture("TIFF", animated=True),
        save_picture("TIFF", orientation=8),
    ],
    "WEBP": [
        save_picture("WEBP", lossless=True, orientation=3),
        save_picture("WEBP", "RGBA"),
        save_picture("WEBP", animated=True),
    ],
}
"""Further pictures of each format: other modes, compressions, orientations, several frames."""
ARRAYS = tuple(
    to_bytes(np.save, array)
    for array in (
        ROWS.astype(np.float16),
        ROWS.astype(">f8"),
        np.asfortranarray(ROWS),
        (ROWS * 20).astype(np.int8),
    )
)
LABEL_ARRAYS = tuple(to_bytes(np.save, np.array(NAMES * 4, kind)) for kind in ("U3", "S3", "U9"))
TABLES = tuple(
    to_bytes(lambda stream, table=table: pq.write_table(table, stream))
    for table in (
        TABLE.set_column(0, "rows", TABLE["rows"].cast(pa.list_(pa.float32(), 4))),
        TABLE.set_column(0, "rows", TABLE["rows"].cast(pa.large_list(pa.float64()))),
        TABLE.append_column("split", pa.array(["train", "val", "test"] * 4)),
        TABLE.set_column(1, "label", pa.array([["ant"], ["ant", "bee"]] * 6)),
        TABLE.set_column(1, "label", TABLE["label"].dictionary_encode()),
    )
)
RELEASED = Path(__file__).resolve().parent.parent / "compatibility"
"""Small stores and models of each version."""


def copies_of(pattern: str) -> tuple[Callable[[Path, Path], object], ...]:
    """Return functions that write the released stores or models of a pattern."""
    return tuple(
        lambda ready, folder, path=path: shutil.copytree(path, folder, dirs_exist_ok=True)
        for path in sorted(RELEASED.glob(pattern))
    )


STORES, MODELS = copies_of("*/*.store"), copies_of("*/*.model")
