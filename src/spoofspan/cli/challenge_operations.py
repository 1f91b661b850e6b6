"""The commands of ``spoofspan challenge`` for decisions of the organisers, rescoring, and what teams are told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from spoofspan.base.errors import SpoofspanWarning, warn_user
from spoofspan.cli import options as o
from spoofspan.cli.challenge import Challenge, PhaseName, app

if TYPE_CHECKING:
    from spoofspan.challenge.season import Entry

Team = Annotated[str, o.argument(metavar="TEAM", help="Name of the team.")]
Reason = Annotated[str, o.option("Reason in one line, shown on the leaderboard.", required=True)]
OnePhase = Annotated[str | None, o.option("Only this phase. Default: all.")]
OneSubmission = Annotated[
    int | None, o.option("Number of a submission, from `challenge log`. Default: the whole team.")
]


def _say(entry: Entry, format: o.Format) -> None:
    from spoofspan.challenge.decisions import described
    from spoofspan.report.table import Table

    text = described(entry, entry.team) + (f", in the phase {entry.phase}" if entry.phase else "")
    plain = {"number": entry.number, "time": entry.time, "action": entry.action, "team": entry.team, "text": text}
    o.Output(format).show(plain, [Table(("line", "time (UTC)", "recorded"), ((str(entry.number), entry.time, text),))])


@dataclass(frozen=True)
class Decision:
    """A decision on a team, as it was typed."""

    challenge: Challenge
    team: Team
    reason: Reason
    format: o.Format = "text"

    def take(self, action: Literal["withdraw", "disqualify", "reinstate"], **about: Any) -> None:
        """Record that a team is out, or no longer."""
        from spoofspan.challenge.decisions import decide

        _say(decide(self.challenge, action, self.team, self.reason, **about), self.format)


@app.subcommand
def withdraw(*, decision: Decision, phase: OnePhase = None, submission: OneSubmission = None) -> None:
    """Withdraw a team at its own wish, or one of its submissions.

    For example:

      spoofspan challenge withdraw my-challenge alpha --reason "at the team's request"

      spoofspan challenge withdraw my-challenge alpha --submission 17 --reason "wrong file"
    """
    decision.take("withdraw", phase=phase, submission=submission)


@app.subcommand
def disqualify(*, decision: Decision, phase: OnePhase = None) -> None:
    """Disqualify a team: it is not ranked, and what it submits is not scored.

    For example:

      spoofspan challenge disqualify my-challenge alpha --reason "used the test labels"
    """
    decision.take("disqualify", phase=phase)


@app.subcommand
def reinstate(*, decision: Decision, phase: OnePhase = None, submission: OneSubmission = None) -> None:
    """Reinstate a team or a submission that was withdrawn or disqualified.

    For example:

      spoofspan challenge reinstate my-challenge alpha --reason "appeal granted"
    """
    decision.take("reinstate", phase=phase, submission=submission)


@app.subcommand
def choose(
    *,
    decision: Decision,
    submission: Annotated[int, o.argument(metavar="SUBMISSION", help="Its number, from `challenge log`.")],
) -> None:
    """Select the submission that counts for a team (of a challenge built with --counts chosen).

    For example:

      spoofspan challenge choose my-challenge alpha 17 --reason "mail of 3 March"
    """
    from spoofspan.challenge import decisions

    _say(decisions.choose(decision.challenge, decision.team, submission, decision.reason), decision.format)


@app.subcommand
def role(
    *,
    decision: Decision,
    role: Annotated[
        Literal["team", "baseline", "host", "anonymous"],
        o.argument(metavar="ROLE", help="team, baseline, host or anonymous."),
    ],
) -> None:
    """Give a team a role: baselines and hosts are shown and not ranked, anonymous teams are ranked without their name.

    For example:

      spoofspan challenge role my-challenge lfcc-lcnn baseline --reason "system of the organisers"

      spoofspan challenge role my-challenge alpha anonymous --reason "at the team's request"
    """
    from spoofspan.challenge import decisions

    _say(decisions.set_role(decision.challenge, decision.team, role, decision.reason), decision.format)


@app.subcommand
def publish(challenge: Challenge, reason: Reason, format: o.Format = "text") -> None:
    """Name anonymous teams on the board from now on.

    For example:

      spoofspan challenge publish my-challenge --reason "end of the challenge"
    """
    from spoofspan.challenge import decisions

    _say(decisions.publish(challenge, reason), format)


@app.subcommand
def share(
    challenge: Challenge,
    team: Team,
    stop: bool = o.flag(False, "Record that the team no longer agrees.", "--stop"),
    format: o.Format = "text",
) -> None:
    """Record that a team agrees to publish its result file on the leaderboard.

    For example:

      spoofspan challenge share my-challenge alpha
    """
    from spoofspan.challenge import decisions

    _say(decisions.share(challenge, team, not stop), format)


@app.subcommand
def rescore(
    *,
    challenge: Challenge,
    reason: Reason,
    corrected: Path | None = o.flag(
        None, "Folder of a challenge built with corrected labels or rules, which replace those of this one."
    ),
    output: o.Output,
) -> None:
    """Score all submissions again after labels or rules were corrected, and show what moved.

    Build a second challenge with the corrected labels and the same utterances and phases, then give it here. What is
    printed may be published; the utterances whose labels changed go to stderr, for the organisers. An interrupted
    rescoring goes on when it is given again.

    For example:

      spoofspan challenge rescore my-challenge --corrected fixed --reason "labels of 12 utterances corrected"
    """
    from spoofspan.challenge.rescoring import rescore as again

    found = again(challenge, reason, corrected=corrected)
    for text in found.for_organisers:
        warn_user(f"for the organisers: {text}", SpoofspanWarning)
    output.show(found.to_dict(), found.tables())


@app.subcommand
def log(
    challenge: Challenge,
    team: str | None = o.flag(None, "Only lines about this team."),
    phase: OnePhase = None,
    everything: bool = o.flag(
        False, "For organisers: also reasons why submissions that passed the check were not scored.", "--everything"
    ),
    format: o.Format = "text",
) -> None:
    """Print what happened and when, for an appeal.

    For example:

      spoofspan challenge log my-challenge --team alpha

      spoofspan challenge log my-challenge --phase final --format json
    """
    from spoofspan.challenge.appeals import log as lines
    from spoofspan.report.table import Table

    found = lines(challenge, team=team, phase=phase, everything=everything)
    rows: list[tuple[str, ...]] = []
    notes: list[str] = []
    for one in found:
        rows.append((str(one["number"]), one["time"], one["phase"], one["text"], one.get("sha256", "")[:12]))
        told = [*one.get("problems", ()), *([one["for_organisers"]] if one.get("for_organisers") else [])]
        listed = [line for text in told for line in text.splitlines()]
        if listed and team is not None:
            notes += ["", f"{one['number']}, {one['team']}:", *(f"  {line}" for line in listed)]
        elif listed:
            more = f" (and {len(listed) - 1} more lines: --team)" if len(listed) > 1 else ""
            notes += [*([] if notes else [""]), f"{one['number']}, {one['team']}: {listed[0]}{more}"]
    o.Output(format).show(found, [Table(("line", "time (UTC)", "phase", "what", "SHA-256"), tuple(rows), tuple(notes))])


@app.subcommand
def audit(challenge: Challenge, phase: PhaseName = None, format: o.Format = "text") -> None:
    """Look for copies under several names, scores made of ids, wrong polarity, and the luck of many submissions.

    What is printed is for the organisers: some of it depends on the labels.

    For example:

      spoofspan challenge audit my-challenge --phase final
    """
    from spoofspan.challenge.fairness import audit as findings
    from spoofspan.report.table import Table

    found = findings(challenge, phase=phase)
    rows = tuple((one.check, ", ".join(one.teams), one.text) for one in found)
    notes = () if rows else ("nothing was found",)
    o.Output(format).show([one.to_dict() for one in found], [Table(("check", "teams", "what was found"), rows, notes)])


@app.subcommand
def letters(
    challenge: Challenge,
    out: Path = o.flag(..., "Folder for one text file per team.", show_default=False),
    phase: PhaseName = None,
    force: o.Force = False,
) -> None:
    """Write a letter to each team: what became of its last submission, with every problem of a refusal.

    For example:

      spoofspan challenge letters my-challenge --phase final --out letters
    """
    from spoofspan.challenge.appeals import letters as written
    from spoofspan.formats.writing import write_atomically
    from spoofspan.report.table import Table

    out.mkdir(parents=True, exist_ok=True)
    made = []
    for team, text in written(challenge, phase):
        write_atomically(out / f"{team}.txt", [text.encode()], force=force)
        made.append((team, str(out / f"{team}.txt")))
    o.Output().show({"letters": dict(made)}, [Table(("team", "letter"), tuple(made))])


@app.subcommand
def certificate(
    challenge: Challenge,
    team: Team,
    phase: PhaseName = None,
    all_digits: bool = o.flag(False, "All digits and signatures. Publish it only after the labels.", "--all-digits"),
    format: o.Format = "json",
    out: o.Out = None,
    force: o.Force = False,
) -> None:
    """Write the result of a team as JSON: rank, rounded values, rules, and the hash of what it submitted.

    The organisers confirm a certificate by making it again: the same ledger gives the same bytes.

    For example:

      spoofspan challenge certificate my-challenge alpha --out alpha.json
    """
    from spoofspan.challenge.appeals import certificate as certified
    from spoofspan.challenge.leaderboard import NOTHING
    from spoofspan.challenge.published_numbers import published_text
    from spoofspan.report.table import Table

    output = o.Output(format, out, force)
    found = certified(challenge, team, phase=phase, all_digits=all_digits)
    rows = [(name, str(found[name])) for name in ("challenge", "phase", "team", "submission", "received", "sha256")]
    for name, one in found["measures"].items():
        value = NOTHING if one["value"] is None else published_text(name, one["value"])
        rows.append((name, f"{value}, rank {one.get('rank') or NOTHING}"))
    output.show(found, [Table(("certificate", ""), tuple(rows))])
