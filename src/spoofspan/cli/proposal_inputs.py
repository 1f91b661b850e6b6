"""What eval is told about proposals: a file of them in the place of scores, or how they are made of scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from spoofspan.base.errors import UsageError
from spoofspan.cli import options as o
from spoofspan.cli.inputs import Inputs, looks_like

if TYPE_CHECKING:
    from spoofspan.data.proposals import Proposals
    from spoofspan.data.references import References
    from spoofspan.data.scores import Scores

MEANINGLESS = ("higher", "column", "label2id")


@dataclass(frozen=True)
class ProposalOptions:
    """How proposals are read or made."""

    smoothing: Annotated[
        int | None,
        typer.Option("--smoothing", "--smooth", help="Events: median filter over so many frames (odd)."),
    ] = None
    merge_gap: Annotated[
        float | None, typer.Option("--merge-gap", help="Events: bridge gaps of up to this many seconds.")
    ] = None
    min_duration: Annotated[
        float | None, typer.Option("--min-duration", help="Events: drop proposals that are shorter (seconds).")
    ] = None
    fps: Annotated[float | None, typer.Option("--fps", help="Times of proposals are frames, so many per second.")] = (
        None
    )

    def arguments(self) -> dict[str, Any]:
        """What was given, as arguments of ``evaluate``."""
        made = {"smoothing": self.smoothing, "merge_gap": self.merge_gap, "min_duration": self.min_duration}
        return {name: value for name, value in made.items() if value is not None}

    def streams(self, inputs: Inputs, stream: bool | None) -> bool:
        """Whether to read shard by shard, as it was typed or as the files need it; proposals cannot be."""
        if _file_of_proposals(inputs) is not None:
            if stream:
                raise UsageError("--stream goes with scores, and these are proposals; leave it out")
            return False
        wanted = inputs.too_large() if stream is None else stream
        if wanted and self.arguments():
            raise UsageError(
                f"--{next(iter(self.arguments())).replace('_', '-')} is for event measures, which need the corpus in "
                "memory; use --no-stream"
            )
        return wanted

    def read(self, inputs: Inputs) -> tuple[References, Scores | Proposals]:
        """Read both sides."""
        where = _file_of_proposals(inputs)
        if where is None:
            if self.fps is not None:
                raise UsageError(
                    "--fps says how times of proposals are counted, and these are no proposals; leave it out"
                )
            return inputs.read()
        from spoofspan.formats.reading import read_proposals

        for name in MEANINGLESS:
            if getattr(inputs, name) is not None:
                raise UsageError(f"--{name} speaks of scores, and {where} has proposals; leave it out")
        if inputs.dataset is not None:
            inputs = replace(inputs, references=None, hop=None)
        references, _ = replace(inputs, scores=None, scores_format=None).read_known()
        return references, read_proposals(where, fps=self.fps)


def _file_of_proposals(inputs: Inputs) -> str | None:
    """What was typed as SCORES, if it is or shall be read as proposals."""
    where = inputs.scores
    if inputs.dataset is not None and where is None:  # the only word typed
        where = inputs.references
    if where is None or inputs.scores_format not in (None, "proposals"):
        return None
    known = {"proposals"} if inputs.scores_format is not None else looks_like(where)
    return where if "proposals" in known and "scores" not in known else None


takes_proposals = o.takes("proposals", get_type_hints(ProposalOptions, include_extras=True), ProposalOptions)
