"""The command line: it parses, calls the library and prints. One file per command.

::

    commands.py              the list of commands, each loaded when it is used            <- read this first
    options.py               flags that several commands share, and how a result is printed
    inputs.py                what a command reads: one system; system_inputs.py: several systems
    eval.py, compare.py, ... one command each

May import every package. Results go to stdout, diagnostics and progress to stderr. Exit codes: 0 ok, 2 usage, 3 bad
data, 4 undefined measure, 5 not confirmed (verify), 130 interrupted.
"""

from __future__ import annotations

import atexit
import errno
import io
import os
import signal
import sys
import warnings
from contextlib import suppress

from spoofspan.cli.interruption import Interruptions, end_at_once, handled_by

with handled_by(end_at_once):  # nothing is open yet
    from typing import Any, TextIO

    import click
    from click.shell_completion import get_completion_class

    from spoofspan.base import progress
    from spoofspan.base.errors import IntervalWarning, SpoofspanError, SpoofspanWarning
    from spoofspan.base.terminal import SHOWN_OF_A_KIND, counted, kind_of, screen_of
    from spoofspan.base.version import __version__
    from spoofspan.cli.commands import LazyGroup
    from spoofspan.formats.arrow import leave_signals_to_python

IS_CLOSED = "it is closed"


def _print_completion(context: click.Context, _parameter: click.Parameter, shell: str | None) -> None:
    """Print the script that a shell runs at its start, and exit."""
    if shell is None or context.resilient_parsing:
        return
    if (script := get_completion_class(shell)) is not None:
        click.echo(script(context.command, {}, "spoofspan", "_SPOOFSPAN_COMPLETE").source())
    context.exit()


@click.group("spoofspan", cls=LazyGroup, no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s", help="Print the version and exit.")
@click.option(
    "--completion",
    type=click.Choice(["bash", "zsh", "fish"]),
    expose_value=False,
    is_eager=True,
    callback=_print_completion,
    help="Print the shell completion script, and exit.",
)
@click.pass_context
def app(context: click.Context) -> None:
    """Measure how well a system locates the spoofed parts of a recording.

    Start with:

      spoofspan demo

      spoofspan eval ref.rttm unit0.02.score --durations reco2dur
    """
    from spoofspan.formats.pipes import remembered

    context.with_resource(remembered())


def main() -> None:
    """Run the command line; refusals of the library become one sentence and an exit code."""
    atexit.register(_end_at_interrupt)
    # threads of NumPy's matrix library spin while they wait; a bootstrap of the demo takes 0.50 s instead of 0.65 s
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    interruptions = Interruptions()
    with interruptions.watched():
        _replace_unusable_streams()
        leave_signals_to_python()
        _run(interruptions)


def _run(interruptions: Interruptions) -> None:
    said: set[str] = set()
    kinds: dict[str, int] = {}
    screen = screen_of(sys.stderr)

    def marked(text: str, style: str) -> str:
        return text if screen is None else screen.shown(text, style)

    def fail(why: str, code: int = SpoofspanError.exit_code) -> None:
        # an import that was interrupted may end in any error, e.g. that a package is not installed
        if not interruptions.seen:
            print(f"{marked('error', 'error')}: {why}", file=sys.stderr)
        sys.exit(code)

    def say_once(message: Warning | str, *_: Any, **__: Any) -> None:
        text = in_words_of_the_shell(message)
        if text not in said:
            said.add(text)
            kind = kind_of(text)
            kinds[kind] = kinds.get(kind, 0) + 1
            if screen is None or kinds[kind] <= SHOWN_OF_A_KIND:
                progress.wipe()
                print(f"{marked('warning', 'warning')}: {text}", file=sys.stderr)

    with warnings.catch_warnings(), progress.shown_on(sys.stderr):
        warnings.simplefilter("always", SpoofspanWarning)
        warnings.simplefilter("ignore", IntervalWarning)  # results print them
        warnings.showwarning = say_once
        try:
            try:
                app(prog_name="spoofspan")
            finally:
                if screen is not None and (hidden := counted(kinds)):
                    print(f"{marked(hidden, 'warning')} (all of them: 2> FILE)", file=sys.stderr)
        except SpoofspanError as error:
            fail(in_words_of_the_shell(error), error.exit_code)
        except MemoryError:
            fail(
                f"there is not enough memory for this ({' '.join(sys.argv[1:])}); give it less at once, or more "
                "memory; eval has --stream"
            )
        except OSError as error:
            why = error.strerror or str(error)
            if error.filename is not None:
                why = f"{error.filename}: cannot be read or written ({why}); check the path and its rights"
            elif error.errno and why in (os.strerror(error.errno), IS_CLOSED):  # errors of Arrow say which file it was
                why = f"the result cannot be written to stdout ({why})"
                _drop_what_stdout_holds()
            fail(why)


def _end_at_interrupt() -> None:
    """Let Ctrl+C end the process without a traceback once the command is over."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, end_at_once)


def _drop_what_stdout_holds() -> None:
    """Send what is still in the buffer nowhere: Python would try once more at its end, and exit with 120."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def in_words_of_the_shell(message: object) -> str:
    """A message of the library in the words of the shell, which are loaded when there is something to say."""
    from spoofspan.cli.wording import in_words_of_the_shell as worded

    return worded(message)


def _replace_unusable_streams() -> None:
    """Make printing to a closed stdout fail, and losing a diagnostic harmless.

    A stream that was closed before the start is None. Its descriptor is taken, or else the next file opened would get
    it, and whatever a library prints there.
    """
    for closed in (sys.stdout, sys.stderr):
        if closed is None:
            os.set_inheritable(os.open(os.devnull, os.O_WRONLY), True)
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(_Closed(), write_through=True)
    if sys.stderr is None or sys.stderr is sys.__stderr__:
        sys.stderr = _lossy(sys.stderr)


def _lossy(stream: TextIO | None) -> TextIO:
    """A stream for diagnostics that drops what cannot be written: a full disk, a pipe that nobody reads any more."""
    encoding = "utf-8" if stream is None else stream.encoding
    raw: Any = _Lossy(stream)
    return io.TextIOWrapper(raw, encoding=encoding, errors="backslashreplace", write_through=True)


class _Lossy(io.RawIOBase):
    """Bytes for a stream, or for nobody."""

    def __init__(self, stream: TextIO | None) -> None:
        buffer: Any = getattr(stream, "buffer", None)
        self._raw: Any = getattr(buffer, "raw", buffer)

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._raw is not None and self._raw.isatty()

    def fileno(self) -> int:
        if self._raw is None:
            raise io.UnsupportedOperation("fileno")
        return int(self._raw.fileno())

    def write(self, data: Any) -> int:
        rest = bytes(data)
        with suppress(OSError, ValueError):
            while rest and self._raw is not None:
                rest = rest[self._raw.write(rest) or 0 :]
        return len(data)


class _Closed(io.RawIOBase):
    """Stand-in for a stdout that was closed before the start: whatever is printed there is lost, and must fail."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        raise OSError(errno.EBADF, IS_CLOSED)
