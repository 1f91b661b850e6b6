"""The command line: it parses, calls the library and prints. One file per command.

::

    commands.py              the list of commands, each loaded when it is used            <- read this first
    options.py               flags that several commands share, and how a result is printed
    inputs.py                what a command reads; eval_inputs.py: only eval; system_inputs.py: of several systems
    eval.py, compare.py, ... one command each

May import every package. Results go to stdout, diagnostics and progress to stderr. Exit codes: 0 ok, 2 usage, 3 bad
data, 4 undefined measure.
"""

from __future__ import annotations

import atexit
import errno
import gc
import io
import os
import sys
import warnings
from contextlib import suppress
from typing import Annotated, Any

import typer

from spoofspan.base import progress
from spoofspan.base.errors import SpoofspanError, SpoofspanWarning
from spoofspan.base.version import __version__
from spoofspan.cli.commands import LazyGroup

app = typer.Typer(
    name="spoofspan",
    cls=LazyGroup,
    add_completion=True,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

IS_CLOSED = "it is closed"


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"spoofspan {__version__}")
        raise typer.Exit


@app.callback()
def spoofspan(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Say when the spoofs happen, and how well you found them.

    Start with:

      spoofspan demo

      spoofspan eval ref.rttm unit0.02.score --durations reco2dur
    """
    from spoofspan.formats.pipes import remembered

    context.with_resource(remembered())


def main() -> None:
    """Run the command line; refusals of the library become one sentence and an exit code."""
    # one command reads many objects and makes few cycles: looking for them took 7 % of an eval
    gc.set_threshold(100_000, 50, 50)
    atexit.register(_leave_cycles)
    # a pool of Arrow's own keeps memory for each thread: 20 MB at the peak of an eval from text
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    # threads of NumPy's matrix library spin while they wait, 27 ms at its import alone; with this they sleep
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(_Closed(), write_through=True)
    said: set[str] = set()

    def say_once(message: Warning | str, *_: Any, **__: Any) -> None:
        text = in_words_of_the_shell(message)
        if text not in said:
            said.add(text)
            progress.wipe()
            print(f"warning: {text}", file=sys.stderr)

    with warnings.catch_warnings(), progress.shown_on(sys.stderr):
        warnings.simplefilter("always", SpoofspanWarning)
        warnings.showwarning = say_once
        try:
            app()
        except SpoofspanError as error:
            print(f"error: {in_words_of_the_shell(error)}", file=sys.stderr)
            sys.exit(error.exit_code)
        except MemoryError:
            print(
                f"error: there is not enough memory for this ({' '.join(sys.argv[1:])}); give it less at once, or more "
                "memory; eval has --stream",
                file=sys.stderr,
            )
            sys.exit(SpoofspanError.exit_code)
        except OSError as error:
            why = error.strerror or str(error)
            if error.filename is not None:
                why = f"{error.filename}: cannot be read or written ({why}); check the path and its rights"
            elif error.errno and why in (os.strerror(error.errno), IS_CLOSED):  # errors of Arrow say which file it was
                why = f"the result cannot be written to stdout ({why})"
                _drop_what_stdout_holds()
            print(f"error: {why}", file=sys.stderr)
            sys.exit(SpoofspanError.exit_code)


def _leave_cycles() -> None:
    """Let the interpreter end without looking for cycles in all that was imported: 30 ms, a tenth of a small eval.

    Torch and Dask may still have processes or connections to end, which some of their cycles hold.
    """
    if not {"torch", "distributed"} & sys.modules.keys():
        gc.freeze()


def _drop_what_stdout_holds() -> None:
    """Send what is still in the buffer nowhere: Python would try once more at its end, and exit with 120."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def in_words_of_the_shell(message: object) -> str:
    """What the library says, with flags in the place of arguments; loaded when there is something to say."""
    from spoofspan.cli.wording import in_flags

    return in_flags(str(message))


class _Closed(io.RawIOBase):
    """What stands for a stdout that was closed before the start: whatever is printed there is lost, and must fail."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        raise OSError(errno.EBADF, IS_CLOSED)
