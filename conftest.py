"""What the examples in docstrings need: modules of an extra are left out where it is not installed."""

from importlib.util import find_spec
from pathlib import Path

if find_spec("torch") is None:
    folder = Path(__file__).parent / "src" / "spoofspan" / "cm"
    collect_ignore = [str(one) for one in folder.glob("*.py") if "torch" in one.read_text(encoding="utf-8")]
