"""Mutation testing of the measuring core, with nothing but the standard library.

    python tools/mutation/mutate.py [--modules mass histogram curve points rules] [--sample N --seed S] [--json FILE]

Each mutant is one small change of the syntax tree of a module. It runs in a copy of the repository, under a time limit:

1. random corpora against the brute force, in one process without pytest;
2. if it survives, the doctests of the file and the tests made for its module;
3. if it still survives, the other tests;
4. and then more random corpora.

A mutant that fails, crashes or hangs is killed. ``EQUIVALENT`` lists the changes that cannot change any result, with
the reason for each; they are counted apart and printed.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import hashlib
import json
import os
import pickle
import queue
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from equivalent import EQUIVALENT, Equivalent

REPOSITORY = Path(__file__).resolve().parents[2]
# what is asked for by name, and the files over which it is spread
MODULES = {
    "mass": ("mass/score_mass", "mass/ranges"),
    "histogram": ("measures/histogram",),
    "curve": ("measures/operating_point", "measures/curve", "measures/eer"),
    "points": ("mass/point_labels", "mass/points"),
    "rules": ("data/rule", "data/rules"),
}
COPIED = (
    *("src", "tests", "docs", "examples", "benchmarks", "tools", ".github", "conftest.py"),
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "pyproject.toml"),
)
MADE_TESTS = {module: (f"test_mutants_{module}.py",) for module in MODULES}
MADE_TESTS["histogram"] = ("test_mutants_bins.py", "test_mutants_histogram.py")  # the faster ones first
MADE_TESTS["mass"] += ("test_mutants_overlaying.py", "test_mutants_large.py")
MADE_TESTS["curve"] += ("test_step.py", "test_mutants_large.py")
MADE_TESTS["points"] += ("test_point_labels.py", "test_pooling.py", "test_mutants_mass.py", "test_mutants_large.py")
for sampled in ("mass", "curve", "points"):
    MADE_TESTS[sampled] += ("test_mutants_guess.py",)
OTHER_TESTS = (
    "test_golden.py",
    "test_errors.py",
    "test_signature.py",
    "test_oracles.py",
    "test_eer_state.py",
    "test_properties.py",
    "test_demo.py",
)
NEVER = "?"  # no choice is spelled like this
FIRST_SEEDS, MORE_SEEDS = range(60), range(60, 900)
# a mutant that takes longer hangs; or, on a slow machine, so many times as long as the unchanged code
SECONDS = {"corpora": 30, "tests": 60, "other tests": 300, "more corpora": 150}
TIMES_AS_LONG = 5
TICK = 0.01

# ---------------------------------------------------------------------------------------------------------------------
# Mutants

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}
# one other valid value for each value of a rule (rules.py: defaults and conventions)
CHOICES = {
    "gaps": ("error", "bonafide", "spoof", "ignore", "following"),
    "extent": ("duration", "cut-at-duration", "last-range-end"),
    "nonspeech": ("error", "ignore", "bonafide", "spoof"),
    "uncovered": ("error", "hold", "bonafide", "spoof", "ignore", "unanswered"),
    "overlong": ("error", "cut"),
    "last_frame": ("use", "drop"),
    "overlap": ("error", "min", "mean", "centre"),
    "utterances": ("all", "drop-bonafide-CON"),
    "label": ("any", "majority", "rounded"),
    "last_point": ("use", "round"),
    "side": ("left", "right"),
}


@dataclass(frozen=True)
class Mutant:
    """One change: the place, the text around it before and after, and the whole mutated module."""

    module: str
    function: str
    line: int
    before: str
    after: str
    source: str

    @property
    def digest(self) -> str:
        """Names the mutated text."""
        return hashlib.sha256(f"{self.module} {self.source}".encode()).hexdigest()[:16]

    def __str__(self) -> str:
        return f"src/spoofspan/{self.module}.py:{self.line} ({self.function}): {self.before}  ->  {self.after}"


def is_message(node: ast.AST) -> bool:
    """Text for people: what is raised, and the problems that are collected for an error."""
    if isinstance(node, ast.Raise):
        return True
    call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return call and node.func.attr in ("extend", "raise_if_any") and ast.unparse(node.func.value) == "problems"


def fields_to_visit(node: ast.AST) -> Iterator[tuple[str, object]]:
    """All fields but annotations, messages and the bodies of protocols."""
    if is_message(node) or (isinstance(node, ast.ClassDef) and any("Protocol" in ast.unparse(b) for b in node.bases)):
        return
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns"):
            yield name, value


def replacements(node: ast.AST, parent: ast.AST) -> Iterator[ast.AST]:
    """Everything that an expression can be replaced by."""
    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            yield ast.Compare(node.left, [*node.ops[:i], COMPARISONS[type(op)](), *node.ops[i + 1 :]], node.comparators)
        for i, operand in enumerate(node.comparators):
            for other in without_choice(operand):
                yield ast.Compare(node.left, node.ops, [*node.comparators[:i], other, *node.comparators[i + 1 :]])
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        yield ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Name) and isinstance(parent, ast.Call) and parent.func is node and node.id in NAMES:
        yield ast.Name(NAMES[node.id], node.ctx)
    elif isinstance(node, ast.Attribute) and node.attr in NAMES:
        yield ast.Attribute(node.value, NAMES[node.attr], node.ctx)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield ast.Constant(node.value + 1)


def without_choice(node: ast.AST) -> Iterator[ast.AST]:
    """A string, or one string of a tuple, that never compares equal."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield ast.Constant(NEVER)
    elif isinstance(node, ast.Tuple):
        for i, item in enumerate(node.elts):
            for other in without_choice(item):
                yield ast.Tuple([*node.elts[:i], other, *node.elts[i + 1 :]], node.ctx)


