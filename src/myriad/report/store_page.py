"""The report of a store: one HTML file in the style of a model's report.

A new section is one function and one line in `SECTIONS`; the page needs no change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from markupsafe import Markup

from myriad.pipelines.stores.inspection import Patch, StoreInspection
from myriad.report import plots, wording
from myriad.report.entries import clean_text
from myriad.report.evidence import flatten_settings
from myriad.report.page import MANY_BAD, MOST_BAD_SHOWN, check_folder, render_page, write_page
from myriad.report.plots.codes import compute_shares
from myriad.report.thumbnails import encode_thumbnail
from myriad.report.wording import plural, show_count, show_percent

PATCH_SIDE = 96


def write_store_report(inspection: StoreInspection, path: Path) -> None:
    """Write the report of a store as one self-contained HTML file, atomically."""
    check_folder(path)
    write_page(render_store_report(inspection), path)


def render_store_report(inspection: StoreInspection) -> str:
    """Return the report as the text of an HTML page."""
    bad = [(clean_text(item["path"]), clean_text(item["reason"])) for item in inspection.bad]
    return render_page(
        "store.html",
        inspection=inspection,
        title=clean_text(inspection.title) or "Untitled store",
        created=wording.show_time(inspection.created),
        sections=list_sections(inspection),
        settings=flatten_settings(inspection.settings),
        bad=bad[:MOST_BAD_SHOWN],
        n_bad=len(bad),
        many_bad=MANY_BAD,
        bad_reasons=Counter(reason for _, reason in bad).most_common(5),
    )


@dataclass(frozen=True)
class Panel:
    """A plot with its title and what it shows."""

    title: str
    explanation: str
    plot: Markup


@dataclass(frozen=True)
class PatchCard:
    """A patch and the drawings of its descriptor, each with its name."""

    label: str
    picture: str | None
    drawings: tuple[tuple[str, Markup], ...]


@dataclass(frozen=True)
class Section:
    """One section: a name for links, a title, a lead, then plots, small plots and cards.

    Attributes
    ----------
    short : what the bar of links calls it.
    """

    name: str
    short: str
    title: str
    lead: str
    panels: tuple[Panel, ...] = ()
    small: tuple[Markup, ...] = ()
    cards: tuple[PatchCard, ...] = ()


def show_patches(inspection: StoreInspection) -> Section | None:
    """Return the section with patches of images and their descriptors."""
    cards = tuple(_draw_patch(patch) for patch in inspection.patches)
    if not cards:
        return None
    return Section(
        "patches",
        "Patches",
        "Patches and their descriptors",
        "Of each of some images one patch, drawn at random. A star has a ray for each of eight "
        "directions in which the picture gets brighter, as long as its bin in the descriptor. "
        "Tiles are mean colours.",
        cards=cards,
    )


def show_components(inspection: StoreInspection) -> Section | None:
    """Return the section with the spectrum of the PCA."""
    pca = inspection.pca
    if pca is None:
        return None
    panels = [
        Panel(
            "Spectrum",
            "Variance of the descriptors along each component that is kept.",
            plots.plot_variances(pca.variances),
        )
    ]
    if pca.total > 0:
        panels.append(
            Panel(
                "Variance kept",
                "Share of all variance that the first components have together.",
                plots.plot_kept_variance(pca.variances, pca.total),
            )
        )
    whitened = " and each divided by its deviation" if pca.whiten else ""
    return Section(
        "components",
        "Components",
        "Principal components",
        f"Descriptors of {pca.n_features} numbers are projected to {pca.dim}{whitened}.",
        tuple(panels),
    )


def show_gaussians(inspection: StoreInspection) -> Section | None:
    """Return the section with the weights of the mixture."""
    weights = inspection.mixture_weights
    if weights is None:
        return None
    shares = weights.astype(np.float64) / weights.sum(dtype=np.float64)
    alike = float(np.exp(-(shares * np.log(shares)).sum()))
    return Section(
        "gaussians",
        "Gaussians",
        "Gaussian mixture",
        f"{plural(len(weights), 'Gaussian')} share the descriptors. By the entropy of their "
        f"weights they do the work of {alike:.0f} equal ones.",
        (
            Panel(
                "Weights",
                "What fraction of the descriptors belongs to each Gaussian.",
                plots.plot_weights(weights),
            ),
        ),
    )


def show_values(inspection: StoreInspection) -> Section | None:
    """Return the section with the distribution of values, also before the power [CC, Figure 3]."""
    values = inspection.values
    if values is None:
        return None
    densities = {"after" if values.before else "values": values.after}
    lead = "Each feature in units of its own root mean square; what lies further out is in the "
    lead += f"outermost bins. {show_percent(100 * values.zeros)} of all values are zero."
    explanation = "Values of a sample of features in a sample of rows."
    if values.before is not None:
        densities = {"before": values.before} | densities
        lead += (
            f" Before: with the power of {values.power:g} undone, up to a factor for each image and"
            " region. The power makes large values smaller and moves small ones away from zero."
        )
    if inspection.coded:
        lead += " Rows are read from their codes, so values are those of the nearest centroids."
    return Section(
        "values",
        "Values",
        "Values" + (" before and after power normalisation" if values.before else ""),
        lead,
        (
            Panel(
                "Distribution",
                explanation,
                plots.plot_densities(densities, x_title="value", log=True),
            ),
        ),
        tuple(
            plots.plot_densities({"values": density}, x_title=f"feature {number:,}", small=True)
            for number, density in values.single
        ),
    )


def show_correlations(inspection: StoreInspection) -> Section | None:
    """Return the section with the correlation of features [CC, Figure 1]."""
    if not inspection.correlations:
        return None
    panels = tuple(
        Panel(
            f"Pairs {name}" if name.startswith("of") else "Any two features",
            f"{plural(one.n_pairs, 'pair')}; {show_percent(100 * one.small)} correlate by less than"
            " 0.2.",
            plots.plot_densities({"pairs": one.density}, x_title="correlation", log=True),
        )
        for name, one in inspection.correlations.items()
    )
    return Section(
        "correlations",
        "Correlations",
        "Correlation of features",
        "Pearson's correlation coefficient of all pairs in a sample of features. The closer to "
        "zero, the less one feature says about another, and the less a linear projection could "
        "save.",
        panels,
    )


def show_code(inspection: StoreInspection) -> Section | None:
    """Return the section with the mutual information of features and class [CC, Figure 2]."""
    code = inspection.code
    selection = None if code is None else code.selection
    if code is None or selection is None or not selection.information.max() > 0:
        return None
    information = selection.information
    kept = information[selection.chosen].sum() / information.sum()
    (fraction, share), *_ = [pair for pair in compute_shares(information) if pair[0] == 25.0]
    return Section(
        "code",
        "Code",
        "Choice of features",
        f"The {show_count(code.decoded_dim)} features that are kept carry "
        f"{show_percent(100 * float(kept))} of the mutual information of all features with the "
        f"class; the best {show_percent(fraction, 0)} carry {show_percent(share)}.",
        (
            Panel(
                "Information",
                "How many features say how much about the class.",
                plots.plot_information(information, code.decoded_dim),
            ),
            Panel(
                "Share",
                "What fraction of all information the best features carry together.",
                plots.plot_shares(information),
            ),
        ),
    )


SECTIONS: tuple[Callable[[StoreInspection], Section | None], ...] = (
    show_patches,
    show_components,
    show_gaussians,
    show_values,
    show_correlations,
    show_code,
)
"""The sections of a store's report, in this order; one that returns None is left out."""


def list_sections(inspection: StoreInspection) -> list[Section]:
    """Return the sections that have content."""
    return [section for show in SECTIONS if (section := show(inspection)) is not None]


def _draw_patch(patch: Patch) -> PatchCard:
    drawings: list[tuple[str, Markup]] = []
    if patch.gradients is not None:
        drawings.append(("gradients", plots.draw_gradients(patch.gradients)))
    if patch.colours is not None:
        drawings.append(("colours", plots.draw_colours(patch.colours)))
    picture = encode_thumbnail(np.ascontiguousarray(patch.picture), PATCH_SIDE)
    return PatchCard(clean_text(patch.label), picture, tuple(drawings))
