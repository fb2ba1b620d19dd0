"""Every notebook runs from top to bottom."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests_support import missing_part

pytestmark = pytest.mark.checkout
NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore")
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No cell raises."""
    try:
        import nbformat
        from nbclient import NotebookClient
    except ImportError:
        missing_part("nbclient is not installed: pip install 'ullage[notebook]'")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]  # a library without annotations
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    errors = [out for cell in notebook.cells for out in cell.get("outputs", ()) if out.output_type == "error"]
    assert not errors


def test_there_is_a_notebook() -> None:
    """The folder is not empty, so that the test above cannot pass on nothing."""
    assert NOTEBOOKS
