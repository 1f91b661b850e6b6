"""``spoofspan diff-references``: how two references of one corpus differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from spoofspan.base.errors import DataError
from spoofspan.cli import completion
from spoofspan.cli import options as o

if TYPE_CHECKING:
    from spoofspan.data.references import References


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

    def read(where: str, form: str | None, flag: str) -> References:
        try:
            return read_references(where, durations=durations, hop=hop, format=form)
        except DataError as error:
            raise DataError(str(error).replace("--reference-format", flag)) from None

    found = compare(read(a, format_a, "--format-a"), read(b, format_b, "--format-b"))
    o.show(difference_dict(found, most), [difference_table(found, most)], output, out, force)
