"""The two kinds of failure of a job, and the exit status of each."""

from __future__ import annotations


class MyriadError(Exception):
    """A failure that is explained to the user in one or two sentences."""

    status = 1


class InputError(MyriadError, ValueError):
    """The call or its input is wrong: exit status 2."""

    status = 2


class WorkError(MyriadError, RuntimeError):
    """The call was right but the work failed (too many bad images, diverged): exit status 1."""

    status = 1
