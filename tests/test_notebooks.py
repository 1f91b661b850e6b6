"""The notebooks of the documentation: they run, and they show what they print."""

import json
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

nbformat = pytest.importorskip("nbformat", reason="the notebooks need the extra docs")
pytest.importorskip("nbclient", reason="the notebooks need the extra docs")
pytest.importorskip("ipykernel", reason="the notebooks need the extra docs")
ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "docs"))
import make_notebooks  # noqa: E402


def shown(notebook):
    """The cells and their outputs as text; pictures differ in their last bits from one matplotlib to the next."""
    cells = []
    for cell in notebook["cells"]:
        outputs = [
            "".join(output.get("text", output.get("data", {}).get("text/plain", "")))
            for output in cell.get("outputs", [])
        ]
        cells.append((cell["cell_type"], "".join(cell["source"]), outputs))
    return cells


@pytest.mark.filterwarnings("ignore")  # of Jupyter
@pytest.mark.parametrize("name", make_notebooks.NOTEBOOKS)
def test_a_notebook_shows_what_it_prints(name):
    kept = json.loads((make_notebooks.FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    assert shown(kept) == shown(make_notebooks.executed(make_notebooks.NOTEBOOKS[name]))


def test_every_notebook_is_made_here():
    assert {path.stem for path in make_notebooks.FOLDER.glob("*.ipynb")} == set(make_notebooks.NOTEBOOKS)
