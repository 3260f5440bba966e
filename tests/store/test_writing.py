"""Errors while a store is written."""

import errno

import pytest

from myriad.errors import WorkError
from myriad.store.writing import reporting_write_errors


def test_a_full_disk_is_an_error_of_writing(tmp_path):
    with pytest.raises(WorkError, match="No space"), reporting_write_errors(tmp_path):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_library_without_memory_is_no_error_of_writing(tmp_path):
    """The libraries of Numba may be loaded only while rows are written."""
    cause = OSError("libLLVM.so: failed to map segment from shared object")
    with pytest.raises(OSError, match="Could not load"), reporting_write_errors(tmp_path):
        raise OSError("Could not load libllvmlite.so") from cause
