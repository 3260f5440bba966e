"""The page of images to label next: one HTML file with a picture of each."""

from __future__ import annotations

from pathlib import Path

from myriad.pipelines.updating.next_labels import Suggested
from myriad.report.entries import clean_text
from myriad.report.page import check_folder, render_page, write_page
from myriad.report.thumbnails import ReadImage, Thumbnails
from myriad.report.wording import show_percent


def write_label_page(
    suggested: Suggested, path: Path, *, title: str, read_image: ReadImage
) -> None:
    """Write the page, atomically."""
    check_folder(path)
    write_page(render_label_page(suggested, title=title, read_image=read_image), path)


def render_label_page(suggested: Suggested, *, title: str, read_image: ReadImage) -> str:
    """Return the page as text."""
    thumbnails = Thumbnails(read_image)
    groups = [
        ("informative", f"{suggested.noun.capitalize()}s to label", suggested.images),
        ("novel", "Unlike all classes", suggested.novel),
    ]
    sections = [
        {
            "name": name,
            "title": heading,
            "cards": [
                {
                    "path": clean_text(image["path"]),
                    "picture": thumbnails.find(image["path"]),
                    "guesses": [
                        (clean_text(image[label]), show_percent(100 * image[probability]))
                        for label, probability in (
                            ("suggested", "probability"),
                            ("second", "second_probability"),
                        )
                        if label in image
                    ],
                }
                for image in images
            ],
        }
        for name, heading, images in groups
        if images
    ]
    return render_page(
        "labels.html",
        title=clean_text(title) or "Untitled model",
        sections=sections,
        n_images=len(suggested.images) + len(suggested.novel),
        considered=suggested.considered,
        noun=suggested.noun,
        pictured=thumbnails.found_any,
    )
