"""Models and a server without sockets that the tests of the API share."""

import pytest

from tests.serving.calling import Client
from tests.serving.samples import make_image_model, make_rows_model, write_photos


@pytest.fixture(scope="session")
def letters(tmp_path_factory):
    return write_photos(tmp_path_factory.mktemp("letters"))


@pytest.fixture(scope="session")
def image_model(letters, tmp_path_factory):
    return make_image_model(tmp_path_factory.mktemp("models") / "letters.model", letters)


@pytest.fixture(scope="session")
def rows_model(tmp_path_factory):
    return make_rows_model(tmp_path_factory.mktemp("models") / "rows.model")


@pytest.fixture(scope="session")
def letter(letters):
    """The file of one image, and its label."""
    path = sorted(letters.iterdir())[0]
    return (path / "0001.png").read_bytes(), path.name


@pytest.fixture(scope="module")
def images(image_model, tmp_path_factory):
    feedback = tmp_path_factory.mktemp("kept") / "feedback"
    with Client(image_model, feedback=str(feedback), max_images=4, max_megabytes=1.0) as client:
        yield client


@pytest.fixture(scope="module")
def rows(rows_model):
    with Client(rows_model) as client:
        yield client
