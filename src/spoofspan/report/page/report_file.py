"""The page of ``spoofspan report``, written to a file from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from spoofspan.data.front_door import RulesAndInputs, opens_inputs, separate_seeds
from spoofspan.data.scores import Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.formats.writing import check_target, write_atomically
from spoofspan.report.page.content import PageSettings, page_content
from spoofspan.report.page.rendering import render_page
from spoofspan.uncertainty.clusters import Resampling

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from spoofspan.data.utterance_scores import VerificationScores
    from spoofspan.evaluation.utterances import Truth
    from spoofspan.measures.costs import VerificationErrors
    from spoofspan.measures.measure import ScoresAre

Said = Scores | UtteranceScores


@opens_inputs
def write_report(
    references: Truth,
    systems: Said | Mapping[str, Said | Mapping[str, Said]],
    target: str | PathLike[str],
    *,
    title: str | None = None,
    by: Mapping[str, Mapping[str, str]] | None = None,
    measures: Sequence[str] = (),
    timelines: int | None = None,
    scores_are: ScoresAre | None = None,
    asv_scores: VerificationScores | VerificationErrors | None = None,
    published: str | None = None,
    resampling: Resampling | None = None,
    force: bool = False,
    convention: str = "default",
    eer_rule: str | None = None,
    **rules: Unpack[RulesAndInputs],
) -> None:
    """Write one HTML file that shows where systems err, as ``spoofspan report`` does.

    Parameters
    ----------
    references
        Reference labels; for scores of whole utterances also a protocol, or a label by utterance.
    systems
        The scores of one system, or of several by their names. Several seeds, name -> seed -> scores, are shown as
        systems of their own, ``name/seed``. Scores of whole utterances have no timelines and no resolutions.
    target
        The file, which ends in .html.
    title
        Title of the page.
    by
        Breakdowns by metadata: name of the column -> utterance -> value.
    measures
        Further measures, such as ``event-f1@iou=0.5``.
    timelines
        How many utterances are shown; None: 240, or fewer with many systems. With 0, the page holds no labels and can
        be published.
    scores_are, asv_scores
        For measures that need them, as in :func:`spoofspan.evaluate`.
    published
        Show the systems among published numbers: the name of the database ("partialspoof"), or "" for all numbers.
    resampling
        How the intervals are drawn.
    force
        Replace an existing file.
    convention, eer_rule, **rules
        As in :func:`spoofspan.range_eer`.

    Raises
    ------
    UsageError
        If the file is there already, and ``force`` is not set.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from spoofspan import demo
    >>> corpus = demo.load()
    >>> with TemporaryDirectory() as folder:
    ...     write_report(corpus.references, {"ours": corpus.systems[0.02]}, Path(folder) / "page.html")
    ...     (Path(folder) / "page.html").read_text(encoding="utf-8")[:15]
    '<!DOCTYPE html>'

    """
    check_target(Path(target).expanduser(), force)
    named = dict(separate_seeds({"system": systems} if isinstance(systems, Scores | UtteranceScores) else systems))
    settings = PageSettings(
        title,
        resampling=resampling or Resampling(replicates=1000),
        columns=by or {},
        timelines=timelines,
        measures=measures,
        scores_are=scores_are,
        asv_scores=asv_scores,
        published=published,
        arguments={"convention": convention, "eer_rule": eer_rule, **rules},
    )
    write_atomically(Path(target), [render_page(page_content(references, named, settings)).encode()], force)
