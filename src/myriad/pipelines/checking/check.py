"""Check images or a store before training."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from myriad.checks.class_names import find_alike_names
from myriad.checks.cross_fitting import require_checkable
from myriad.checks.duplicates import (
    DuplicatePair,
    find_equal,
    find_near_images,
    find_near_rows,
)
from myriad.checks.findings import (
    DuplicateGroup,
    Finding,
    Sample,
    find_bad,
    find_class_faults,
    find_duplicate_faults,
    find_odd_images,
    group_duplicates,
)
from myriad.checks.quality import find_image_faults, group_image_faults
from myriad.errors import InputError, WorkError
from myriad.images import ImageList, find_images
from myriad.pipelines.checking.image_scan import Scan, scan_images
from myriad.pipelines.checking.labels import CheckedLabels, check_labels, find_label_faults
from myriad.pipelines.checking.manifest_fixing import (
    check_fixable,
    choose_kept,
    write_fixed,
)
from myriad.pipelines.outputs import check_file_output, locks_output, prepare_results
from myriad.pipelines.run import DEFAULT_RUN, Run
from myriad.progress import Progress
from myriad.signatures.registry import NETWORK, open_network
from myriad.store import Rows, Store, is_store

SIGNATURE = "efficientnet-lite0"
"""The network that finds near duplicates; labels are checked with the network of ``train``."""
REPORT, LABELS = "report.html", "labels.csv"
BLOCK_ROWS = 4096


@dataclass(frozen=True, eq=False)
class Checked:
    """The result of a check.

    Attributes
    ----------
    data : what was checked.
    sample : its items.
    findings : what is wrong, the most serious first.
    pairs, groups : copies.
    odd : unusual images of each kind.
    facts : sizes, formats and colour modes of images, plain JSON.
    labels : the result of checking labels, if requested.
    out : the folder of the results.
    fixed, n_fixed : the manifest that was written, and how many images it has.
    """

    data: Path
    sample: Sample
    findings: list[Finding]
    pairs: list[DuplicatePair]
    groups: list[DuplicateGroup]
    odd: dict[str, list[int]]
    facts: dict[str, Any]
    labels: CheckedLabels | None
    out: Path
    seconds: float
    fixed: Path | None = None
    n_fixed: int = 0
    alike: list[list[str]] = field(default_factory=list)

    @property
    def serious(self) -> bool:
        """Whether a finding makes results wrong or misleading."""
        return any(finding.serious for finding in self.findings)

    @property
    def report(self) -> Path:
        """The page."""
        return self.out / REPORT

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object that ``check`` prints."""
        sample = self.sample
        splits = sample.stated_splits
        counts = {split: sample.count_classes(split) for split in splits}
        return {
            "data": str(self.data),
            "kind": f"{sample.noun}s",
            "n": len(sample),
            "classes": [
                {
                    "name": name,
                    "n": int(total),
                    "splits": {split or "unsplit": int(counts[split][c]) for split in splits},
                }
                for c, (name, total) in enumerate(
                    zip(sample.class_names, sample.count_classes(), strict=True)
                )
            ],
            "splits": {split or "unsplit": int((sample.splits == split).sum()) for split in splits},
            "bad": [dict(item) for item in sample.bad],
            **self.facts,
            "serious": self.serious,
            "findings": [finding.to_json() for finding in self.findings],
            "duplicates": [self._group_to_json(group) for group in self.groups],
            "odd": {kind: [sample.paths[i] for i in items] for kind, items in self.odd.items()},
            "alike_names": self.alike,
            "labels": None if self.labels is None else self._labels_to_json(self.labels),
            "report": str(self.report),
            "fixed": None if self.fixed is None else str(self.fixed),
            "seconds": round(self.seconds, 3),
        }

    def _group_to_json(self, group: DuplicateGroup) -> dict[str, Any]:
        sample = self.sample
        return {
            "exact": group.exact,
            "mirrored": group.mirrored,
            "leaks": group.leaks,
            "images": [
                {
                    "path": sample.paths[i],
                    "label": name_class(sample, int(sample.labels[i])),
                    "split": str(sample.splits[i]),
                }
                for i in group.items
            ],
        }

    def _labels_to_json(self, labels: CheckedLabels) -> dict[str, Any]:
        names = self.sample.class_names
        return {
            "checked": len(labels.ranked.held),
            "wrong": len(labels.wrong),
            "likely": labels.n_likely,
            "sure": labels.n_sure,
            "file": str(labels.file),
            "same_classes": [
                {"classes": [names[one.first], names[one.second]], "share": round(one.share, 3)}
                for one in labels.twins
            ],
        }


def name_class(sample: Sample, label: int) -> str:
    """Return the name of a class; empty if the label is unknown."""
    return sample.class_names[label] if label >= 0 else ""


