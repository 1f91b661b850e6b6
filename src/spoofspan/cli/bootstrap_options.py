"""Flags of the bootstrap: how test sets of the same kind are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from spoofspan.base.errors import UsageError
from spoofspan.cli import options as o
from spoofspan.cli.completion import among

if TYPE_CHECKING:
    from spoofspan.uncertainty import Resampling
    from spoofspan.uncertainty.clusters import Method


@dataclass(frozen=True)
class Drawing:
    """What was typed; None: nothing."""

    confidence: float | None = None
    cluster: str | None = None
    replicates: int | None = None
    interval: str | None = None
    seed: int | None = None
    workers: int | None = None

    def asked_for(self) -> bool:
        """Whether intervals are wanted; flags that only make sense with them are refused without."""
        if self.confidence is not None:
            return True
        others = {
            "--cluster": self.cluster,
            "--replicates": self.replicates,
            "--interval": self.interval,
            "--seed": self.seed,
            "--workers": self.workers,
        }
        for flag, value in others.items():
            if value is not None:
                raise UsageError(f"{flag} goes with --confidence, as in --confidence 0.95")
        return False

    def resampling(self, metadata: str | None, replicates: int | None = None) -> Resampling:
        """Settle what is drawn: a column of the metadata, speakers if these know them, utterances otherwise.

        ``replicates`` are as many as are drawn if nothing is said.
        """
        from spoofspan.formats.text.metadata import read_clusters
        from spoofspan.uncertainty import Resampling

        told: dict[str, Any] = {
            "confidence": self.confidence,
            "replicates": self.replicates or replicates,
            "method": cast("Method | None", self.interval),
            "seed": self.seed,
            "workers": self.workers,
        }
        clusters = read_clusters(metadata, self.cluster)
        if clusters is not None:
            told |= {"clusters_are": clusters[0], "clusters": clusters[1]}
        return Resampling(**{name: value for name, value in told.items() if value is not None})


takes_drawing = o.takes(
    "drawing",
    {
        "confidence": Annotated[
            float | None, typer.Option("--confidence", help="Level of the intervals, such as 0.95.")
        ],
        "cluster": Annotated[
            str | None,
            typer.Option(
                "--cluster",
                help="What is drawn: a column of --metadata, or utterance. Speakers, where --metadata know them.",
                autocompletion=among(lambda: ("speaker", "utterance")),
            ),
        ],
        "replicates": Annotated[int | None, typer.Option("--replicates", help="How many draws; 2000.")],
        "interval": Annotated[
            str | None,
            typer.Option("--interval", help="percentile or bca.", autocompletion=among(lambda: ("percentile", "bca"))),
        ],
        "seed": Annotated[int | None, typer.Option("--seed", help="Of the draws; 0.")],
        "workers": Annotated[int | None, typer.Option("--workers", help="Threads; the numbers are the same.")],
    },
    Drawing,
)
