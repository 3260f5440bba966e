"""Files of rows, one format per file, listed in `FORMATS`; and the labels of the rows."""

from myriad.store.formats.file_rows import FileRows
from myriad.store.formats.labelling import Labelled, read_labels
from myriad.store.formats.opening import FORMATS, common_dtype, is_row_data, open_row_files
from myriad.store.formats.row_file import RowFile, to_floats

__all__ = [
    "FORMATS",
    "FileRows",
    "Labelled",
    "RowFile",
    "common_dtype",
    "is_row_data",
    "open_row_files",
    "read_labels",
    "to_floats",
]
