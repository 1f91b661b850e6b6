"""How ranges are made of scores: options of eval, convert, plot and report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spoofspan.cli import options as o

if TYPE_CHECKING:
    from spoofspan.data.proposals import Proposals
    from spoofspan.data.references import References
    from spoofspan.data.scores import Scores


@dataclass(frozen=True)
class RangeOptions:
    """Besides the threshold."""

    smoothing: int | None = o.typed_flag(
        "Ranges: median filter over this many frames (odd).", "--smoothing", "--smooth"
    )
    merge_gap: float | None = o.typed_flag("Ranges: bridge gaps of up to this many seconds.")
    min_duration: float | None = o.typed_flag("Ranges: drop those that are shorter (seconds).")

    def arguments(self) -> dict[str, Any]:
        """What was given, as arguments of the functions that make ranges."""
        names = RangeOptions.__dataclass_fields__
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    def refuse_any(self, why: str) -> None:
        """Refuse options that mean nothing here."""
        o.refuse_typed(self, self.arguments(), why)

    def called(self, scores: Scores, threshold: float, durations: str | None) -> References:
        """What scores call spoof and bona fide, said on stderr."""
        from spoofspan.evaluation.cautions import note_called
        from spoofspan.measures.events.proposals_from_scores import called_ranges

        called = called_ranges(scores, threshold, **self._known(durations))
        o.say(note_called(scores, threshold, called))
        return called

    def proposed(self, scores: Scores, threshold: float, durations: str | None) -> Proposals:
        """What scores call spoof, with confidences."""
        from spoofspan.measures.events.proposals_from_scores import proposals_from_scores

        return proposals_from_scores(scores, threshold, **self._known(durations))

    def _known(self, durations: str | None) -> dict[str, Any]:
        from spoofspan.formats.text.durations import read_durations

        known = None if durations is None else read_durations(durations)
        return {"durations": known, **self.arguments()}


takes_ranges = o.takes_options("ranges", RangeOptions)
