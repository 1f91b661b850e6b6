"""``spoofspan challenge``: build one, check and score submissions, and rank the teams."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from spoofspan.base.errors import SpoofspanWarning, UsageError
from spoofspan.cli import options as o
from spoofspan.cli.eval_inputs import ProposalOptions, takes_proposals
from spoofspan.cli.help import HelpCommand
from spoofspan.cli.inputs import read_column

if TYPE_CHECKING:
    from spoofspan.challenge.judging import JudgedSubmission
    from spoofspan.report.table import Table

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Run a challenge with hidden labels.")

Challenge = Annotated[Path, typer.Argument(metavar="CHALLENGE", help="Folder that challenge build made.")]


class Submissions(str, Enum):
    """What teams submit."""

    scores = "scores"
    proposals = "proposals"
    utterance_scores = "utterance-scores"


PhaseName = Annotated[str | None, o.option("Which phase; without it, the last one.")]


@app.command(cls=HelpCommand)
@takes_proposals
@o.takes_rules
def build(
    *,
    references: Annotated[
        str,
        typer.Argument(metavar="REFERENCES", help="Reference file, folder or glob; or labels of utterances or trials."),
    ],
    out: Path = o.flag(..., "Folder to make.", show_default=False),
    title: str = o.flag("Spoof localization challenge", "Title of the challenge."),
    measure: list[str] | None = o.measure_flag(
        None, "A measure; the first one ranks. May be repeated; without it, range-eer."
    ),
    submissions: Submissions = o.flag(
        Submissions.scores, "What teams submit: scores in time, proposals, or a score of each utterance or trial."
    ),
    durations: o.Durations = None,
    reference_format: o.ReferenceFormat = None,
    reference_hop: float | None = o.flag(None, "Spacing of label arrays in seconds."),
    spoof_label: o.SpoofLabel = None,
    metadata: o.Metadata = None,
    by: list[str] | None = o.flag(
        None, "Columns of the leaderboard: kind, length, boundary, or a column of --metadata; may be repeated."
    ),
    cluster: list[str] | None = o.flag(
        None,
        "What intervals leave out as a whole: a column of --metadata, utterance, or speaker,attack.",
        show_default="speaker, if known",
    ),
    phase: list[str] | None = o.flag(
        None, "NAME=START/END in UTC, such as final=2027-03-01/2027-03-07; may be repeated, in the order of time."
    ),
    phase_utterances: list[str] | None = o.flag(
        None, "NAME=FILE: the utterances that count in a phase, one a line; or NAME=0.3: this share of them, drawn."
    ),
    seed: int = o.flag(0, "Of the draw of --phase-utterances. Keep it secret."),
    max_submissions: int = o.flag(10, "How many submissions of a team are scored in a phase.", min=1),
    hop: float | None = o.flag(None, "Spacing of submitted scores in seconds, if they do not state it."),
    higher: o.HigherOption = None,
    confidence: float = o.flag(0.95, "Level of intervals, ranks and groups."),
    docker_image: str | None = o.flag(
        None, "Image for Codabench, with Python 3.10 or newer.", show_default="python:3.12"
    ),
    convention: o.Convention = "default",
    eer_rule: o.EerRule = None,
    scores_are: o.ScoresAre = None,
    proposals: ProposalOptions,
    output: o.OutputFormat = o.Output.text,
    quiet: o.Quiet = False,
    rules: dict[str, Any],
) -> None:
    """Build the folder of a challenge: a public part, a hidden part, a sample submission, a bundle for Codabench.

    The public part has utterances, durations, measures and rules, and nothing that depends on the labels.

    For example:

      spoofspan challenge build ref.rttm --durations reco2dur --by kind --out my-challenge

      spoofspan challenge build ref.parquet -m range-eer -m point-eer@20ms --metadata protocol.txt --by attack --out m

      spoofspan challenge build ref.rttm --durations reco2dur --submissions proposals -m event-ap@iou=0.5 --out mine

      spoofspan challenge build keys.tsv --submissions utterance-scores -m utterance-a-dcf --out mine

      spoofspan challenge build ref.parquet --phase a=2027-01-10/2027-02-28 --phase b=2027-03-01/2027-03-07 --out mine
    """
    from spoofspan.challenge.challenge_folder import build_challenge
    from spoofspan.challenge.definition import Definition, Phase
    from spoofspan.challenge.hidden_part import HiddenPart
    from spoofspan.challenge.published_numbers import bits_of_result
    from spoofspan.evaluation.breakdown import BREAKDOWNS
    from spoofspan.formats.reading import read_truth
    from spoofspan.formats.text.protocol import read_clusters
    from spoofspan.report.table import Table

    regions = rules.pop("regions", None)
    phases = {"phases": tuple(Phase.parse(one) for one in phase)} if phase else {}
    definition = Definition(
        title,
        tuple(measure or ["range-eer"]),
        convention=convention,
        eer_rule=eer_rule,
        scores_are=cast(Any, scores_are),
        rules=rules,
        confidence=confidence,
        hop=hop,
        higher=o.polarity(higher),
        submissions=submissions.value,
        fps=proposals.fps,
        max_submissions=max_submissions,
        **proposals.arguments(),
        **cast(Any, phases),
    )
    read = read_truth(
        references, durations=durations, format=reference_format, hop=reference_hop, spoof_label=spoof_label
    )
    hidden = HiddenPart(
        read,
        {name: None if name in BREAKDOWNS else read_column(metadata, None, name) for name in by or ()},
        clusters=read_clusters(metadata, cluster) or None,
        phases=_phase_utterances(phase_utterances or [], read.keys(), seed),
        regions=regions,
    )
    made = build_challenge(out, definition, hidden, docker_image=docker_image)
    once = bits_of_result(len(definition.measures))
    most = f"{once:.0f} bits of the labels, {max_submissions:,} of them {max_submissions * once:,.0f}"
    commands = (
        f"the result of a submission tells a team at most {most} (docs/challenge.md)",
        "",
        f"spoofspan challenge check {out / 'public'} SUBMISSION",
        f"spoofspan challenge score {out} SUBMISSIONS",
        f"spoofspan challenge leaderboard {out}",
    )
    table = Table(
        ("made", "what it is"), tuple((f"{out}/{name}", about) for name, about in made.items()), ("", *commands)
    )
    o.show({"challenge": str(out), "made": made}, [table], output)


def _phase_utterances(typed: list[str], utterances: Iterable[str], seed: int) -> Mapping[str, list[str]]:
    """The utterances of phases: those of a file, or a share of them."""
    import numpy as np

    found: dict[str, list[str]] = {}
    for word in typed:
        name, _, value = word.partition("=")
        if not value:
            raise UsageError(f"--phase-utterances {word}: write it as NAME=FILE or NAME=0.3")
        try:
            share = float(value)
        except ValueError:
            path = Path(value).expanduser()
            found[name] = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
            continue
        if not 0 < share < 1:
            raise UsageError(f"--phase-utterances {word}: a share lies between 0 and 1")
        ids = sorted(utterances)
        drawn = np.random.default_rng([seed, len(found)]).permutation(len(ids))[: max(round(share * len(ids)), 1)]
        found[name] = [ids[place] for place in drawn.tolist()]
    return found


@app.command(cls=HelpCommand)
def check(
    public: Annotated[Path, typer.Argument(metavar="PUBLIC", help="The public part of a challenge.")],
    submission: Annotated[Path, typer.Argument(metavar="SUBMISSION", help="Score file, folder or zip archive.")],
    output: o.OutputFormat = o.Output.text,
    quiet: o.Quiet = False,
) -> None:
    """Check a submission: every problem at once, without labels.

    Finds utterances that are missing, unknown or duplicate, time without a score, NaN, and scores that do not state
    their hop or what high means. Exits with 3 if there is a problem.

    For example:

      spoofspan challenge check public my-submission.zip

      spoofspan challenge check public scores.parquet --format json
    """
    from spoofspan.challenge.public_part import PublicPart
    from spoofspan.challenge.submission_check import check_submission
    from spoofspan.report.table import Table

    found = check_submission(PublicPart.read(public), submission)
    count = len(found.problems)
    kinds = "1 kind of problem:" if count == 1 else f"{count} kinds of problems:"
    verdict = "passed: it can be scored" if found.passed else kinds
    notes = [f"note: {text}" for text in found.notes]
    notes += ["", verdict, *(line for text in found.problems for line in ("", *text.splitlines()))]
    table = Table(("submission", found.team), tuple(found.facts.items()), tuple(notes))
    o.show(found.to_dict(), [table], output)
    if not found.passed:
        raise typer.Exit(3)


@app.command(cls=HelpCommand)
def score(
    challenge: Challenge,
    submissions: Annotated[
        Path, typer.Argument(metavar="SUBMISSIONS", help="Folder with a submission for each team, or one submission.")
    ],
    team: list[str] | None = o.flag(None, "Score this team alone; may be repeated."),
    phase: PhaseName = None,
    output: o.OutputFormat = o.Output.text,
    quiet: o.Quiet = False,
) -> None:
    """Score submissions, all of a folder or one.

    Keeps earlier results until the submission, the labels or the measures change. A refused submission does not stop
    the others; the command then exits with 3. Teams may see what is printed on stdout: rounded values, and reasons of
    refusals that depend on their files alone. What depends on the labels goes to stderr.

    For example:

      spoofspan challenge score my-challenge submissions

      spoofspan challenge score my-challenge submissions --team alpha --phase progress
    """
    from spoofspan.challenge.judging import score_submissions

    found = score_submissions(challenge, submissions, phase=phase, teams=team or ())
    for one in found:
        for text in one.cautions:
            warnings.warn(f"for the organisers: {one.team}: {text}", SpoofspanWarning, stacklevel=1)
    o.show({"submissions": [one.to_dict() for one in found]}, [_scores_table(found)], output)
    if any(one.state == "refused" for one in found):
        raise typer.Exit(3)


def _scores_table(found: list[JudgedSubmission]) -> Table:
    from spoofspan.challenge.published_numbers import published_text
    from spoofspan.report.cells import heading
    from spoofspan.report.table import Table

    measures = next((list(one.values) for one in found if one.values), [])
    rows = tuple(
        (one.team, one.state, *(published_text(name, one.values[name]) if one.values else "" for name in measures))
        for one in found
    )
    notes = [
        line
        for one in found
        if one.problems
        for line in ("", f"{one.team} refused:", *(f"  {part}" for text in one.problems for part in text.splitlines()))
    ]
    return Table(("team", "", *map(heading, measures)), rows, tuple(notes))


@app.command(cls=HelpCommand)
def leaderboard(
    challenge: Challenge,
    phase: PhaseName = None,
    pairs: bool = o.flag(False, "Also show the difference of every two teams.", "--pairs"),
    page: Path | None = o.flag(None, "Also write the leaderboard as a page (.html) that can be published."),
    all_digits: bool = o.flag(
        False,
        "For the organisers: all digits in JSON and CSV, and what else depends on the labels. Never publish it.",
        "--all-digits",
    ),
    output: o.OutputFormat = o.Output.text,
    out: o.Out = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
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

    o.must_be_free(out, page, force=force)
    found = rank(challenge, phase=phase)
    if page is not None:
        from spoofspan.challenge.leaderboard_page import leaderboard_page

        o.write_page(leaderboard_page(found, with_pairs=pairs), page, force)
    for text in found.cautions:
        warnings.warn(f"for the organisers: {text}", SpoofspanWarning, stacklevel=1)
    tables = found.tables(pairs=pairs)
    if output is o.Output.csv:
        tables = [found.wide_table(all_digits=all_digits)]
    o.show(found.to_dict(pairs=pairs, all_digits=all_digits), tables, output, out, force)
