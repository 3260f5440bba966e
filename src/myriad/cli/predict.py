"""``myriad predict``: ranked labels for images or rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from myriad.cli.shared_options import Deciding, ModelArgument, read_decisions
from myriad.cli.tables import print_table
from myriad.cli.verb import Lists, OptionPanel, verb
from myriad.errors import InputError
from myriad.locks import locked
from myriad.pipelines.run import Run

if TYPE_CHECKING:
    from myriad.pipelines.predicting.predict import Predicted
    from myriad.pipelines.updating.next_labels import Suggested


DECIDED = {
    "assigned": "Labels",
    "unknown": "Unknown",
    "novelty": "Novelty",
    "set": "Set",
    "answer": "Answer",
}
"""Title of the column of each decision about an image."""


def show_decision(prediction: dict[str, Any]) -> list[str]:
    """Return the decisions beyond ranked labels, one cell each."""
    cells = []
    for name in DECIDED:
        value = prediction.get(name)
        if name not in prediction:
            continue
        if name == "unknown":
            cells.append("unknown" if value else "")
        elif name == "novelty":
            cells.append(f"{100 * prediction[name]:.1f} %")
        elif name in ("assigned", "set"):
            cells.append(", ".join(prediction[name]) or "none")
        else:
            answer = prediction[name]
            label = "unknown" if answer["label"] is None else f"{answer['level']} {answer['label']}"
            cells.append(f"{label} ({100 * answer['probability']:.1f} %)")
    return cells


def show(predicted: Predicted | Suggested, run: Run) -> None:
    """Print a line for each image or row: its labels, best first."""
    if not hasattr(predicted, "predictions"):
        show_suggested(predicted)
        show_bad(predicted.bad)
        return
    rows = [
        [
            prediction["path"],
            *show_decision(prediction),
            *(show_entry(entry) for entry in prediction["labels"]),
        ]
        for prediction in predicted.predictions
    ]
    if rows:
        first = predicted.predictions[0]
        decided = [title for name, title in DECIDED.items() if name in first]
        ranks = ["Best", *(str(rank) for rank in range(2, len(first["labels"]) + 1))]
        print_table([predicted.noun.capitalize(), *decided, *ranks], rows, records=True)
    show_bad(predicted.bad)


def show_bad(bad: list[dict[str, str]]) -> None:
    """Print the images that could not be read."""
    if bad:
        print_table(["Bad image", "Reason"], [[one["path"], one["reason"]] for one in bad])


def show_entry(entry: dict[str, Any]) -> str:
    """Return a label with its probability, or with its score if the model is not calibrated."""
    probability = entry.get("probability")
    shown = f"{entry['score']:.2f}" if probability is None else f"{100 * probability:.1f} %"
    return f"{entry['label']} ({shown})"


def show_suggested(suggested: Suggested) -> None:
    """Print the images to label, and those unlike all classes."""
    n, n_novel, noun = len(suggested.images), len(suggested.novel), suggested.noun
    titles = (
        f"{n:,} of {suggested.considered:,} {noun}s to label next",
        f"{n_novel:,} {noun}{'s' * (n_novel != 1)} unlike all classes",
    )
    for title, images in zip(titles, (suggested.images, suggested.novel), strict=True):
        rows = [
            [
                image["path"],
                f"{image['suggested']} ({100 * image['probability']:.1f} %)",
                f"{image['second']} ({100 * image['second_probability']:.1f} %)"
                if "second" in image
                else "",
            ]
            for image in images
        ]
        if rows:
            header = [noun.capitalize(), "Suggested", "Second"]
            print_table(header, rows, title=title, records=True)


def suggest(
    model: Path,
    inputs: list[str],
    n: int,
    labelled: list[Path],
    *,
    csv: Path | None,
    page: Path | None,
    every: float | None,
    run: Run,
) -> Suggested:
    """List the images to label next, and write them."""
    from myriad.pipelines.outputs import check_file_output
    from myriad.pipelines.updating.next_labels import suggest_labels, write_suggestions

    with locked(csv, page, make_parents=False, progress=run.progress):
        for option, path in (("--csv", csv), ("--page", page)):
            if path is not None:
                check_file_output(path, option=option, overwrite=run.overwrite)
        suggested = suggest_labels(
            model,
            inputs,
            n,
            labelled=labelled,
            every=every,
            run=run,
        )
        if csv is not None:
            write_suggestions(suggested, csv)
            run.progress.note(
                f"Images to label written to {csv}: fill in the column label, and the file is a "
                "manifest for extend or train."
            )
        if page is not None:
            from myriad.pipelines.evidence.documentation import read_picture
            from myriad.report.label_page import write_label_page

            write_label_page(suggested, page, title=model.name, read_image=read_picture)
            run.progress.note(f"Pictures of them written to {page}.")
    return suggested


OPTION_LISTS: Lists = {"deciding": OptionPanel(read_decisions, "Decisions", first=())}


@verb(show=show, writes=["csv", "parquet", "page", "sort_into"], resumes=True, lists=OPTION_LISTS)
def predict(
    model: ModelArgument,
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="IMAGE|FOLDER|LIST|ROWS",
            help="Image files, folders of them, .txt files of one path per line, videos, or files "
            "of rows.",
            show_default=False,
        ),
    ],
    k: Annotated[int, typer.Option("-k", "--top", min=1, help="Number of labels per image.")] = 5,
    csv: Annotated[
        Path | None, typer.Option(help="Also write the labels to this CSV file.")
    ] = None,
    parquet: Annotated[
        Path | None, typer.Option(help="Also write the labels to this Parquet file.")
    ] = None,
    sort_into: Annotated[
        Path | None,
        typer.Option(help="Folder to link images into, with one sub-folder per predicted label."),
    ] = None,
    copy: Annotated[
        bool, typer.Option("--copy", help="With --sort-into, copy images instead of linking them.")
    ] = False,
    every: Annotated[
        float | None,
        typer.Option(help="Read video files too: seconds from one frame to the next."),
    ] = None,
    next_: Annotated[
        int | None,
        typer.Option(
            "--next",
            min=1,
            help="Instead of predicting, list this many images whose labels would improve the "
            "model most; --csv and --page write them.",
        ),
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="With --next, write an HTML page with the images.")
    ] = None,
    store: Annotated[
        list[Path] | None,
        typer.Option(
            help="With --next, a store of labelled rows, such as the one that the model was "
            "trained on; may be repeated.",
            show_default=False,
        ),
    ] = None,
    *,
    deciding: Deciding,
    run: Run,
) -> Predicted | Suggested:
    """Predict labels for images or rows.

    Example: myriad predict birds heron.jpg -k 3
    """
    if next_ is not None:
        from myriad.pipelines.predicting.decision_options import DecisionOptions

        others = {"--parquet": parquet, "--sort-into": sort_into, "--resume": run.resume or None}
        for option, given in others.items():
            if given is not None:
                raise InputError(f"{option} cannot be combined with --next.")
        if deciding() != DecisionOptions():
            raise InputError(
                "--coverage, --reject and other decisions cannot be combined with --next."
            )
        files = {"csv": csv, "page": page}
        return suggest(model, inputs, next_, store or [], **files, every=every, run=run)
    if page is not None or store:
        raise InputError("--page and --store need --next.")
    from myriad.pipelines.predicting.outputs import PredictionOutputs

    outputs = PredictionOutputs(csv=csv, parquet=parquet, sort_into=sort_into, copy=copy)
    with locked(csv, parquet, sort_into, make_parents=False, progress=run.progress):
        return outputs.predict(
            model,
            inputs,
            k=k,
            deciding=deciding(),
            every=every,
            run=run,
        )
