"""Predictions with their output files and folders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from myriad.errors import InputError
from myriad.pipelines.outputs import EXISTS_HINT, check_file_output
from myriad.pipelines.predicting.files import Journal, write_csv, write_parquet
from myriad.pipelines.predicting.predict import Predicted, predict
from myriad.pipelines.predicting.sorting import check_sorting, sort_images
from myriad.pipelines.run import DEFAULT_RUN, Run
from myriad.store.formats import is_row_data


@dataclass(frozen=True, kw_only=True)
class PredictionOutputs:
    """The outputs of predictions; None for those that are not written.

    Attributes
    ----------
    csv, parquet : files with a line for each image and rank.
    sort_into : a folder with a sub-folder of images for each label.
    copy : whether these are copies rather than links.
    """

    csv: Path | None = None
    parquet: Path | None = None
    sort_into: Path | None = None
    copy: bool = False

    def check(self, inputs: Sequence[str], *, overwrite: bool, resume: bool) -> None:
        """Raise `InputError` if an output may not be written."""
        if resume and self.csv is None and self.parquet is None:
            raise InputError("--resume continues a file: name it with --csv or --parquet.")
        journal = Journal(self.csv or self.parquet).path
        if journal is not None and journal.exists() and not (overwrite or resume):
            raise InputError(
                f"{self.csv or self.parquet} was being written when a run was interrupted. "
                f"{EXISTS_HINT}"
            )
        if self.copy and self.sort_into is None:
            raise InputError("--copy needs --sort-into.")
        for option, path in (("--csv", self.csv), ("--parquet", self.parquet)):
            if path is not None:
                check_file_output(path, option=option, overwrite=overwrite)
        if self.sort_into is not None:
            check_sorting(self.sort_into, overwrite=overwrite or resume)
            if any(is_row_data(Path(word)) for word in inputs):
                raise InputError("--sort-into needs images; rows have no files to sort.")

    def predict(
        self,
        model: Path,
        inputs: Sequence[str],
        *,
        run: Run = DEFAULT_RUN,
        **options: Any,
    ) -> Predicted:
        """Predict, and write the outputs; see `predict` for the options.

        A run that is interrupted leaves a journal beside its first file, from which it resumes.
        """
        self.check(inputs, overwrite=run.overwrite, resume=run.resume)
        journal = Journal(self.csv or self.parquet, resume=run.resume)
        done = False
        try:
            predicted = predict(model, inputs, journal=journal, run=run, **options)
            if self.csv is not None:
                write_csv(predicted.predictions, self.csv)
            if self.parquet is not None:
                write_parquet(predicted.predictions, self.parquet)
            if self.sort_into is not None:
                counts = sort_images(
                    predicted.predictions, self.sort_into, predicted.class_names, copy=self.copy
                )
                predicted = replace(predicted, sorted=counts)
            done = True
        finally:
            journal.close(done=done)
        for path in (self.csv, self.parquet, self.sort_into):
            if path is not None:
                run.progress.note(f"Predictions written to {path}.")
        return predicted
