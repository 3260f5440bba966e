"""The file of a hierarchy that an evaluation reads, and what is wrong with a bad one."""

import pytest

from myriad.errors import InputError
from myriad.pipelines.evaluate import read_hierarchy


def test_reads_parents(tmp_path):
    path = tmp_path / "h.csv"
    path.write_text("parent,class,note\nanimal,cat,\nanimal,dog,x\n", encoding="utf-8")
    assert read_hierarchy(path) == {"cat": "animal", "dog": "animal"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"name,parent\ncat,animal\n", "columns class and parent"),
        (b"", "columns class and parent"),
        (b"class,parent\ncat,\n", "line 2"),
        (b"class,parent\ncat\n", "line 2"),
        (b"class,parent\ncat,animal\ncat,pet\n", "two parents"),
        (b"class,parent\n\xff\xfe,animal\n", "cannot be read"),
        (None, "cannot be read"),
    ],
)
def test_bad_files_are_named(tmp_path, text, says):
    path = tmp_path / "h.csv"
    if text is not None:
        path.write_bytes(text)
    with pytest.raises(InputError, match=says):
        read_hierarchy(path)
