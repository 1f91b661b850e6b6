"""Scores one submission on Codabench: python3 score.py INPUT OUTPUT."""

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

HERE = Path(__file__).resolve().parent
REQUIREMENTS, PACKAGES = HERE / "requirements.txt", HERE / "packages"


def installed(requirement: str) -> bool:
    """Check for a package in exactly the version that built the challenge."""
    name, _, wanted = requirement.partition("==")
    try:
        return version(name) == wanted
    except PackageNotFoundError:
        return False


def main(given: Path, output: Path) -> int:
    """Score with the package that lies beside this file; return an exit code."""
    if not all(map(installed, REQUIREMENTS.read_text().split())):
        options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--requirement", str(REQUIREMENTS)]
        options += ["--target", str(PACKAGES)]  # no other program of this machine gets other versions
        subprocess.run([sys.executable, "-m", "pip", "install", *options], check=True)  # noqa: S603
        sys.path.insert(0, str(PACKAGES))
    sys.path.insert(0, str(HERE))
    try:
        from spoofspan.challenge.scoring_program import score_in_container

        return score_in_container(given, output)
    except Exception:  # a traceback may show something of the labels
        print("The scoring program failed; please tell the organisers.", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
