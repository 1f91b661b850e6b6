"""The whole command in this process, with its exit code: what a person at a terminal sees."""

import pytest

from spoofspan.cli import main


def run(arguments, capsys):
    """The exit code, and what was printed and said."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["spoofspan", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
    return stopped.value.code or 0, capsys.readouterr()
