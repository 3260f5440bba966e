"""Requests that are refused: a status of HTTP and one sentence."""

from __future__ import annotations

from collections.abc import Mapping

from myriad.errors import MyriadError

RETRY_AFTER = {"Retry-After": "1"}


class Refusal(MyriadError):
    """The error response of a request.

    Attributes
    ----------
    code : the status of the answer, 400 to 599.
    headers : headers of the answer.
    """

    def __init__(self, code: int, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.code = code
        self.headers = dict(headers or {})
