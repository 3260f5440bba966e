"""Every reader of files from users, with valid files to start from."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from myriad.cli.report import write_html
from myriad.codes.code import load_code, save_code
from myriad.errors import MyriadError
from myriad.files import checksum, write_arrays
from myriad.images import BadImage, find_images, list_inputs, read_image
from myriad.images.corrections import read_corrections
from myriad.models import (
    ClassPictures,
    HeldScores,
    calibrate,
    load_held_scores,
    load_model,
    load_pictures,
)
from myriad.models.calibration.classes import LEAST_ROWS
from myriad.models.calibration.held_classes import add_classes, rank_held, relabel_held
from myriad.pipelines.predicting.decision_options import read_hierarchy, read_only, read_prior
from myriad.pipelines.predicting.files import Journal, write_csv
from myriad.pipelines.training.train import read_evidence
from myriad.progress import SILENT
from myriad.signatures.networks.onnx_file import read_onnx
from myriad.signatures.networks.torch_weights import read_torch_weights
from myriad.store import Store
from myriad.store.formats import FileRows
from myriad.training.checkpoints import Checkpoint
from tests.robustness import mutation, mutation_fields, mutation_tables
from tests.robustness.inputs import picture
from tests.robustness.mutation import Mutate, pack_tar, pack_zip

ROWS = np.random.default_rng(0).standard_normal((12, 4)).astype(np.float32)
NAMES = ("ant", "bee", "cow")
N_HELD_CLASSES = 9
"""Classes of a file of held-out scores, which has more of them than it keeps for a row."""


@dataclass(frozen=True)
class Reader:
    """A reader, and how its files are changed.

    Attributes
    ----------
    read : reads a file whose content was changed; may raise `MyriadError` or `BadImage`.
    file : the name of that file in the folder of `make`.
    make : writes all files that the reader needs to an empty folder.
    seeds : further valid contents of that file.
    others : functions as `make` that write files of other kinds.
    update_checksums : updates the checksums of the changed file in other files.
    """

    read: Callable[[Path], object]
    file: str
    mutate: Mutate
    make: Callable[[Path, Path], object]
    update_checksums: Callable[[Path], object] = lambda path: None
    seeds: tuple[bytes, ...] = ()
    others: tuple[Callable[[Path, Path], object], ...] = ()

    def try_content(self, folder: Path, content: bytes) -> str:
        """Read a file of this content; return the error message. Any other exception is a fault."""
        path = folder / self.file
        path.write_bytes(content)
        self.update_checksums(path)
        try:
            self.read(path)
        except (MyriadError, BadImage) as error:
            return str(error)
        return ""


def read_store(path: Path) -> None:
    store = Store.open(path.parent)
    store.paths, store.splits, store.bad  # noqa: B018
    for block in store.rows().blocks(8):
        assert block.X.shape[1] == store.dim


def resume_store(path: Path) -> None:
    Store.resume(path.parent, plan={})


def read_model(path: Path) -> None:
    loaded = load_model(path.parent)
    assert len(loaded.class_names) == loaded.model.n_classes > 0
    if loaded.model.dim <= 10_000:
        loaded.model.rank(np.ones((2, loaded.model.dim), np.float32), 1)


def read_report(path: Path) -> None:
    model = path.parent
    write_html(read_evidence(model), model / "report.html", model, SILENT)


def read_class_pictures(path: Path) -> None:
    pictures = load_pictures(path.parent, NAMES)
    if pictures is not None:
        assert sum(len(pictures.read(c) or b"") for c in range(len(NAMES))) == len(pictures.content)


def read_held_scores(path: Path) -> None:
    """Do what `extend`, `forget` and `merge` do with the scores."""
    held = load_held_scores(path.parent, N_HELD_CLASSES)
    assert held is not None
    fewer = relabel_held(held, np.maximum(np.arange(N_HELD_CLASSES, dtype=np.int32) - 2, -1))
    for scores in (held, fewer, add_classes(held, np.ones((len(held), 2), np.float32), 9)):
        rank_held(scores)
        calibrate(scores, "split")


def read_images(path: Path) -> None:
    found = find_images(path)
    for name in found.paths[:3]:
        with suppress(BadImage):
            found.read(found.paths.index(name))


def read_rows(path: Path) -> None:
    labels = "labels.txt" if (path.parent / "labels.txt").exists() else "label"
    rows = FileRows.open([path], [str(path.parent / labels)] if "." in labels else [labels])
    for _ in zip(rows.blocks(8), range(1000), strict=False):
        pass


def read_clip(path: Path) -> None:
    rows = FileRows.open([path.parent.parent], ["caption"])
    rows.paths  # noqa: B018
    for _ in rows.blocks(8):
        pass


def read_labels(path: Path) -> None:
    FileRows.open([path.parent / "rows.npy"], [str(path)]).paths  # noqa: B018


def update_store_checksum(path: Path) -> None:
    """Write the checksum and the size of a changed file to store.json."""
    stated = json.loads((path.parent / "store.json").read_text())
    record = {"bytes": path.stat().st_size, "sha256": checksum(path)}
    if path.name.startswith("shard"):
        stated["shards"][int(path.stem.partition("-")[2])] |= record
    else:
        stated["index" if path.name == "index.arrow" else "arrays"] |= record
    (path.parent / "store.json").write_text(json.dumps(stated))


def update_model_checksum(path: Path) -> None:
    stated = json.loads((path.parent / "config.json").read_text())
    stated["checksum"] = checksum(path)
    (path.parent / "config.json").write_text(json.dumps(stated))


def update_code_checksum(path: Path) -> None:
    stated = json.loads((path.parent / "code.json").read_text())
    stated["checksum"] = checksum(path)
    (path.parent / "code.json").write_text(json.dumps(stated))


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


def read_journal(path: Path) -> None:
    """Do what ``predict --resume`` does with the results of an interrupted run."""
    journal = Journal(path.parent / "p.csv", resume=True)
    journal.begin(JOURNAL_KEY)
    journal.close(done=False)
    found = [entry for entry in journal.entries.values() if "reason" not in entry]
    write_csv(found, path.parent / "p.csv")


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
        save_picture("TIFF", big_tiff=True, orientation=8),
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
        TABLE.set_column(1, "label", pa.array([[0], [1, 2], []] * 4)),
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
JSON, TEXT, LINES = mutation.mutate_json, mutation.mutate_text, mutation.mutate_json_lines
TENSORS = mutation_tables.mutate_arrays
ARROW, PARQUET = mutation_tables.mutate_arrow, mutation_tables.mutate_parquet
PICTURE_FORMS = {
    "PNG": mutation.mutate_png,
    "JPEG": mutation_fields.mutate_jpeg,
    "GIF": mutation_fields.mutate_front,
    "BMP": mutation_fields.mutate_front,
    "TIFF": mutation_fields.mutate_tiff,
    "WEBP": mutation_fields.mutate_front,
}
READERS = {
    "store.json": Reader(read_store, "store.json", JSON, copy_of("rows.store"), others=STORES),
    "plan.json": Reader(resume_store, "plan.json", JSON, copy_of("rows.store"), others=STORES),
    "shard": Reader(
        read_store,
        "shard-00000.arrow",
        ARROW,
        copy_of("rows.store"),
        update_store_checksum,
        others=STORES,
    ),
    "index": Reader(read_store, "index.arrow", ARROW, copy_of("rows.store"), update_store_checksum),
    "recipe": Reader(
        read_store,
        "recipe.safetensors",
        TENSORS,
        copy_of("model.store"),
        update_store_checksum,
        others=copies_of("*/b*.store"),
    ),
    "config.json": Reader(read_model, "config.json", JSON, copy_of("model"), others=MODELS),
    "model": Reader(
        read_model,
        "model.safetensors",
        TENSORS,
        copy_of("model"),
        update_model_checksum,
        others=MODELS,
    ),
    "evidence": Reader(read_report, "evidence.json", JSON, copy_of("model")),
    "pictures": Reader(read_class_pictures, "pictures.safetensors", TENSORS, make_pictures),
    "held scores": Reader(read_held_scores, "held_scores.safetensors", TENSORS, make_held_scores),
    "checkpoint": Reader(
        lambda path: Checkpoint(path, {"a": 1}).load(), "c.safetensors", TENSORS, make_checkpoint
    ),
    "journal": Reader(read_journal, ".p.csv.journal", LINES, make_journal),
    "code": Reader(
        lambda path: load_code(path.parent),
        "code.safetensors",
        TENSORS,
        make_code,
        update_code_checksum,
    ),
    "code.json": Reader(lambda path: load_code(path.parent), "code.json", JSON, make_code),
    "manifest": Reader(
        read_images,
        "list.csv",
        TEXT,
        make_manifest,
    ),
    "zip": Reader(
        read_images, "a.zip", mutation.mutate_images_zip, put("a.zip", pack_zip(MEMBERS))
    ),
    "tar": Reader(read_images, "a.tar", mutation.mutate_tar, put("a.tar", pack_tar(MEMBERS))),
    "webdataset": Reader(
        read_images, "a.tar", mutation.mutate_tar, put("a.tar", pack_tar(LABELLED))
    ),
    "images.parquet": Reader(
        read_images,
        "a.parquet",
        PARQUET,
        put("a.parquet", to_bytes(lambda stream: pq.write_table(IMAGE_TABLE, stream))),
        seeds=IMAGE_TABLES,
    ),
    "corrections": Reader(
        read_corrections,
        "c.csv",
        TEXT,
        put("c.csv", b"path,label,given\n0.png,ant,bee\n1.png,,bee\n2.png,cow,\n"),
    ),
    **{
        form.lower(): Reader(
            read_image,
            f"a.{form}",
            mutate,
            put(f"a.{form}", picture(1, 1, form)),
            seeds=tuple(PICTURES[form]),
        )
        for form, mutate in PICTURE_FORMS.items()
    },
    "npy": Reader(
        read_rows,
        "r.npy",
        mutation_tables.mutate_npy_arrays,
        put("r.npy", NPY, labels_txt=LABELS),
        seeds=ARRAYS,
    ),
    "npz": Reader(
        read_rows,
        "r.npz",
        mutation_tables.mutate_npz,
        put("r.npz", to_bytes(np.savez, rows=ROWS, label=np.arange(12) % 3)),
    ),
    "parquet": Reader(
        read_rows,
        "r.parquet",
        PARQUET,
        put("r.parquet", to_bytes(lambda stream: pq.write_table(TABLE, stream))),
        seeds=TABLES,
    ),
    "clip metadata": Reader(read_clip, "metadata/metadata_0.parquet", PARQUET, make_clip),
    "svmlight": Reader(
        read_rows,
        "r.svm",
        TEXT,
        put("r.svm", b"".join(b"%d 1:0.5 3:%d # c\n" % (i % 3, i) for i in range(12))),
    ),
    "labels.txt": Reader(read_labels, "l.txt", TEXT, put("l.txt", LABELS, rows_npy=NPY)),
    "labels.csv": Reader(
        read_labels,
        "l.csv",
        TEXT,
        put(
            "l.csv",
            b"label,split\n" + LABELS.replace(b"\n", b",train\n"),
            rows_npy=NPY,
        ),
    ),
    "labels.npy": Reader(
        read_labels,
        "l.npy",
        mutation_tables.mutate_npy_arrays,
        put("l.npy", to_bytes(np.save, np.arange(12) % 3), rows_npy=NPY),
        seeds=LABEL_ARRAYS,
    ),
    "list": Reader(
        lambda path: list_inputs([str(path)]), "l.txt", TEXT, put("l.txt", b"l.txt\nb.png\n")
    ),
    "prior": Reader(read_prior, "p.csv", TEXT, put("p.csv", b"label,weight\nant,2\nbee,0.5\n")),
    "only": Reader(
        lambda path: read_only(str(path), NAMES), "o.txt", TEXT, put("o.txt", b"ant\nbee\n")
    ),
    "hierarchy": Reader(
        lambda path: read_hierarchy(path, NAMES),
        "h.csv",
        TEXT,
        put("h.csv", b"label,genus,order\nant,a,i\nbee,b,i\ncow,c,m\n"),
    ),
    "onnx": Reader(read_onnx, "net.onnx", mutation_fields.mutate_protobuf, make_network),
    "torch": Reader(read_torch_weights, "w.pth", mutation_fields.mutate_pickles, make_torch),
}
