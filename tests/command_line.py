"""The whole command in this process, with its exit code: what a person at a terminal sees."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from spoofspan.cli import app, main


def run(arguments, capsys):
    """The exit code, and what was printed and said."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["spoofspan", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
    return stopped.value.code or 0, capsys.readouterr()


def run_command(arguments, capsys):
    """The exit code, what was printed, and what was said."""
    code, printed = run(arguments, capsys)
    return code, printed.out, printed.err


def invoke(*arguments, input=None):
    """The result of a command that click's runner calls."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=input)


def evaluated(*arguments):
    """The measurements that `eval` prints as JSON, by measure."""
    import jsonschema

    result = invoke("eval", *arguments, "--format", "json")
    assert result.exit_code == 0, (result.output, result.exception)
    content = json.loads(result.stdout)
    schema = Path(__file__).parents[1] / "docs" / "schema" / "evaluation.json"
    jsonschema.validate(content, json.loads(schema.read_text(encoding="utf-8")))
    return {m["measure"]: m for m in content["measurements"]}
