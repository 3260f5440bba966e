"""Lines of the package that were run, by which fuzzing knows a file that got further than others.

A function is traced until all of its lines were seen, so this costs little after some seconds.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any

import myriad

PACKAGE = str(Path(myriad.__file__).parent)


class ReachedLines:
    """A context in which the lines of `myriad` that are run in this thread are counted.

    Attributes
    ----------
    n : how many different lines were run.
    """

    def __init__(self) -> None:
        self.n = 0
        self._missing: dict[int, set[int]] = {}
        self._codes: list[CodeType] = []  # kept, so that no other code gets the same id

    def __enter__(self) -> ReachedLines:
        sys.settrace(self._trace_call)
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.settrace(None)

    def _trace_call(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE):
            return None
        missing = self._missing.get(id(code))
        if missing is None:
            missing = {line for _, _, line in code.co_lines() if line is not None}
            self._missing[id(code)] = missing
            self._codes.append(code)
        return self._trace_line if missing else None

    def _trace_line(self, frame: FrameType, event: str, argument: Any) -> Any:
        missing = self._missing[id(frame.f_code)]
        if frame.f_lineno in missing:
            missing.remove(frame.f_lineno)
            self.n += 1
        return self._trace_line
