"""Every reader of files from users, with the valid files of `reader_files` to start from."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from myriad.cli.report import write_html
from myriad.codes.code import load_code
from myriad.errors import MyriadError
from myriad.files import checksum
from myriad.images import BadImage, find_images, list_inputs, read_image
from myriad.images.corrections import read_corrections
from myriad.models import (
    calibrate,
    load_held_scores,
    load_model,
    load_pictures,
)
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
from tests.robustness import reader_files as files
from tests.robustness.inputs import picture
from tests.robustness.mutation import Mutate, pack_tar, pack_zip
from tests.robustness.reader_files import copies_of, copy_of, put, to_bytes


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
    pictures = load_pictures(path.parent, files.NAMES)
    if pictures is not None:
        assert sum(len(pictures.read(c) or b"") for c in range(len(files.NAMES))) == len(
            pictures.content
        )


def read_held_scores(path: Path) -> None:
    """Do what `extend`, `forget` and `merge` do with the scores."""
    held = load_held_scores(path.parent, files.N_HELD_CLASSES)
    assert held is not None
    fewer = relabel_held(held, np.maximum(np.arange(files.N_HELD_CLASSES, dtype=np.int32) - 2, -1))
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


def read_journal(path: Path) -> None:
    """Do what ``predict --resume`` does with the results of an interrupted run."""
    journal = Journal(path.parent / "p.csv", resume=True)
    journal.begin(files.JOURNAL_KEY)
    journal.close(done=False)
    found = [entry for entry in journal.entries.values() if "reason" not in entry]
    write_csv(found, path.parent / "p.csv")


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
    "store.json": Reader(
        read_store, "store.json", JSON, copy_of("rows.store"), others=files.STORES
    ),
    "plan.json": Reader(resume_store, "plan.json", JSON, copy_of("rows.store")),
    "shard": Reader(
        read_store,
        "shard-00000.arrow",
        ARROW,
        copy_of("rows.store"),
        update_store_checksum,
        others=files.STORES,
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
    "config.json": Reader(read_model, "config.json", JSON, copy_of("model"), others=files.MODELS),
    "model": Reader(
        read_model,
        "model.safetensors",
        TENSORS,
        copy_of("model"),
        update_model_checksum,
        others=files.MODELS,
    ),
    "evidence": Reader(read_report, "evidence.json", JSON, copy_of("model")),
    "pictures": Reader(read_class_pictures, "pictures.safetensors", TENSORS, files.make_pictures),
    "held scores": Reader(
        read_held_scores, "held_scores.safetensors", TENSORS, files.make_held_scores
    ),
    "checkpoint": Reader(
        lambda path: Checkpoint(path, {"a": 1}).load(),
        "c.safetensors",
        TENSORS,
        files.make_checkpoint,
    ),
    "journal": Reader(read_journal, ".p.csv.journal", LINES, files.make_journal),
    "code": Reader(
        lambda path: load_code(path.parent),
        "code.safetensors",
        TENSORS,
        files.make_code,
        update_code_checksum,
    ),
    "code.json": Reader(lambda path: load_code(path.parent), "code.json", JSON, files.make_code),
    "manifest": Reader(
        read_images,
        "list.csv",
        TEXT,
        files.make_manifest,
    ),
    "zip": Reader(
        read_images, "a.zip", mutation.mutate_images_zip, put("a.zip", pack_zip(files.MEMBERS))
    ),
    "tar": Reader(read_images, "a.tar", mutation.mutate_tar, put("a.tar", pack_tar(files.MEMBERS))),
    "webdataset": Reader(
        read_images, "a.tar", mutation.mutate_tar, put("a.tar", pack_tar(files.LABELLED))
    ),
    "images.parquet": Reader(
        read_images,
        "a.parquet",
        PARQUET,
        put("a.parquet", to_bytes(lambda stream: pq.write_table(files.IMAGE_TABLE, stream))),
        seeds=files.IMAGE_TABLES,
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
            seeds=tuple(files.PICTURES[form]),
        )
        for form, mutate in PICTURE_FORMS.items()
    },
    "npy": Reader(
        read_rows,
        "r.npy",
        mutation_tables.mutate_npy_arrays,
        put("r.npy", files.NPY, labels_txt=files.LABELS),
        seeds=files.ARRAYS,
    ),
    "npz": Reader(
        read_rows,
        "r.npz",
        mutation_tables.mutate_npz,
        put("r.npz", to_bytes(np.savez, rows=files.ROWS, label=np.arange(12) % 3)),
    ),
    "parquet": Reader(
        read_rows,
        "r.parquet",
        PARQUET,
        put("r.parquet", to_bytes(lambda stream: pq.write_table(files.TABLE, stream))),
        seeds=files.TABLES,
    ),
    "clip metadata": Reader(read_clip, "metadata/metadata_0.parquet", PARQUET, files.make_clip),
    "svmlight": Reader(
        read_rows,
        "r.svm",
        TEXT,
        put("r.svm", b"".join(b"%d 1:0.5 3:%d # c\n" % (i % 3, i) for i in range(12))),
    ),
    "labels.txt": Reader(
        read_labels, "l.txt", TEXT, put("l.txt", files.LABELS, rows_npy=files.NPY)
    ),
    "labels.csv": Reader(
        read_labels,
        "l.csv",
        TEXT,
        put(
            "l.csv",
            b"label,split\n" + files.LABELS.replace(b"\n", b",train\n"),
            rows_npy=files.NPY,
        ),
    ),
    "labels.npy": Reader(
        read_labels,
        "l.npy",
        mutation_tables.mutate_npy_arrays,
        put("l.npy", to_bytes(np.save, np.arange(12) % 3), rows_npy=files.NPY),
        seeds=files.LABEL_ARRAYS,
    ),
    "list": Reader(
        lambda path: list_inputs([str(path)]), "l.txt", TEXT, put("l.txt", b"l.txt\nb.png\n")
    ),
    "prior": Reader(read_prior, "p.csv", TEXT, put("p.csv", b"label,weight\nant,2\nbee,0.5\n")),
    "only": Reader(
        lambda path: read_only(str(path), files.NAMES), "o.txt", TEXT, put("o.txt", b"ant\nbee\n")
    ),
    "hierarchy": Reader(
        lambda path: read_hierarchy(path, files.NAMES),
        "h.csv",
        TEXT,
        put("h.csv", b"label,genus,order\nant,a,i\nbee,b,i\ncow,c,m\n"),
    ),
    "onnx": Reader(read_onnx, "net.onnx", mutation_fields.mutate_protobuf, files.make_network),
    "torch": Reader(read_torch_weights, "w.pth", mutation_fields.mutate_pickles, files.make_torch),
}
