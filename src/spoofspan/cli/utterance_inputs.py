"""Utterance scores and verification scores on the command line: what ``eval`` reads besides references and scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spoofspan.base.errors import UsageError
from spoofspan.cli import completion
from spoofspan.cli import options as o
from spoofspan.cli.inputs import Inputs

if TYPE_CHECKING:
    from spoofspan.data.references import References
    from spoofspan.data.scores import Higher
    from spoofspan.data.utterance_scores import UtteranceScores
    from spoofspan.data.verification_scores import VerificationScores
    from spoofspan.evaluation.breakdown import Breakdown
    from spoofspan.evaluation.evaluate import Evaluation
    from spoofspan.measures.per_utterance import UtteranceErrors

NEEDS_SCORES = "needs scores in time: give SCORES after REFERENCES"


@dataclass(frozen=True)
class UtteranceInputs:
    """Where utterance scores and verification scores are, as it was typed."""

    utterance_scores: str | None = None
    utterance_scores_format: str | None = None
    utterance_column: str | None = None
    asv_scores: str | None = None

    def check(self, measures: list[str] | None) -> None:
        """Refuse, before long work, what would not be used."""
        from spoofspan.evaluation.measurement import parse_measures

        wanted = parse_measures(measures or [])
        for flag, value in (
            ("--utterance-scores-format", self.utterance_scores_format),
            ("--utterance-column", self.utterance_column),
        ):
            if value is not None and self.utterance_scores is None:
                raise UsageError(f"{flag} goes with --utterance-scores")
        if self.utterance_scores is not None and wanted and not any(one.basis == "utterance" for one in wanted):
            raise UsageError("--utterance-scores: no measure of utterances is asked for; add -m utterance-eer")
        if self.asv_scores is not None and not any(one.kind.needs_asv for one in wanted):
            raise UsageError("--asv-scores: no measure needs them; add -m utterance-min-tdcf")

    def read(self) -> dict[str, UtteranceScores | VerificationScores]:
        """Read what was given, as arguments of evaluate."""
        found: dict[str, UtteranceScores | VerificationScores] = {}
        if self.utterance_scores is not None:
            from spoofspan.formats.reading import read_utterance_scores

            found["utterance_scores"] = read_utterance_scores(
                self.utterance_scores, self.utterance_scores_format, column=self.utterance_column
            )
        if self.asv_scores is not None:
            from spoofspan.formats.text.verification_scores import read_verification_scores

            found["asv_scores"] = read_verification_scores(self.asv_scores)
        return found

    def alone(self, inputs: Inputs) -> bool:
        """Whether utterance scores are all there is to measure."""
        if self.utterance_scores is None:
            return False
        if inputs.dataset is None:
            return inputs.scores is None
        # the only word typed beside a dataset is the scores; with a hop they may be in its folder
        return inputs.references is None and inputs.hop is None

    def refuse_stream(self) -> None:
        """Utterance scores are not cut into shards."""
        if self.utterance_scores is not None:
            raise UsageError(
                "--utterance-scores need the corpus in memory; leave --stream out, or leave SCORES out and measure "
                "utterances apart: spoofspan eval REFERENCES --utterance-scores FILE"
            )


@dataclass(frozen=True)
class UtterancesAlone:
    """Utterance scores and labels of utterances, or references, without scores in time."""

    truth: References | Mapping[str, str]

    @property
    def higher(self) -> Higher:
        """There are no scores in time."""
        raise UsageError(f"--per-utterance {NEEDS_SCORES}")

    @classmethod
    def read(cls, inputs: Inputs) -> UtterancesAlone:
        """Read REFERENCES, which may be labels of whole utterances."""
        from spoofspan.formats.registry import REFERENCE_FORMATS
        from spoofspan.formats.sources import sources
        from spoofspan.formats.text import utterance_labels

        if inputs.dataset is not None or inputs.references is None or inputs.reference_format is not None:
            return cls(inputs.read_known()[0])
        found = sources(inputs.references)
        head = found[0].head
        known = any(one.recognises(head) for one in REFERENCE_FORMATS.formats.values())
        if len(found) == 1 and not known and utterance_labels.recognises(head):
            return cls(utterance_labels.read_utterance_labels(found[0]))
        return cls(inputs.references_from(found[0] if inputs.references == "-" else inputs.references))

    def evaluate(self, measures: list[str] | None, arguments: dict[str, Any]) -> Evaluation:
        """Measure utterances; without measures, their EER."""
        from spoofspan.evaluation.utterances import evaluate_utterances

        arguments = dict(arguments)
        scores = arguments.pop("utterance_scores")
        return evaluate_utterances(self.truth, scores, measures or ["utterance-eer"], **arguments)

    def errors_by_utterance(self, at: Any, arguments: dict[str, Any]) -> UtteranceErrors:
        """There is no time to err on."""
        raise UsageError(f"--per-utterance {NEEDS_SCORES}")

    def break_down(self, by: str, metadata: str | None, measure: str, arguments: dict[str, Any]) -> Breakdown:
        """There is no time to break down."""
        raise UsageError(f"--by {by} {NEEDS_SCORES}")


takes_utterance_scores = o.takes(
    "more",
    {
        "utterance_scores": Annotated[
            str | None,
            typer.Option(
                "--utterance-scores",
                help="A score of each whole utterance: measures of utterances are of these. REFERENCES may then be a "
                "protocol, and SCORES be left out.",
            ),
        ],
        "utterance_scores_format": Annotated[
            str | None,
            typer.Option(
                "--utterance-scores-format",
                help="Format, if not recognised.",
                autocompletion=completion.among(completion.utterance_score_formats),
            ),
        ],
        "utterance_column": Annotated[
            str | None, typer.Option("--utterance-column", help="Which of several utterance scores in a line.")
        ],
        "asv_scores": Annotated[
            str | None,
            typer.Option(
                "--asv-scores",
                help="Scores of a speaker verification system, for utterance-min-tdcf (ASVspoof's file).",
            ),
        ],
    },
    UtteranceInputs,
)
