"""Flags of intervals: what is left out or resampled, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spoofspan.cli import options as o
from spoofspan.uncertainty.methods import DEFAULT_METHOD, METHODS

if TYPE_CHECKING:
    from spoofspan.formats.sources import Where
    from spoofspan.uncertainty import Resampling


@dataclass(frozen=True)
class BootstrapOptions:
    """The flags as they were typed, None for those that were not."""

    confidence: float | None = o.typed_flag("Level of intervals, such as 0.95.")
    cluster: list[str] | None = o.typed_flag(
        "What is resampled. A column of --metadata, or utterance; speaker,attack holds for new attacks too.",
        of=["speaker", "speaker,attack", "utterance"],
        show_default="speaker, if known",
    )
    interval: str | None = o.typed_flag(
        "jackknife-t, percentile or bca. The last two draw bootstrap replicates.",
        of=list(METHODS),
        show_default=DEFAULT_METHOD,
    )
    replicates: int | None = o.typed_flag("Number of bootstrap replicates.", show_default="2000")
    seed: int | None = o.typed_flag("Seed of the bootstrap.", show_default="0")
    workers: int | None = o.typed_flag("Number of threads of the bootstrap; the result is the same.")

    def resampling_if_asked(self, metadata: Where | Sequence[Where] | None, bare_ids: bool | None) -> Resampling | None:
        """How to resample, if intervals are asked for; flags that only make sense with them are refused without."""
        if self.confidence is not None:
            return self.resampling(metadata, bare_ids)
        o.refuse_typed(self, vars(self), "goes with --confidence, as in --confidence 0.95")
        return None

    def resampling(
        self, metadata: Where | Sequence[Where] | None, bare_ids: bool | None, replicates: int | None = None
    ) -> Resampling:
        """How to resample: a column of the metadata, speakers if it has them, utterances otherwise.

        ``replicates`` is their default number.
        """
        from spoofspan.uncertainty import Resampling

        told: dict[str, Any] = {name: getattr(self, name) for name in ("confidence", "seed", "workers")}
        told |= {"replicates": self.replicates or replicates, "method": self.interval}
        told |= cluster_arguments(metadata, self.cluster, bare_ids)
        return Resampling(**{name: value for name, value in told.items() if value is not None})


def cluster_arguments(
    metadata: Where | Sequence[Where] | None, typed: Sequence[str] | None, bare_ids: bool | None
) -> dict[str, Any]:
    """Which utterances belong together, as arguments: by columns of the metadata, or by speakers if it has them."""
    from spoofspan.data.bare_ids import with_bare_ids
    from spoofspan.formats.text.protocol import read_clusters

    factors = read_clusters(metadata, typed)
    if bare_ids:
        factors = {name: with_bare_ids(column) for name, column in factors.items()}
    if len(factors) != 1:
        return {"clusters": factors} if factors else {}
    ((name, column),) = factors.items()
    return {"clusters_are": name, "clusters": column}


takes_bootstrap = o.takes_options("bootstrap", BootstrapOptions)
