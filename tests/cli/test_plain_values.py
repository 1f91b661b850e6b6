"""Plain values of flags are what typer makes of them, and typer is asked about all others."""

import subprocess
import sys
from enum import Enum
from pathlib import Path
from typing import Annotated

import pytest
import typer
from command_line import run
from typer.main import get_command
from typer.testing import CliRunner

import spoofspan as ss
from spoofspan.cli.help import HelpCommand
from spoofspan.cli.plain_values import PlainFirst


class Colour(str, Enum):
    red = "red"
    dark_red = "dark-red"


def flags(
    files: Annotated[list[str] | None, typer.Argument()] = None,
    text: str | None = None,
    whole: int | None = None,
    number: float = 2,
    between: Annotated[int, typer.Option(min=0, max=6)] = 2,
    colour: Colour = Colour.red,
    other_colour: Annotated[Colour, typer.Option(case_sensitive=False)] = Colour.red,
    path: Path | None = None,
    there: Annotated[Path | None, typer.Option(exists=True)] = None,
    folder: Annotated[Path | None, typer.Option(file_okay=False)] = None,
    names: Annotated[list[str] | None, typer.Option("--name")] = None,
    numbers: Annotated[list[float] | None, typer.Option("--each")] = None,
    colours: Annotated[list[Colour] | None, typer.Option("--colour-of")] = None,
    switch: bool | None = None,
    upper: Annotated[str, typer.Option(callback=lambda value: value.upper())] = "x",
    from_shell: Annotated[float, typer.Option(envvar="FROM_THE_SHELL")] = 0.5,
) -> None:
    """Show what each flag became."""
    typer.echo(repr(locals()))


def program(kind):
    app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None, add_completion=False)
    app.command(cls=kind)(flags)
    return app


TYPED = """

--text a
--text=
--text -1
--whole 3
--whole 03
--whole -3
--whole 0
--whole 1_000
--whole 1.5
--whole 12345678901234567890
--whole x
--number 0.02
--number 1
--number -0
--number .5
--number 1e-3
--number nan
--number 1_0.5
--number ٣
--number x
--between 3
--between 7
--between -1
--colour dark-red
--colour dark_red
--colour RED
--other-colour RED
--other-colour green
--path a/b
--path .
--path=
--path no/such
--there .
--there no/such
--folder .
--folder tests/conftest.py
--name a --name b
--each 0.5 --each 2
--each 0.5 --each x
--colour-of red --colour-of dark-red
--colour-of blue
--switch
--no-switch
--switch=1
--upper abc
--nonsense
a b c
a --text b c
""".splitlines()


@pytest.mark.parametrize(
    ("typed", "in_shell"), [*((typed, None) for typed in TYPED[1:]), ("", "0.25"), ("", "x"), ("--from-shell 1", "x")]
)
def test_what_is_accepted_and_refused_is_what_typer_does(typed, in_shell, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])
    if in_shell is not None:
        monkeypatch.setenv("FROM_THE_SHELL", in_shell)
    kinds = (typer.core.TyperCommand, HelpCommand)
    alone, ours = (CliRunner().invoke(program(kind), typed.split()) for kind in kinds)
    (before, error, _), (typers, _, _) = (one.output.partition("\nError: Invalid value") for one in (ours, alone))
    assert (ours.exit_code, before) == (alone.exit_code, typers)
    assert bool(error) == ("\nError: Invalid value" in alone.output)


@pytest.mark.skipif(not hasattr(typer.core.TyperOption, "get_runtime_param"), reason="an older typer")
@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("--number 20ms", "'20ms' is not a number; times are in seconds: 20 ms is 0.02"),
        ("--number 95%", "'95%' is not a number; shares are fractions: 95% is 0.95"),
        ("--whole 1.5", "'1.5' is not a whole number"),
        ("--between 7", "'7' should be less than or equal to"),
        ("--colour RED", "'--colour': 'RED' is not one of"),
    ],
)
def test_what_is_refused_is_called_by_what_was_typed(typed, said):
    output = CliRunner().invoke(program(HelpCommand), typed.split()).output
    assert said in " ".join(output.split())
    assert "Input" not in output


@pytest.mark.skipif(not hasattr(typer.core.TyperOption, "get_runtime_param"), reason="an older typer")
def test_flags_do_ask_the_plain_values_first():
    made = get_command(program(HelpCommand))
    params = made.get_params(typer.Context(made))
    assert all(isinstance(one.get_runtime_param(), PlainFirst) for one in params)


def test_an_eval_with_plain_values_imports_no_pydantic(demo, tmp_path):
    references, scores = demo
    ss.write_references(references, tmp_path / "ref.parquet")
    ss.write_scores(scores, tmp_path / "scores.parquet")
    typed = "eval ref.parquet scores.parquet -m range-eer --format json --out a.json --hop 0.02 --uncovered bonafide"
    code = "import sys\nfrom spoofspan.cli import main\ntry: main()\nfinally: print('pydantic' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code, *typed.split()], cwd=tmp_path, capture_output=True, text=True)
    assert (said.returncode, said.stdout) == (0, "False\n"), said.stderr
    assert "range-eer" in (tmp_path / "a.json").read_text()


@pytest.mark.parametrize(
    ("typed", "said"),
    [(["--hop", "x"], "'--hop'"), (["--format", "xml"], "'--format'"), (["--jobs", "1.5"], "'--jobs'")],
)
def test_a_wrong_value_is_a_usage_error_that_names_its_flag(typed, said, capsys):
    code, printed = run(["eval", "ref.rttm", "a.score", *typed], capsys)
    assert code == 2
    assert f"Invalid value for {said}" in printed.err
