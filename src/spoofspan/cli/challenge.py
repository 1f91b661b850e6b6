"""``spoofspan challenge``: build one, check and score submissions, and rank the teams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import click

from spoofspan.base.errors import SpoofspanWarning, UsageError, warn_user
from spoofspan.cli import completion
from spoofspan.cli import options as o
from spoofspan.cli.declarations import CommandGroup
from spoofspan.cli.help import HelpCommand
from spoofspan.cli.inputs import ProposalFlags, VerificationInputs

if TYPE_CHECKING:
    from spoofspan.challenge.judging import JudgedSubmission
    from spoofspan.report.table import Table

SHOWN_WHOLE, SHOWN_LINES = 3, 15  # refusals, and lines of each; of more refusals, the first line each
app = CommandGroup(HelpCommand, "Run a challenge with hidden labels.")

Challenge = Annotated[Path, o.argument(metavar="CHALLENGE", help="Folder that challenge build made.")]


PhaseName = Annotated[str | None, o.option("Name of the phase. Default: the last one.")]


@dataclass(frozen=True)
class PolicyOptions:
    """Fields of :class:`spoofspan.challenge.definition.Definition`, as they were typed."""

    title: str = o.typed_flag("Title of the challenge.", default="Spoof localization challenge")
    submissions: Literal["scores", "boundary-scores", "proposals", "utterance-scores"] = o.typed_flag(
        "Kind of submission. Scores in time (of spoof or of boundaries), proposals, or one score per utterance or "
        "trial.",
        default="scores",
    )
    max_submissions: int = o.typed_flag("Scored submissions per team and phase, at most.", default=10, min=1)
    max_per_day: int | None = o.typed_flag("Scored submissions per team and day (UTC), at most.", min=1)
    counts: Literal["last", "best", "chosen"] = o.typed_flag("Valid submission of a team that counts.", default="last")
    ties: Literal["shared", "dense", "earlier"] = o.typed_flag(
        "Ranks of tied teams: shared (1, 1, 3), dense (1, 1, 2), or by time of submission.", default="shared"
    )
    grace: int = o.typed_flag("Minutes after its end in which a phase still accepts submissions.", default=0, min=0)
    contact: str = o.typed_flag("Contact address, shown in letters and on platforms.", default="", show_default=False)
    hop: float | None = o.typed_flag("Frame shift of submitted scores in seconds, if their files do not state it.")
    higher: o.HigherOption = None
    confidence: float = o.typed_flag("Confidence level of intervals, ranks and groups.", default=0.95)
    migrate: bool = o.typed_flag(
        "On platforms: submit the valid submissions of a phase to the next one.", "--migrate", default=False
    )
    hidden_board: bool = o.typed_flag("On platforms: hide the leaderboard from teams.", "--hidden-board", default=False)
    scores_are: o.ScoresAre = None


@app.subcommand
def build(
    *,
    references: Annotated[
        str,
        o.argument(metavar="REFERENCES", help="Reference file, folder or glob; or labels of utterances or trials."),
    ],
    out: Path = o.flag(..., "Folder to create.", show_default=False),
    measure: list[str] | None = o.measure_flag(
        None, "A measure. The first one ranks; may be repeated. Default: range-eer."
    ),
    durations: o.Durations = None,
    reference_format: o.ReferenceFormat = None,
    reference_hop: float | None = o.flag(None, "Frame shift of label arrays in seconds."),
    spoof_label: o.SpoofLabel = None,
    metadata: o.Metadata = None,
    by: list[str] | None = o.flag(
        None,
        "Columns of the leaderboard: attack, length, boundary, a column of --metadata, or two of them (attack,codec).",
    ),
    cluster: list[str] | None = o.flag(
        None,
        "Unit of resampling. A column of --metadata, or utterance; speaker,attack holds for new attacks too.",
        show_default="speaker, if known",
    ),
    phase: list[str] | None = o.flag(
        None, "NAME=START/END in UTC, such as final=2027-03-01/2027-03-07. May be repeated, in chronological order."
    ),
    phase_utterances: list[str] | None = o.flag(
        None, "Utterances that count in a phase: NAME=FILE with one id per line, or NAME=0.3 for a random share."
    ),
    seed: int = o.flag(0, "Seed of the random share of --phase-utterances. Keep it secret."),
    optional: list[str] | None = o.flag(
        None,
        "An optional measure at a threshold, for teams that state one; may be repeated.",
        of=completion.measures,
    ),
    platform: list[Literal["evalai", "huggingface"]] | None = o.flag(
        None, "Also write a bundle for this platform, besides Codabench; may be repeated."
    ),
    question: list[str] | None = o.flag(
        None, "KEY=QUESTION to be answered with each submission on Codabench; may be repeated."
    ),
    docker_image: str | None = o.flag(
        None, "Docker image for Codabench, with Python 3.10 or newer.", show_default="python:3.12"
    ),
    policy: PolicyOptions,
    proposals: ProposalFlags,
    verification: VerificationInputs,
    format: o.Format = "text",
    quiet: o.Quiet = False,
    rules: o.PointRules,
) -> None:
    """Build the folder of a challenge: a public part, a hidden part, a sample submission, a bundle for Codabench.

    The public part has utterances, durations, measures and rules, and nothing that depends on the labels.

    For example:

      spoofspan challenge build ref.rttm --durations reco2dur --by attack --out my-challenge

      spoofspan challenge build ref.parquet -m range-eer -m point-eer@20ms --metadata protocol.txt --by attack --out m

      spoofspan challenge build ref.rttm --durations reco2dur --submissions proposals -m event-ap@iou=0.5 --out mine

      spoofspan challenge build keys.tsv --submissions utterance-scores -m utterance-a-dcf --out mine

      spoofspan challenge build keys.tsv --submissions utterance-scores -m utterance-t-eer --asv-scores asv.tsv --out m

      spoofspan challenge build ref.parquet --submissions boundary-scores -m point-boundary-eer@20ms --out mine

      spoofspan challenge build ref.parquet --phase a=2027-01-10/2027-02-28 --phase b=2027-03-01/2027-03-07 --out mine
    """
    from spoofspan.challenge.challenge_folder import build_challenge
    from spoofspan.challenge.definition import Definition, Phase
    from spoofspan.challenge.hidden_part import HiddenPart, columns_of_board, utterances_of_phases
    from spoofspan.challenge.published_numbers import bits_of_result
    from spoofspan.formats.reading import read_truth
    from spoofspan.formats.text.protocol import read_clusters
    from spoofspan.report.table import Table

    verification.check(measure)
    regions = rules.pop("regions", None)
    phases = {"phases": tuple(Phase.parse(one) for one in phase)} if phase else {}
    definition = Definition(
        measures=tuple(measure or ["range-eer"]),
        optional=tuple(optional or ()),
        fact_sheet=_questions(question or []),
        convention=rules.pop("convention"),
        eer_rule=rules.pop("eer_rule", None),
        rules=rules,
        fps=proposals.fps,
        **proposals.arguments(),
        **cast(Any, phases | vars(policy)),
    )
    read = read_truth(
        references, durations=durations, format=reference_format, hop=reference_hop, spoof_label=spoof_label
    )
    hidden = HiddenPart(
        read,
        columns_of_board(by or (), metadata, read, definition),
        clusters=read_clusters(metadata, cluster) or None,
        phases=utterances_of_phases(_counted(phase_utterances or []), list(read), seed),
        regions=regions,
        asv=verification.read_asv(read),
    )
    made = build_challenge(out, definition, hidden, docker_image=docker_image, platforms=platform or ())
    once = bits_of_result(len(definition.measures))
    most = f"{once:.0f} bits of the labels, {policy.max_submissions:,} of them {policy.max_submissions * once:,.0f}"
    dates = [
        f"phase {one.name}: from {one.start or 'now'} to {one.end or 'no end'}" + " UTC" * bool(one.start or one.end)
        for one in definition.phases
        if phase
    ]
    commands = (
        *(dates and [*dates, ""]),
        f"the result of a submission tells a team at most {most} (docs/challenge.md)",
        "",
        f"spoofspan challenge check {out / 'public'} SUBMISSION",
        f"spoofspan challenge score {out} SUBMISSIONS",
        f"spoofspan challenge leaderboard {out}",
    )
    table = Table(
        ("made", "what it is"), tuple((f"{out}/{name}", about) for name, about in made.items()), ("", *commands)
    )
    o.Output(format).show({"challenge": str(out), "made": made}, [table])


def _questions(typed: list[str]) -> dict[str, str]:
    found = dict(word.partition("=")[::2] for word in typed)
    if not all(found.values()):
        raise UsageError("--question: write it as KEY=QUESTION, such as size=How many parameters does it have?")
    return found


def _counted(typed: list[str]) -> dict[str, list[str] | float]:
    """The utterances of phases as typed: the ids in a file, or a share."""
    found: dict[str, list[str] | float] = {}
    for word in typed:
        name, _, value = word.partition("=")
        if not value or name in found:
            raise UsageError(f"--phase-utterances {word}: write it once for each phase, as NAME=FILE or NAME=0.3")
        try:
            found[name] = float(value)
        except ValueError:
            lines = Path(value).expanduser().read_text(encoding="utf-8").splitlines()
            found[name] = [line.strip() for line in lines if line.strip()]
    return found


@app.subcommand
def check(
    public: Annotated[Path, o.argument(metavar="PUBLIC", help="Public part of a challenge.")],
    submission: Annotated[Path, o.argument(metavar="SUBMISSION", help="Score file, folder or zip archive.")],
    format: o.Format = "text",
    quiet: o.Quiet = False,
) -> None:
    """Check a submission: every problem at once, without labels.

    Finds utterances that are missing, unknown or duplicate, time without a score, NaN, and scores that do not state
    their hop or what high means. Exits with 3 if there is a problem.

    For example:

      spoofspan challenge check public my-submission.zip

      spoofspan challenge check public scores.parquet --format json
    """
    from spoofspan.challenge.definition import PublicPart
    from spoofspan.challenge.submission_check import check_submission
    from spoofspan.report.table import Table

    found = check_submission(PublicPart.read(public), submission)
    count = len(found.problems)
    kinds = "1 kind of problem:" if count == 1 else f"{count} kinds of problems:"
    verdict = "passed: it can be scored" if found.passed else kinds
    notes = [f"note: {text}" for text in found.notes]
    notes += ["", verdict, *(line for text in found.problems for line in ("", *text.splitlines()))]
    table = Table(("submission", found.team), tuple(found.facts.items()), tuple(notes))
    o.Output(format).show(found.to_dict(), [table])
    if not found.passed:
        raise click.exceptions.Exit(3)


@app.subcommand
def score(
    challenge: Challenge,
    submissions: Annotated[
        Path, o.argument(metavar="SUBMISSIONS", help="Folder with one submission per team, or a single submission.")
    ],
    team: list[str] | None = o.flag(None, "Score only this team; may be repeated."),
    phase: PhaseName = None,
    received: str | None = o.flag(
        None,
        "Time of receipt in UTC, such as 2027-01-31T12:00. Deadlines are checked against it.",
        show_default="now",
    ),
    format: o.Format = "text",
    quiet: o.Quiet = False,
) -> None:
    """Score submissions, all of a folder or one, and record them in the ledger.

    Scores what is new: submissions that the ledger has are kept. A refused submission stops no other and replaces no
    valid one; the command then exits with 3. Teams may see what is printed on stdout: rounded values, and reasons of
    refusals that depend on their files alone. What depends on the labels goes to stderr. `challenge letters` writes
    the whole refusals.

    For example:

      spoofspan challenge score my-challenge submissions

      spoofspan challenge score my-challenge submissions --team alpha --phase progress
    """
    from spoofspan.challenge.definition import PublicPart, parse_time
    from spoofspan.challenge.judging import score_submissions

    came = None if received is None else parse_time(received, "--received")
    found = score_submissions(challenge, submissions, phase=phase, teams=team or (), received=came)
    for one in found:
        for text in one.cautions:
            warn_user(f"for the organisers: {one.team}: {text}", SpoofspanWarning)
    definition = PublicPart.read(challenge).definition
    scored = definition.phase(phase).name
    lead = f"Phase {scored}." if len(definition.phases) > 1 else ""
    plain = {"phase": scored, "submissions": [one.to_dict() for one in found]}
    o.Output(format).show(plain, [_scores_table(found, lead)])
    if any(one.state == "refused" for one in found):
        raise click.exceptions.Exit(3)


def _scores_table(found: list[JudgedSubmission], lead: str) -> Table:
    from spoofspan.report.cells import heading
    from spoofspan.report.table import Table

    measures = max((list(one.values) for one in found), key=len, default=[])
    rows = tuple((one.team, one.state, *(_value(one.values, name) for name in measures)) for one in found)
    refused = [one for one in found if one.problems]
    notes: list[str] = []
    for one in refused:
        lines = [f"  {part}" for text in one.problems for part in text.splitlines()]
        if len(refused) <= SHOWN_WHOLE:
            cut = len(lines) - SHOWN_LINES
            rest = (
                [f"  ... and {cut} more lines: spoofspan challenge letters CHALLENGE --out FOLDER"] if cut > 1 else []
            )
            notes += ["", f"{one.team} refused:", *(lines[:SHOWN_LINES] if rest else lines), *rest]
        else:
            more = f" (and {len(lines) - 1} more lines)" if len(lines) > 1 else ""
            notes += [*([""] if not notes else []), f"{one.team} refused: {lines[0].strip()}{more}"]
    if len(refused) > SHOWN_WHOLE:
        notes += ["", "all of it, ready to send: spoofspan challenge letters CHALLENGE --out FOLDER"]
    return Table(("team", "", *map(heading, measures)), rows, tuple(notes), lead)


def _value(values: Mapping[str, float], name: str) -> str:
    """A value of a team; ``-`` for an optional measure that it does without."""
    from spoofspan.challenge.leaderboard import NOTHING
    from spoofspan.challenge.published_numbers import published_text

    return published_text(name, values[name]) if name in values else NOTHING if values else ""


@app.subcommand
def leaderboard(
    *,
    challenge: Challenge,
    phase: PhaseName = None,
    until: int | None = o.flag(None, "Show the leaderboard as of this line of the ledger.", min=1),
    pairs: bool = o.flag(False, "Also show the difference between every pair of teams.", "--pairs"),
    page: Path | None = o.flag(
        None, "Also write a page (.html) for publication: this phase, the others, and the history."
    ),
    result_files: Path | None = o.flag(
        None, "With --page: folder beside it for result files of teams that agreed to share them (challenge share)."
    ),
    check_page: Path | None = o.flag(
        None, "With --page: page beside it (.html) on which teams check a submission in the browser."
    ),
    all_digits: bool = o.flag(
        False,
        "For organisers: all digits in JSON and CSV, and everything else that depends on the labels. Never publish it.",
        "--all-digits",
    ),
    output: o.Output,
) -> None:
    """Rank the teams that were scored.

    Prints ranks with intervals, groups of teams that cannot be told apart, and columns by attack. The numbers are
    rounded so that each tells at most 14 bits of the labels, and the leaderboard can be published. Cautions that come
    from the labels go to stderr.

    For example:

      spoofspan challenge leaderboard my-challenge

      spoofspan challenge leaderboard my-challenge --page leaderboard.html

      spoofspan challenge leaderboard my-challenge --out leaderboard.csv
    """
    from spoofspan.challenge.leaderboard import leaderboard as rank

    o.must_be_free(page, check_page, force=output.force)
    for name, given in (("--result-files", result_files), ("--check-page", check_page)):
        if given is not None and page is None:
            raise UsageError(f"{name} belongs to a page that links it: give --page too")
    found = rank(challenge, phase=phase, until=until)
    if page is not None:
        from spoofspan.challenge.public_page import public_page

        if check_page is not None:
            from spoofspan.challenge.definition import PublicPart
            from spoofspan.challenge.public_page import check_page as write_check

            o.write_page(write_check(PublicPart.read(challenge)), check_page, output.force)
        check = "" if check_page is None else check_page.name
        written = public_page(challenge, found, with_pairs=pairs, results=result_files, check=check)
        o.write_page(written, page, output.force)
    for text in found.cautions:
        warn_user(f"for the organisers: {text}", SpoofspanWarning)
    tables = found.tables(pairs=pairs)
    if output.format == "csv":
        tables = [found.wide_table(all_digits=all_digits)]
    output.show(found.to_dict(pairs=pairs, all_digits=all_digits), tables)


from spoofspan.cli import challenge_operations as _operations  # noqa: E402, F401 - adds its commands to app