def other_choice(name: str, value: ast.AST | None) -> ast.Constant | None:
    """Another valid value of a rule."""
    valid = CHOICES.get(name, ())
    if isinstance(value, ast.Constant) and value.value in valid:
        return ast.Constant(valid[(valid.index(value.value) + 1) % len(valid)])
    return None


def is_condition(node: ast.AST | None) -> bool:
    negation = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return isinstance(node, ast.Compare | ast.BoolOp) or negation


@dataclass
class Place:
    """A node inside its parent: ``parent.field``, or ``parent.field[index]``."""

    parent: ast.AST
    field: str
    index: int | None

    def put(self, node: ast.AST) -> ast.AST:
        """Replace the node; return the old one."""
        if self.index is None:
            old = getattr(self.parent, self.field)
            setattr(self.parent, self.field, node)
        else:
            row = getattr(self.parent, self.field)
            old, row[self.index] = row[self.index], node
        return old


def changes(node: ast.AST, place: Place) -> Iterator[tuple[Place, ast.AST]]:
    """The changes that belong to one node."""
    for new in replacements(node, place.parent):
        yield place, new
    if isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        yield place, ast.Pass()
    if isinstance(node, ast.Return) and is_condition(node.value):
        yield place, ast.Return(ast.UnaryOp(ast.Not(), node.value))
    if isinstance(node, ast.keyword) and node.arg is not None:
        new = other_choice(node.arg, node.value)
        if new is not None:
            yield Place(node, "value", None), new
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        # a rule is declared by a call, its default first
        call = node.value if isinstance(node.value, ast.Call) and node.value.args else None
        new = other_choice(node.target.id, call.args[0] if call else node.value)
        if new is not None:
            yield (Place(call, "args", 0) if call else Place(node, "value", None)), new
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript):  # Gaps = Literal["error", ...]
        names = node.value.slice
        if ast.unparse(node.value.value) == "Literal" and isinstance(names, ast.Tuple):
            yield from ((Place(names, "elts", i), ast.Constant(NEVER)) for i in range(len(names.elts)))
    if isinstance(node, ast.Dict):
        for i, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            new = other_choice(key.value, value) if isinstance(key, ast.Constant) else None
            if new is not None:
                yield Place(node, "values", i), new
    if isinstance(node, ast.Tuple):  # the EER rule of a convention
        for i, item in enumerate(node.elts):
            if i == 1 and isinstance(item, ast.Constant) and str(item.value).startswith(("nearest", "bucketed")):
                yield Place(node, "elts", i), ast.Constant("interpolated")


