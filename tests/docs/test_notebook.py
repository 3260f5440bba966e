"""The example notebook runs from its first cell to its last, and shows what it says."""

import pytest

from tests.docs.pages import DOCS

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


def read(path):
    return nbformat.read(path, as_version=4)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_output(path):
    assert all(not cell.get("outputs") for cell in read(path).cells)


@pytest.mark.filterwarnings("ignore")  # of the client and its event loop
def test_first_steps(tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    notebook = read(DOCS / "notebooks" / "first-steps.ipynb")
    client = nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    shown = [
        output["data"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "data" in output
    ]
    assert "LinearClassifier" in shown[0]["text/html"]
    assert "<table>" in shown[1]["text/html"]
    assert "top1" in shown[1]["text/html"]
    assert any("image/png" in one for one in shown)