@locks_output()
def check(
    data: Path,
    out: Path,
    *,
    labels: bool = False,
    fix: Path | None = None,
    run: Run = DEFAULT_RUN,
) -> Checked:
    """Check images in any layout, or a store, and write the findings to the folder `out`.

    Images are read once. The caller writes the page `REPORT` from the result.

    Parameters
    ----------
    labels : whether labels are checked as well, by models trained without the rows that they
        score.
    fix : where to write a manifest without duplicates; None for none.
    """
    began = time.perf_counter()
    of_store = is_store(data)
    if fix is not None:
        if of_store:
            raise InputError(f"--fix writes a manifest of images, and {data} is a store.")
        check_file_output(fix, option="--fix", overwrite=run.overwrite)
    images = None if of_store else find_images(data)
    if images is not None and fix is not None:
        check_fixable(images)
    if labels:
        require_checkable(Store.open(data).rows() if images is None else images)
    prepare_results(out, (REPORT, LABELS), overwrite=run.overwrite, resume=False)
    if images is None:
        contents = _read_store(Store.open(data), run)
    else:
        contents = _read_images(images, NETWORK if labels else SIGNATURE, run)
    sample = contents.sample
    groups = group_duplicates(contents.pairs, sample)
    alike = find_alike_names(sample.class_names)
    kept = np.ones(len(sample), bool)
    if fix is not None and contents.scan is not None:
        kept = choose_kept(contents.scan.images, contents.pairs, groups)
    checked = None
    if labels:
        checked = check_labels(contents.rows, sample, groups, out / LABELS, kept, run)
    findings = [
        *find_bad(sample),
        *find_duplicate_faults(sample, groups),
        *find_class_faults(sample, alike),
        *find_label_faults(sample, checked),
        *find_odd_images(contents.odd, contents.usual),
    ]
    if fix is not None and contents.scan is not None:
        write_fixed(contents.scan.images, kept, groups, fix)
    return Checked(
        data,
        sample,
        sorted(findings, key=lambda finding: not finding.serious),
        contents.pairs,
        groups,
        contents.odd,
        {} if contents.scan is None else describe_files(contents.scan),
        checked,
        out,
        time.perf_counter() - began,
        fix,
        int(kept.sum()),
        alike,
    )


@dataclass(frozen=True, eq=False)
class _Contents:
    """Images or rows to check, and the copies among them.

    Attributes
    ----------
    odd, usual : unusual images; see `group_image_faults`.
    """

    sample: Sample
    rows: Rows
    pairs: list[DuplicatePair]
    scan: Scan | None = None
    odd: dict[str, list[int]] = field(default_factory=dict)
    usual: dict[str, int] = field(default_factory=dict)


def _read_store(store: Store, run: Run) -> _Contents:
    rows = store.rows()
    pairs = find_equal(hash_rows(rows, run.progress))
    return _Contents(sample_store(store), rows, pairs + _find_unique(pairs, rows, None, run))


def _read_images(images: ImageList, network: str, run: Run) -> _Contents:
    for warning in images.warnings:
        run.progress.note(warning)
    scan = scan_images(images, open_network(network), run)
    if not len(scan.images):
        first = "{path} ({reason})".format(**scan.bad[0])
        raise WorkError(f"None of the {len(scan.bad)} images can be read. The first: {first}.")
    pairs = find_equal(scan.digests)
    pairs += _find_unique(pairs, scan.rows, scan, run)
    faults = [
        find_image_faults(header, quality)
        for header, quality in zip(scan.headers, scan.qualities, strict=True)
    ]
    return _Contents(sample_images(scan), scan.rows, pairs, scan, *group_image_faults(faults))


def sample_images(scan: Scan) -> Sample:
    """Return the images of a scan as a sample to check."""
    images = scan.images
    paths = [images.locate(i) for i in range(len(images))]
    named = (images.labels, images.class_names, images.splits)
    return Sample("image", paths, *named, scan.bad, fixable=images.archive is None)


def sample_store(store: Store) -> Sample:
    """Return the rows of a store as a sample to check."""
    named = (store.labels, store.class_names, store.splits)
    return Sample("row", store.paths, *named, store.bad, fixable=False)


def hash_rows(rows: Rows, progress: Progress) -> list[bytes]:
    """Return a hash of each row; equal rows have equal ones."""
    hashes: list[bytes] = []
    with progress.step("Reading rows", rows.n_rows, "rows") as advance:
        for block in rows.blocks(BLOCK_ROWS):
            hashes += [hashlib.blake2b(row, digest_size=16).digest() for row in block.X]
            advance(len(block.X))
    return hashes


def _find_unique(
    equal: Sequence[DuplicatePair],
    rows: Rows,
    scan: Scan | None,
    run: Run,
) -> list[DuplicatePair]:
    """Return near duplicates among items that are not equal to an earlier one.

    The neighbours of a file that is there a hundred times would be its copies only.
    """
    unique = np.setdiff1d(np.arange(rows.n_rows), [pair.second for pair in equal])
    some = rows.select(unique)
    options: dict[str, Any] = {"seed": run.seed, "threads": run.threads, "progress": run.progress}
    if scan is None:
        pairs_of_unique = find_near_rows(some, **options)
    else:
        pairs_of_unique = find_near_images(
            some, scan.thumbnails[unique], scan.sizes[unique], **options
        )
    pairs = [
        pair._replace(first=int(unique[pair.first]), second=int(unique[pair.second]))
        for pair in pairs_of_unique
    ]
    # A mirror image with another label may be another class, as the letters p and q are.
    labels = rows.labels
    return [
        pair for pair in pairs if not pair.mirrored or labels[pair.first] == labels[pair.second]
    ]


def describe_files(scan: Scan) -> dict[str, Any]:
    """Return sizes, formats and colour modes of images, plain JSON."""
    sizes = np.array([(one.width, one.height) for one in scan.headers if one.width] or [(0, 0)])
    quantiles = {"smallest": 0.0, "median": 0.5, "largest": 1.0}
    pixels = sizes.prod(axis=1)
    order = np.argsort(pixels, kind="stable")
    return {
        "sizes": {
            name: sizes[order[round(share * (len(order) - 1))]].tolist()
            for name, share in quantiles.items()
        },
        "formats": dict(Counter(one.format for one in scan.headers).most_common()),
        "modes": dict(Counter(one.mode or "unknown" for one in scan.headers).most_common()),
    }
