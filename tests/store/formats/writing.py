"""The same rows and labels in every format."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 6)).astype(np.float32)
X[3] = 0  # a line of nothing but a label
Y = RNG.integers(0, 4, 50)


def write_npy(folder: Path, rows=X, labels=Y) -> list[Path]:
    np.save(folder / "rows.npy", rows)
    np.save(folder / "label.npy", labels)
    return [folder / "rows.npy"]


def write_npz(folder: Path, rows=X, labels=Y) -> list[Path]:
    np.savez_compressed(folder / "rows.npz", rows=rows, label=labels)
    return [folder / "rows.npz"]


def write_parquet(folder: Path, rows=X, labels=Y) -> list[Path]:
    table = pa.table({"rows": list(rows), "label": labels})
    pq.write_table(table, folder / "rows.parquet", row_group_size=16)
    return [folder / "rows.parquet"]


def write_fixed(folder: Path, rows=X, labels=Y) -> list[Path]:
    column = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])
    pq.write_table(pa.table({"rows": column, "label": labels}), folder / "fixed.parquet")
    return [folder / "fixed.parquet"]


def write_svmlight(folder: Path, rows=X, labels=Y) -> list[Path]:
    lines = [
        f"{label} " + " ".join(f"{i + 1}:{value!r}" for i, value in enumerate(row) if value)
        for label, row in zip(labels.tolist(), rows.tolist(), strict=True)
    ]
    (folder / "rows.svm").write_text("\n".join(lines) + "\n")
    return [folder / "rows.svm"]


def write_clip(folder: Path, rows=X, labels=Y, cut=20) -> list[Path]:
    for name in ("img_emb", "metadata"):
        (folder / "clip" / name).mkdir(parents=True)
    parts = (slice(0, cut), slice(cut, None))
    for number, part in enumerate(parts):
        np.save(folder / f"clip/img_emb/img_emb_{number}.npy", rows[part])
        paths = [f"{number}/{i}.jpg" for i in range(len(rows[part]))]
        table = pa.table({"image_path": paths, "label": labels[part]})
        pq.write_table(table, folder / f"clip/metadata/metadata_{number}.parquet")
    return [folder / "clip"]


WRITERS = {
    "npz": write_npz,
    "parquet": write_parquet,
    "fixed": write_fixed,
    "svmlight": write_svmlight,
    "clip": write_clip,
}
