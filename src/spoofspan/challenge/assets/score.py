"""Scores one submission on Codabench: python3 score.py INPUT OUTPUT."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))  # the package lies beside this file

try:
    import numpy  # noqa: F401
    import pyarrow  # noqa: F401
except ImportError:
    wanted = ["--quiet", "--requirement", str(HERE / "requirements.txt")]
    subprocess.run([sys.executable, "-m", "pip", "install", *wanted], check=True)  # noqa: S603

from spoofspan.challenge.codabench import score_in_container  # noqa: E402

if __name__ == "__main__":
    sys.exit(score_in_container(Path(sys.argv[1]), Path(sys.argv[2])))
