"""List the modules of spoofspan in which a function runs during one piece of work.

    python tools/trace_modules.py range-eer
    python tools/trace_modules.py -- spoofspan eval REFERENCES SCORES -m range-eer

A module counts if the body of any of its functions ran; importing it alone does not count. A change of package is a
call into another package than that of the call before it, calls into ``base`` left out. ``range-eer`` stands for
``ss.range_eer`` on the demo corpus, whose references and scores are made before the trace begins. After ``--``, a
command of spoofspan is traced from its arguments to its last line; options and files are the command's own.
"""

import argparse
import io
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "spoofspan"
sys.path.insert(0, str(ROOT / "src"))


def traced(work: Callable[[], Any]) -> tuple[Counter[str], int]:
    """Calls into each module while work is done, by path below the package, and the number of changes of package."""
    calls: Counter[str] = Counter()
    order: list[str] = []  # of the packages, each as long as calls stay in it
    prefix = f"{PACKAGE}/"

    def seen(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(prefix) and not _makes_definitions(frame):
            module = code.co_filename.removeprefix(prefix)
            calls[module] += 1
            package = module.partition("/")[0]
            if package != "base" and order[-1:] != [package]:
                order.append(package)

    threading.setprofile(seen)
    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return calls, max(len(order) - 1, 0)


def _makes_definitions(frame: FrameType) -> bool:
    """Whether a frame, or one that called it, is the body of a module: of an import, that is."""
    caller: FrameType | None = frame
    while caller is not None:
        if caller.f_code.co_name == "<module>" and caller.f_globals.get("__name__") != "__main__":
            return True
        caller = caller.f_back
    return False


def range_eer() -> Callable[[], Any]:
    """The range EER of the demo corpus in memory."""
    import spoofspan as ss
    import spoofspan.demo

    corpus = spoofspan.demo.load()
    return lambda: ss.range_eer(corpus.references, corpus.systems[0.02])


def command(arguments: list[str]) -> Callable[[], Any]:
    """A command of spoofspan, in this process."""
    from spoofspan.cli import main

    def work() -> None:
        sys.argv = arguments
        try:
            main()
        except SystemExit as ended:
            if ended.code:
                raise

    return work


def main() -> None:
    """Trace, and print the modules with the number of calls."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("work", nargs="+", help="range-eer, or a command of spoofspan after --")
    given = parser.parse_args().work
    work = range_eer() if given == ["range-eer"] else command(given)
    with redirect_stdout(io.StringIO()):
        calls, changes = traced(work)
    for module, count in sorted(calls.items()):
        print(f"{count:>9,}  {module}")
    print(f"{len(calls)} modules, {changes} changes of package")


if __name__ == "__main__":
    main()