def mutants_of(module: str, source: str) -> list[Mutant]:
    """All mutants of a module, in the order of the source."""
    tree = ast.parse(source)
    found: list[Mutant] = []

    def visit(node: ast.AST, place: Place | None, function: str, statement: ast.AST) -> None:
        if isinstance(node, ast.stmt):
            statement = node
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            function = f"{function}.{node.name}".lstrip(".")
        for where, new in changes(node, place) if place else ():
            dropped = isinstance(new, ast.Pass)
            whole = ast.unparse(statement)
            old = where.put(new)
            line = getattr(where.parent if where is not place else node, "lineno", getattr(statement, "lineno", 0))
            changed = new if node is statement and where is place else statement
            before, after = shown(whole, "dropped" if dropped else ast.unparse(changed))
            text = ast.unparse(ast.fix_missing_locations(tree))
            found.append(Mutant(module, function or "module", line, before, after, text))
            where.put(old)
        for name, value in fields_to_visit(node):
            rows = value if isinstance(value, list) else [value]
            for i, child in enumerate(rows):
                if isinstance(child, ast.AST):
                    visit(child, Place(node, name, i if isinstance(value, list) else None), function, statement)

    visit(tree, None, "", tree)
    return found


def shown(before: str, after: str) -> tuple[str, str]:
    """The first line that differs, before and after; of long lines only what is around the difference."""
    if after == "dropped":
        return before, after
    one, two = next(
        (pair for pair in zip(before.split("\n"), after.split("\n"), strict=False) if pair[0] != pair[1]),
        (before, after),
    )
    one, two = one.strip(), two.strip()
    if len(one) <= 130:
        return one, two
    same = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    left = max(same - 60, 0)
    return one[left : same + 60], two[left : same + 60]


def is_meant(entry: Equivalent, mutant: Mutant) -> bool:
    """Whether an entry of the list describes a mutant."""
    return (
        entry.module in (mutant.module, "*")
        and entry.function in (None, mutant.function)
        and (entry.before is None or entry.before in mutant.before)
        and (entry.after is None or entry.after in mutant.after)
    )


def entry_for(mutant: Mutant) -> Equivalent | None:
    """The first entry of the list that describes a mutant."""
    return next((entry for entry in EQUIVALENT if is_meant(entry, mutant)), None)


def stale_entries(mutants: list[Mutant]) -> list[Equivalent]:
    """Entries of the list that describe none of all these mutants any more; they must go."""
    files = {mutant.module for mutant in mutants}
    known = {file for module in MODULES.values() for file in module}
    asked = [entry for entry in EQUIVALENT if entry.module in files or (entry.module == "*" and files == known)]
    unknown = [entry for entry in EQUIVALENT if entry.module not in {*known, "*"}]
    return unknown + [entry for entry in asked if not any(is_meant(entry, mutant) for mutant in mutants)]


# ---------------------------------------------------------------------------------------------------------------------
# Running one of them


def check_corpora(rows: list[tuple[int, Any, dict[str, Any]]]) -> int:
    """In the process of a mutant: compare the package with the brute force; fail at the first difference."""
    from outcomes import assert_same, outcome_of_package

    for seed, case, expected in rows:
        for measure, outcome in expected.items():
            assert_same(outcome_of_package(case, measure, as_columns=seed % 3 == 0), outcome, case)
    return 0


