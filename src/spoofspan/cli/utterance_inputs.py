"""Utterance scores and verification scores on the command line: what ``eval`` reads besides references and scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, get_type_hints

import typer

from spoofspan.base.errors import UsageError
from spoofspan.cli import completion
from spoofspan.cli import options as o
from spoofspan.cli.inputs import Inputs, looks_like

if TYPE_CHECKING:
    from spoofspan.data.references import References
    from spoofspan.data.utterance_scores import UtteranceScores, VerificationScores


@dataclass(frozen=True)
class UtteranceInputs:
    """Where utterance scores and verification scores are, as it was typed."""

    utterance_scores: Annotated[
        str | None,
        typer.Option(
            "--utterance-scores",
            help="A score of each whole utterance: measures of utterances are of these. REFERENCES may then be a "
            "protocol, and SCORES be left out.",
        ),
    ] = None
    utterance_scores_format: Annotated[
        str | None,
        typer.Option(
            "--utterance-scores-format",
            help="Format, if not recognised.",
            autocompletion=completion.among(completion.utterance_score_formats),
        ),
    ] = None
    utterance_column: Annotated[
        str | None, typer.Option("--utterance-column", help="Which of several utterance scores in a line.")
    ] = None
    asv_scores: Annotated[
        str | None,
        typer.Option(
            "--asv-scores",
            help="Scores of a speaker verification system, for utterance-min-tdcf (ASVspoof's file).",
        ),
    ] = None

    def check(self, measures: list[str] | None) -> None:
        """Refuse, before long work, what would not be used."""
        from spoofspan.measures.measure import parse_measures

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

    def read_scores(self, where: str) -> UtteranceScores:
        """Read utterance scores as they were described."""
        from spoofspan.formats.reading import read_utterance_scores

        return read_utterance_scores(where, self.utterance_scores_format, column=self.utterance_column)

    def read_asv_scores(self) -> VerificationScores | None:
        """Read the scores of a speaker verification system, if they are given."""
        if self.asv_scores is None:
            return None
        from spoofspan.formats.text.utterance_scores import read_verification_scores

        return read_verification_scores(self.asv_scores)

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

    def read_truth(self, inputs: Inputs) -> References | Mapping[str, str]:
        """Read REFERENCES, which may be labels of whole utterances."""
        from spoofspan.formats.sources import sources
        from spoofspan.formats.text.protocol import read_utterance_labels

        if inputs.dataset is not None or inputs.references is None or inputs.reference_format is not None:
            return inputs.read_known()[0]
        found = sources(inputs.references)
        known = looks_like(found[0])
        if len(found) == 1 and "utterance labels" in known and "references" not in known:
            return read_utterance_labels(found[0])
        return inputs.references_from(found[0] if inputs.references == "-" else inputs.references)


takes_utterance_scores = o.takes("more", get_type_hints(UtteranceInputs, include_extras=True), UtteranceInputs)
