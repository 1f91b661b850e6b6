"""``spoofspan diff-references``: how two references of one corpus differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from spoofspan.base.errors import DataError, UsageError
from spoofspan.cli import completion
from spoofspan.cli import options as o

if TYPE_CHECKING:
    from spoofspan.data.references import References


def diff_references(
    *,
    a: Annotated[str, o.argument(metavar="A", help="One reference of the corpus.")],
    b: Annotated[str, o.argument(metavar="B", help="Another reference of the same corpus.")],
    format_a: str | None = o.flag(None, "Format of A, if not recognised.", of=completion.reference_formats),
    format_b: str | None = o.flag(None, "Format of B, if not recognised.", of=completion.reference_formats),
    durations: o.Durations = None,
    hop: float | None = o.flag(None, "Spacing of label arrays in seconds."),
    spoof_label: o.SpoofLabel = None,
    spoof_label_b: int | None = o.flag(None, "The same for B, if it differs.", of=["0", "1"]),
    most: int = o.flag(10, "Number of utterances to list.", min=0),
    output: o.Output,
) -> None:
    """Compare two references of one corpus.

    Prints the agreement by label, the shift, and the effect of the difference on an EER.

    For example:

      spoofspan diff-references a.rttm dev_seglab_0.02.npy --durations reco2dur
    """
    from spoofspan.evaluation.reference_diff import diff_references as compare
    from spoofspan.formats.format import ReadOptions
    from spoofspan.formats.identify import MisplacedFileError
    from spoofspan.formats.reading import choose_format, read_references
    from spoofspan.formats.registry import REFERENCE_FORMATS
    from spoofspan.report.results import difference_dict, difference_table

    def read(where: str, form: str | None, flag: str, spoof: int | None) -> References:
        try:
            # of an RTTM and an array of 0 and 1, the flag is about the array
            takes = choose_format(REFERENCE_FORMATS, where, form, ReadOptions(hop=hop))[1].takes
            told = spoof if "spoof_label" in takes else None
            return read_references(where, durations=durations, hop=hop, format=form, spoof_label=told)
        except (DataError, MisplacedFileError) as error:
            kind = DataError if isinstance(error, DataError) else UsageError
            raise kind(str(error).replace("--reference-format", flag)) from None

    second = spoof_label if spoof_label_b is None else spoof_label_b
    found = compare(read(a, format_a, "--format-a", spoof_label), read(b, format_b, "--format-b", second))
    output.show(difference_dict(found, most), [difference_table(found, most)])