def serve(corpora: list[str]) -> None:
    """Import everything but the package once, then fork a process for each request: a line of JSON in, one out."""
    import pytest
    import random_corpora  # noqa: F401
    from click.testing import CliRunner  # noqa: F401

    rows = [pickle.loads(Path(file).read_bytes()) for file in corpora]
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.setsid()
                out = os.open(request["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                os.dup2(out, 1)
                os.dup2(out, 2)
                task = request["task"]
                status = check_corpora(rows[task]) if isinstance(task, int) else int(pytest.main(task))
            except BaseException as error:  # whatever a mutant does, it is a failure
                print(f"{type(error).__name__}: {error}"[:200])
            sys.stdout.flush()
            os._exit(status)
        # by counting, not by the clock: a machine that sleeps, or a process that is stopped, takes no time
        status = None
        for _ in range(int(request["seconds"] / TICK)):
            done, code = os.waitpid(child, os.WNOHANG)
            if done:
                status = os.waitstatus_to_exitcode(code)
                break
            time.sleep(TICK)
        if status is None:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
        print(json.dumps(status), flush=True)


def write_corpora(file: str, first: int, last: int) -> None:
    """In a process of its own: make random corpora and what the brute force says about them."""
    from outcomes import outcome_of_brute_force
    from random_corpora import random_case

    rows = []
    for seed in range(first, last):
        case = random_case(random.Random(seed))
        rows.append((seed, case, {measure: outcome_of_brute_force(case, measure) for measure in ("range", "point")}))
    Path(file).write_bytes(pickle.dumps(rows))


class Bench:
    """A copy of the repository in which one mutant at a time takes the place of its module."""

    def __init__(self, snapshot: Path, where: Path, corpora: tuple[Path, Path]) -> None:
        self.where, self.corpora = where, corpora
        shutil.copytree(snapshot, where)
        compileall.compile_dir(where, quiet=1)
        self.output = where / "output.txt"
        self.seconds = dict(SECONDS)
        self.server: subprocess.Popen[str] | None = None

    @property
    def environment(self) -> dict[str, str]:
        """Python finds this copy of the package before any other."""
        path = os.pathsep.join((str(self.where / "src"), str(self.where / "tests")))
        return {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}

    def write_corpora(self) -> None:
        """Ask the brute force once, for all mutants."""
        for file, seeds in zip(self.corpora, (FIRST_SEEDS, MORE_SEEDS), strict=True):
            command = [sys.executable, __file__, "--write", str(file), str(seeds.start), str(seeds.stop)]
            subprocess.run(command, cwd=self.where, env=self.environment, check=True)

    def run(self, task: int | list[str], seconds: float) -> tuple[bool, str]:
        """Compare corpora, or run pytest; whether it ended well, and the last line that it wrote."""
        if self.server is None:
            command = [sys.executable, __file__, "--serve", *map(str, self.corpora)]
            self.server = subprocess.Popen(
                command, cwd=self.where, env=self.environment, stdin=-1, stdout=-1, text=True, bufsize=1
            )
        request = {"task": task, "seconds": seconds, "output": str(self.output)}
        print(json.dumps(request), file=self.server.stdin, flush=True)
        status = json.loads(self.server.stdout.readline())
        if status is None:
            return False, "time limit"
        lines = self.output.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
        return status == 0, (failed or lines or [""])[-1][:200]

    def close(self) -> None:
        if self.server is not None:
            self.server.communicate()

    def tests(self, names: Iterable[str]) -> list[str]:
        """Those of these test files that exist."""
        return [str(test) for test in (self.where / "tests" / name for name in names) if test.exists()]

    def stages(self, module: str) -> Iterator[tuple[str, Callable[[], tuple[bool, str]]]]:
        doctests = str(self.where / "src" / "spoofspan" / f"{module}.py")
        pytest = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist"]
        bare = ["-p", "no:hypothesispytest"]
        yield "corpora", lambda: self.run(0, self.seconds["corpora"])
        made = next(MADE_TESTS[name] for name, files in MODULES.items() if module in files)
        yield "tests", lambda: self.run([*pytest, *bare, doctests, *self.tests(made)], self.seconds["tests"])
        rest = sorted({test for tests in MADE_TESTS.values() for test in tests if test not in made})
        others = self.tests([*rest, *OTHER_TESTS])
        if others:
            yield "other tests", lambda: self.run([*pytest, *others], self.seconds["other tests"])
        yield "more corpora", lambda: self.run(1, self.seconds["more corpora"])

    def check_unchanged(self, module: str, stages: int) -> dict[str, float]:
        """Run the stages without any mutation; return the time limits that follow from how long they take."""
        limits = {}
        for stage, run in islice(self.stages(module), stages):
            self.seconds[stage] = 3600.0
            start = time.monotonic()
            passed, what = run()
            if not passed:
                raise SystemExit(f"the tests fail without any mutation: {stage}: {what}")
            limits[stage] = max(SECONDS[stage], TIMES_AS_LONG * (time.monotonic() - start))
            say(f"unchanged: {stage} pass in {time.monotonic() - start:.0f} s")
        return limits

    def survives(self, module: str, source: str, stages: int) -> tuple[bool, str]:
        """Run the first stages; whether all pass, and what failed."""
        file = self.where / "src" / "spoofspan" / f"{module}.py"
        original = file.read_text(encoding="utf-8")
        self._forget(file)
        file.write_text(source, encoding="utf-8")
        try:
            for stage, run in islice(self.stages(module), stages):
                passed, what = run()
                if not passed:
                    return False, f"{stage}: {what}"
            return True, ""
        finally:
            file.write_text(original, encoding="utf-8")
            self._forget(file)

    @staticmethod
    def _forget(file: Path) -> None:
        """Remove compiled text: it could be taken for that of another mutant made in the same second."""
        for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*"):
            compiled.unlink()


# ---------------------------------------------------------------------------------------------------------------------
# Running all


@dataclass
class Outcome:
    """What became of a mutant."""

    mutant: Mutant
    state: str  # killed, survived, equivalent
    why: str

    def row(self) -> dict[str, object]:
        """As plain data."""
        names = ("module", "function", "line", "before", "after", "digest")
        return {**{name: getattr(self.mutant, name) for name in names}, "state": self.state, "why": self.why}


def take_snapshot(where: Path) -> None:
    """Copy the repository, so that nobody's edits get between the mutants."""
    for name in COPIED:
        source = REPOSITORY / name
        if source.is_dir():
            shutil.copytree(source, where / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        elif source.exists():
            shutil.copy(source, where / name)


def chosen_mutants(args: argparse.Namespace, snapshot: Path) -> tuple[list[Mutant], list[Equivalent]]:
    """All mutants of each module, or a sample of each; and the entries of the list that have gone stale."""
    chosen, everything = [], []
    for module in args.modules:
        mutants = []
        for name in MODULES[module]:
            file = snapshot / "src" / "spoofspan" / f"{name}.py"
            mutants += mutants_of(name, file.read_text(encoding="utf-8"))
        everything += mutants
        if args.grep:
            mutants = [mutant for mutant in mutants if args.grep in str(mutant)]
        if args.sample and args.sample < len(mutants):
            picked = sorted(random.Random(args.seed).sample(range(len(mutants)), args.sample))
            mutants = [mutants[i] for i in picked]
        chosen += mutants
    return chosen, stale_entries(everything)


def run_all(args: argparse.Namespace, mutants: list[Mutant], where: Path) -> list[Outcome]:
    """Run mutants on as many copies as there are jobs."""
    corpora = (where / "first.pickle", where / "more.pickle")
    benches: queue.Queue[Bench] = queue.Queue()
    for job in range(args.jobs):
        benches.put(Bench(where / "snapshot", where / f"copy{job}", corpora))
    bench = benches.get()
    bench.write_corpora()
    limits = bench.check_unchanged(mutants[0].module, args.stages)
    benches.put(bench)
    for bench in benches.queue:
        bench.seconds.update(limits)
    start, done = time.monotonic(), 0
    known = {row["digest"]: row for row in (json.loads(args.resume.read_text()) if args.resume else [])}
    written: list[dict[str, object]] = []

    def run(mutant: Mutant) -> Outcome:
        nonlocal done
        entry = entry_for(mutant)
        if entry is not None and not entry.is_whole_function and not args.run_equivalent:
            outcome = Outcome(mutant, "equivalent", entry.reason)
        elif known.get(mutant.digest, {}).get("state") == "killed":
            outcome = Outcome(mutant, "killed", known[mutant.digest]["why"])
        else:
            bench = benches.get()
            try:
                stages = args.stages if entry is None or args.run_equivalent else min(args.stages, 2)
                survived, what = bench.survives(mutant.module, mutant.source, stages)
            finally:
                benches.put(bench)
            state = "killed" if not survived else "survived" if entry is None else "equivalent"
            outcome = Outcome(mutant, state, entry.reason if survived and entry else what)
        done += 1
        written.append(outcome.row())
        if args.json:
            args.json.write_text(json.dumps(written, indent=1, ensure_ascii=False), encoding="utf-8")
        if outcome.state == "survived":
            say(f"SURVIVED {mutant}")
        if done % 20 == 0:
            say(f"{done} of {len(mutants)} mutants, {time.monotonic() - start:.0f} s")
        return outcome

    with ThreadPoolExecutor(args.jobs) as pool:
        outcomes = list(pool.map(run, mutants))
    for _ in range(args.jobs):
        benches.get().close()
    return outcomes


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def rows_of(name: str) -> list[tuple[str, tuple[str, ...]]]:
    """The rows of a module in the table: the whole, and its files if there are several."""
    files = MODULES[name]
    return [(name, files), *(((f"  {file}.py", (file,)) for file in files) if len(files) > 1 else ())]


def report(outcomes: list[Outcome], modules: list[str], stale: list[Equivalent]) -> bool:
    """Print the table, the equivalent mutants and the survivors; whether every module reaches 95 %, and no entry of
    the list of equivalent mutants is stale."""
    grouped: dict[str, list[str]] = {}
    for outcome in outcomes:
        if outcome.state == "equivalent":
            grouped.setdefault(outcome.why, []).append(str(outcome.mutant))
    for why, mutants in grouped.items():
        print(f"\nequivalent ({len(mutants)}): {why}")
        for mutant in mutants:
            print(f"  {mutant}")
    killed = [(outcome, entry_for(outcome.mutant)) for outcome in outcomes if outcome.state == "killed"]
    refuted = [outcome for outcome, entry in killed if entry is not None and not entry.is_whole_function]
    if refuted:
        print(f"\nlisted as equivalent, but killed: {len(refuted)}")
        for outcome in refuted:
            print(f"  {outcome.mutant}   [{outcome.why}]")
    if stale:
        print(f"\nentries of equivalent.py that describe no mutant: {len(stale)}; remove them")
        for entry in stale:
            print(f"  {entry}")
    survivors = [outcome for outcome in outcomes if outcome.state == "survived"]
    print(f"\nsurvivors: {len(survivors)}")
    for outcome in survivors:
        print(f"  {outcome.mutant}")
    print(f"\n{'module':<19}{'mutants':>9}{'killed':>9}{'survived':>10}{'equivalent':>12}{'killed of the rest':>20}")
    enough = not stale
    for module, files in [row for name in modules for row in rows_of(name)]:
        states = [outcome.state for outcome in outcomes if outcome.mutant.module in files]
        killed, survived, equivalent = (states.count(state) for state in ("killed", "survived", "equivalent"))
        share = killed / (killed + survived) if killed + survived else 1.0
        enough = enough and share >= 0.95
        print(f"{module:<19}{len(states):>9}{killed:>9}{survived:>10}{equivalent:>12}{100 * share:>18.1f} %")
    return enough


def main() -> None:
    parser = argparse.ArgumentParser(description="Mutation testing of the measuring core.")
    parser.add_argument("--modules", nargs="+", default=list(MODULES), choices=list(MODULES))
    parser.add_argument("--sample", type=int, help="this many random mutants per module instead of all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path, help="write every outcome to this file")
    parser.add_argument("--resume", type=Path, help="mutants that were killed in this earlier --json file stay killed")
    parser.add_argument("--stages", type=int, default=4, help="how many of the four stages to run")
    parser.add_argument("--grep", help="only mutants whose description contains this text")
    parser.add_argument("--list", action="store_true", help="print the mutants and stop")
    parser.add_argument("--run-equivalent", action="store_true", help="also run the mutants listed as equivalent")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--write", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        return serve(args.serve)
    if args.write:
        return write_corpora(args.write[0], int(args.write[1]), int(args.write[2]))
    if args.list:
        mutants, stale = chosen_mutants(args, REPOSITORY)
        for mutant in mutants:
            entry = entry_for(mutant)
            print(mutant, f"   [{entry.reason}]" if entry else "")
        for entry in stale:
            print(f"describes no mutant: {entry}")
        return None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as where:
        snapshot = Path(where) / "snapshot"
        snapshot.mkdir()
        take_snapshot(snapshot)
        mutants, stale = chosen_mutants(args, snapshot)
        outcomes = run_all(args, mutants, Path(where))
    return sys.exit(0 if report(outcomes, args.modules, stale) else 1)


if __name__ == "__main__":
    main()
