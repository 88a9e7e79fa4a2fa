"""The notebooks of the examples run from top to bottom."""

import os
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"


@pytest.mark.parametrize("name", sorted(each.name for each in FOLDER.glob("*.ipynb")))
@pytest.mark.filterwarnings("ignore")  # of the libraries that start the kernel
def test_a_notebook_runs(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nbclient = pytest.importorskip("nbclient", reason="make docs installs nbclient")
    pytest.importorskip("ipykernel", reason="make docs installs ipykernel")
    nbformat = pytest.importorskip("nbformat")
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", os.fspath(tmp_path))
    notebook = nbformat.read(FOLDER / name, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "commit it without outputs"
    nbclient.NotebookClient(notebook, timeout=90, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert outputs
    assert not [output for output in outputs if output["output_type"] == "error"]
