"""Cases of ready-made rows, of networks, and of what is exported."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.robustness.calling import QUICK
from tests.robustness.cases import Case
from tests.robustness.inputs import copy, picture, truncate, write_images

TRAIN = f"train images --out m {QUICK}"
IMPORT = "import rows.npy --labels labels.txt --out s"


def write_rows(here: Path, rows: object = None, n_labels: int = 12) -> None:
    """Write ``rows.npy`` of 12 rows and ``labels.txt``."""
    rows = np.arange(48.0).reshape(12, 4) if rows is None else rows
    np.save(here / "rows.npy", rows, allow_pickle=True)
    (here / "labels.txt").write_text("".join(f"class {i % 3}\n" for i in range(n_labels)))


def write_table(here: Path, **columns: object) -> None:
    pq.write_table(pa.table(columns), here / "rows.parquet")


def enlarge(path: Path) -> None:
    """Write a .npz file of one row whose header states a hundred million."""
    content = io.BytesIO()
    np.save(content, np.ones((1, 4), np.float32))
    stated = content.getvalue().replace(b"(1, 4), }        ", b"(100000000, 4), }")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("rows.npy", stated)


def spoil(rows: np.ndarray, value: float) -> np.ndarray:
    rows[7, 2] = value
    return rows


def write_store(folder: Path, size: float) -> None:
    """Write a store of rows with one large or small value each."""
    from myriad.store import Store

    writer = Store.create(folder, class_names=["ant", "bee"], dim=3, n_shards=1)
    rows = np.eye(4, 3, dtype=np.float32) * np.float32(size)
    writer.write_shard(0, rows, [0, 1, 0, 1], list("abcd"), "train")
    writer.finish()


def write_network(here: Path, **options: object) -> None:
    """Write ``net.onnx`` beside a folder of images."""
    from tests.signatures import onnx_files

    write_images(here / "images")
    onnx_files.write_network(here / "net.onnx", **options)


ROW_CASES = [
    Case("import: good rows", IMPORT, 0, "Rows      12", lambda h, r: write_rows(h)),
    Case(
        "import: in place",
        f"{IMPORT} --in-place",
        0,
        "Kept as   float16",
        lambda h, r: write_rows(h, np.ones((12, 3), np.float16)),
    ),
    Case(
        "import: labels of 5,000 digits",
        IMPORT,
        0,
        "Classes   2",
        lambda h, r: [
            write_rows(h),
            (h / "labels.txt").write_text(f"{'1' * 5000}\n2\n" * 6),
        ],
    ),
    Case(
        "import: svmlight with an index of 2^31",
        "import rows.svm --out s",
        2,
        "rows.svm has the number of a feature that is too large",
        lambda h, r: (h / "rows.svm").write_text("1 2147483648:1\n2 1:1\n"),
    ),
    Case(
        "import: labels from a pipe",
        "import rows.npy --labels pipe.txt --out s",
        2,
        "pipe.txt is not a regular file",
        lambda h, r: [write_rows(h), os.mkfifo(h / "pipe.txt")],
    ),
    Case(
        "import: a folder that is not UTF-8",
        "import rows --labels folder --out s",
        2,
        "the name of its folder is not valid Unicode",
        lambda h, r: [
            (h / "rows" / os.fsdecode(b"\xff")).mkdir(parents=True),
            np.save(h / "rows" / os.fsdecode(b"\xff") / "a.npy", np.eye(4)),
        ],
    ),
    Case(
        "import: an archive of zeros",
        "import rows.npz --labels labels.txt --out s",
        2,
        "rows.npz: rows is compressed",
        lambda h, r: [
            write_rows(h),
            np.savez_compressed(h / "rows.npz", rows=np.zeros((12, 400_000), np.float32)),
        ],
    ),
    Case(
        "import: an archive with the header of more rows",
        "import rows.npz --labels labels.txt --out s",
        2,
        "rows.npz: rows is truncated",
        lambda h, r: [write_rows(h), enlarge(h / "rows.npz")],
    ),
    *(
        Case(
            f"{verb}: rows of size {size:g}",
            f"{verb} s --out m",
            2,
            f"The largest of the values is {size:.0e}, so products of rows are beyond the range",
            lambda h, r, size=size: write_store(h / "s", size),
        )
        for verb in ("train", "tune", "compare")
        for size in (1e20, 1e-20)
    ),
    Case(
        "import: too few labels",
        IMPORT,
        2,
        "labels.txt has 11 labels for the 12 rows of rows.npy",
        lambda h, r: write_rows(h, n_labels=11),
    ),
    Case(
        "import: a NaN",
        IMPORT,
        2,
        "rows.npy, row 7: a NaN",
        lambda h, r: write_rows(h, spoil(np.ones((12, 4)), np.nan)),
    ),
    Case(
        "import: infinity in place",
        f"{IMPORT} --in-place",
        2,
        "rows.npy, row 7: a NaN",
        lambda h, r: write_rows(h, spoil(np.ones((12, 4), np.float32), np.inf)),
    ),
    Case(
        "import: a pickle",
        IMPORT,
        2,
        "rows.npy is not a valid .npy file: it holds Python objects",
        lambda h, r: write_rows(h, np.array([[{}]] * 12, dtype=object)),
    ),
    Case(
        "import: a truncated file",
        IMPORT,
        2,
        "rows.npy is not a valid .npy file: the file is cut short",
        lambda h, r: [write_rows(h), truncate(h / "rows.npy", 0.9)],
    ),
    Case(
        "import: no rows",
        IMPORT,
        2,
        "rows.npy holds no rows",
        lambda h, r: write_rows(h, np.ones((0, 4))),
    ),
    Case(
        "import: one dimension",
        IMPORT,
        2,
        "rows.npy has shape (12,)",
        lambda h, r: write_rows(h, np.ones(12)),
    ),
    Case(
        "import: rows of two widths",
        "import rows.npy wide.npy --labels labels.txt --out s",
        2,
        "wide.npy has rows of 5 features, rows.npy of 4",
        lambda h, r: [write_rows(h), np.save(h / "wide.npy", np.ones((3, 5)))],
    ),
    Case("import: no such file", IMPORT, 2, "rows.npy does not exist"),
    Case(
        "import: no such labels",
        "import rows.npy --labels labels.csv --out s",
        2,
        "rows.npy has no column 'labels.csv'",
        lambda h, r: write_rows(h),
    ),
    Case(
        "import: no such column of labels",
        "import rows.parquet --labels species --out s",
        2,
        "rows.parquet has no column 'species' (its columns: name)",
        lambda h, r: write_table(h, rows=[[1.0]], name=["a"]),
    ),
    Case(
        "import: no such column of rows",
        "import rows.parquet --rows clip --out s",
        2,
        "rows.parquet has no column 'clip'; its columns: rows, label",
        lambda h, r: write_table(h, rows=[[1.0]], label=["a"]),
    ),
    Case(
        "import: a store is there",
        IMPORT,
        2,
        "s exists",
        lambda h, r: [write_rows(h), copy(r / "model.store", h / "s")],
    ),
    Case(
        "import: images",
        "import images --out s",
        2,
        "images holds no files of rows",
        lambda h, r: write_images(h / "images"),
    ),
    Case(
        "predict: rows of another width",
        "predict model rows.npy",
        2,
        "The rows of rows.npy have 4 features",
        lambda h, r: [copy(r / "model", h / "model"), write_rows(h)],
    ),
    Case(
        "predict: rows and images",
        "predict model rows.npy a.png",
        2,
        "a.png is not a file of rows",
        lambda h, r: [
            copy(r / "model", h / "model"),
            write_rows(h),
            (h / "a.png").write_bytes(picture(0, 0)),
        ],
    ),
    Case(
        "evaluate: rows without labels",
        "evaluate model rows.npy",
        2,
        "rows.npy has no column 'label'",
        lambda h, r: [copy(r / "model", h / "model"), write_rows(h)],
    ),
    Case(
        "evaluate: labels for images",
        "evaluate model images --labels labels.txt",
        2,
        "--labels and --rows are for files of rows",
        lambda h, r: [copy(r / "model", h / "model"), write_images(h / "images")],
    ),
    Case(
        "export: nothing of ours",
        "export images --out o",
        2,
        "images is neither a store nor a model",
        lambda h, r: write_images(h / "images"),
    ),
    Case(
        "export: top of a store",
        "export s --out o --top 3",
        2,
        "--top is for models",
        lambda h, r: copy(r / "model.store", h / "s"),
    ),
    Case(
        "export: weights of a store",
        "export s --out o --weights int8",
        2,
        "--weights is for models",
        lambda h, r: copy(r / "model.store", h / "s"),
    ),
    Case(
        "export: unknown weights",
        "export model --out o --weights int9",
        2,
        "--weights must be float16 or int8, not 'int9'. Did you mean 'int8'?",
        lambda h, r: copy(r / "model", h / "model"),
    ),
    Case(
        "export: weights and top",
        "export model --out o --weights int8 --top 3",
        2,
        "--top is for an ONNX file",
        lambda h, r: copy(r / "model", h / "model"),
    ),
    Case(
        "export: weights onto the model",
        "export model --out model --weights int8 --overwrite",
        2,
        "is an input of this run",
        lambda h, r: copy(r / "model", h / "model"),
    ),
    Case(
        "export: to a file",
        "export s --out o",
        2,
        "o is a file",
        lambda h, r: [copy(r / "model.store", h / "s"), (h / "o").touch()],
    ),
    Case(
        "export: the graph is there",
        "export model --out o.onnx",
        2,
        "o.onnx exists",
        lambda h, r: [copy(r / "model", h / "model"), (h / "o.onnx").touch()],
    ),
    Case(
        "export: no such folder",
        "export model --out none/o.onnx",
        2,
        "none",
        lambda h, r: copy(r / "model", h / "model"),
    ),
    *(
        Case(
            f"network: {option}",
            f"train images --out m --signature {option}",
            2,
            says,
            lambda h, r: [write_network(h), (h / "text.onnx").write_text("no network")],
        )
        for option, says in (
            ("onnx:none.onnx", "onnx:none.onnx: there is no such file"),
            ("onnx:text.onnx", "text.onnx cannot be run"),
            ("onnx:net.onnx --onnx-output nothing", "net.onnx has no output 'nothing'"),
            ("onnx:net.onnx --onnx-output copy", "'copy' has shape (1, 3, 8, 8)"),
            ("onnx:net.onnx --onnx-size 9", "--image-size 9 is wrong"),
            ("onnx:net.onnx --onnx-mean red", "--onnx-mean must be"),
            ("onnx:net.onnx --onnx-deviation 0.2", "here they are from 0 to 255"),
            ("onnx:net.onnx --components 8", "--components"),
            ("fisher --onnx-size 9", "--image-size belongs to --signature"),
            ("fisher+0.5*fisher:surf", "the descriptor must be one of sift, colour"),
            ("bov --no-coordinates", "--coordinates belongs to --signature fisher"),
            ("onnx:net.onnx --augment flip", "--augment must be one of none, mirror, crops"),
        )
    ),
    Case(
        "network: grey input",
        "extract images --out s --signature onnx:net.onnx",
        2,
        "net.onnx: the input 'image' is tensor(float) of shape [1, 1, 8, 8]",
        lambda h, r: write_network(h, shape=(1, 1, 8, 8), kernel=[[1]]),
    ),
]
