"""``spoofspan diff-references``: how two references of one corpus differ."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from spoofspan.cli import completion
from spoofspan.cli import options as o


def diff_references(
    a: Annotated[str, typer.Argument(metavar="A", help="One reference of the corpus.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another reference of the same corpus.")],
    format_a: str | None = o.flag(None, "Format of A, if not recognised.", of=completion.reference_formats),
    format_b: str | None = o.flag(None, "Format of B, if not recognised.", of=completion.reference_formats),
    durations: o.Durations = None,
    hop: float | None = o.flag(None, "Spacing of label arrays in seconds."),
    most: int = o.flag(10, "How many utterances to list.", min=0),
    output: o.OutputFormat = o.Output.text,
    out: o.Out = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Compare two references of one corpus.

    Prints the agreement by label, the shift, and the effect of the difference on an EER.

    For example:

      spoofspan diff-references a.rttm dev_seglab_0.02.npy --durations reco2dur
    """
    from spoofspan.evaluation.reference_diff import diff_references as compare
    from spoofspan.formats.reading import read_references
    from spoofspan.report.results import difference_dict, difference_table

    o.must_be_free(out, force=force)
    read = partial(read_references, durations=durations, hop=hop)
    found = compare(read(a, format=format_a), read(b, format=format_b))
    o.show(difference_dict(found, most), [difference_table(found, most)], output, out, force)
