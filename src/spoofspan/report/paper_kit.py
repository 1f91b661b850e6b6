r"""Files for a paper: table, figures, methods section and appendix, in the type and width of a venue.

``paper.tex`` shows all of them and compiles by itself; the parts are meant to be included from a paper of one's own.
Figures have the width of a column, so they are included without scaling, and their type is that of Times, 7 pt or more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spoofspan.base.errors import UsageError
from spoofspan.base.progress import progress
from spoofspan.base.times import SECOND
from spoofspan.base.version import __version__
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.evaluation.resolution_table import PAPER_RESOLUTIONS, ResolutionTable, resolution_table
from spoofspan.measures.measure import short_measure
from spoofspan.report.latex import latex_text
from spoofspan.report.resolutions import TableLook, render, spaced
from spoofspan.uncertainty.clusters import Resampling
from spoofspan.uncertainty.comparison import Comparison, letters_of
from spoofspan.uncertainty.comparison import compare as compare_systems
from spoofspan.uncertainty.sentences import scope

MAIN = "paper.tex"
CITE = "zhang2023range"


@dataclass(frozen=True)
class Venue:
    """The class of a venue's papers, and the width of a column in mm."""

    preamble: str
    column: float


VENUES = {
    "ieeetran": Venue(r"\documentclass[conference]{IEEEtran}", 88.0),
    # the kit of Interspeech is no package: the same page by standard means
    "interspeech": Venue(
        r"\documentclass[twocolumn,a4paper,10pt]{article}"
        "\n"
        r"\usepackage[total={170mm,235mm},columnsep=10mm]{geometry}"
        "\n"
        r"\usepackage{mathptmx}",
        80.0,
    ),
}
STYLE = {
    "font.family": "STIXGeneral",  # Times, and ships with matplotlib
    "mathtext.fontset": "stix",
    "font.size": 9.0,  # the smallest type of a figure is 5.5/7 of it
    "axes.labelsize": 8.0,
    "axes.titlesize": 8.0,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7.5,
}

System = Scores | Mapping[str, Scores]  # scores, or scores by seed


@dataclass(frozen=True)
class PaperKit:
    """Systems measured for a paper.

    Parameters
    ----------
    references, systems
        The labels, and the scores of each system by name, and by seed if it has several.
    venue
        A name in ``VENUES``.
    utterance
        The utterance of the figures; without it, a short one with spoof of which a part is found and a part is missed.
    resolutions
        Lengths of points in seconds.
    resampling, arguments
        How intervals are made, and how systems are measured.

    """

    references: References
    systems: Mapping[str, System]
    venue: Venue
    utterance: str | None = None
    resolutions: tuple[float, ...] = PAPER_RESOLUTIONS
    resampling: Resampling = field(default_factory=Resampling)
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def files(self) -> dict[str, bytes]:
        """The content of each file by its name."""
        table = resolution_table(
            self.references, self.systems, self.resolutions, resampling=self.resampling, **self.arguments
        )
        how = {**self.arguments, **vars(self.resampling)}
        several = len(self.systems) > 1
        with progress("comparing systems"):
            compared = compare_systems(self.references, self.systems, **how) if several else None
        letters = {"": letters_of(self.references, self.systems, table, how)} if several else None
        look = TableLook(deviations=True, bold=several, letters=letters)
        texts = {
            "table.tex": render({"": table}, "latex", look),
            "methods.tex": "\n".join(self._methods(table, compared)) + "\n",
            "appendix.tex": "\n".join(_appendix(table)) + "\n",
        }
        figures = dict(self._figures(table))
        texts["figures.tex"] = "\n".join(_floats({name: caption for name, (_, caption) in figures.items()})) + "\n"
        texts[MAIN] = self._main()
        found = {name: text.encode() for name, text in texts.items()}
        return found | {f"{name}.pdf": content for name, (content, _) in figures.items()}

    # ------------------------------------------------------------ figures

    def _figures(self, table: ResolutionTable) -> Iterator[tuple[str, tuple[bytes, str]]]:
        """Each figure by name, with its caption."""
        from spoofspan.report.figures import plots
        from spoofspan.report.figures.style import OURS, to_bytes

        look: dict[str, Any] = {"style": [OURS, STYLE], "width": self.venue.column}
        measuring = {name: value for name, value in self.arguments.items() if value is not None}

        def drawn(plot: Any, *given: Any, **more: Any) -> bytes:
            axes = plot(*given, **look, **more)
            figure = getattr(axes, "figure", axes)
            try:
                return to_bytes(figure, "pdf")
            finally:
                from matplotlib import pyplot

                pyplot.close(figure)

        by_seed = {name: one if isinstance(one, Mapping) else {"": one} for name, one in self.systems.items()}
        first = {name: next(iter(seeds.values())) for name, seeds in by_seed.items()}
        shown = next((next(iter(seeds)) for seeds in by_seed.values() if len(seeds) > 1), None)
        of_seeds = "" if shown is None else f", of the seed {shown}"
        caption = f"DET curves of durations{of_seeds}. Dots: equal error rates."
        yield "det", (drawn(plots.det, self.references, first, **measuring), caption)
        if len(self.resolutions) > 1:
            caption = "Point-based EER over the resolution; lines: range-based EER."
            yield "resolution", (drawn(plots.resolution, table), caption)
        name, scores = next(iter(first.items()))
        if scores.hop is not None:
            chosen = self.utterance or _telling_utterance(self.references, scores, measuring)
            place = (self.references, scores, chosen)
            of = f"system {name}, utterance {chosen}"
            caption = f"The same utterance counted in points of {spaced(scores.hop)} and measured in ranges ({of})."
            yield "measurement", (drawn(plots.measurement, *place, **measuring), caption)
            caption = (
                f"Labels, scores and decisions (+ spoof, \u2212 bona fide) at finer and coarser resolutions ({of}). "
                "Dashed: threshold."
            )
            yield "resampling", (drawn(plots.resampling, *place, **measuring), caption)

    # ------------------------------------------------------------ text

    def _methods(self, table: ResolutionTable, compared: Comparison | None) -> Iterator[str]:
        """Sentences on what was measured and under which rules."""
        first = next(next(iter(table.rows[0].cells))[1].measurements[seed] for seed in table.rows[0].seeds)
        points = ", ".join(f"{1000 * one:g}" for one in table.resolutions)
        hours = [f"{count / SECOND / 3600:.2f}" for count in (first.point.bona_fide, first.point.spoof)]
        yield rf"We report the range-based equal error rate (EER)~\cite{{{CITE}}}" + (
            rf" and point-based EERs at {points}\,ms" if points else ""
        )
        yield rf"on {first.utterances:,} utterances ({hours[0]}\,h bona fide and {hours[1]}\,h spoofed speech),"
        yield rf"computed exactly with spoofspan {latex_text(__version__)}."
        yield latex_text(f"The EER is computed by the rule {first.eer_rule}, under the convention {first.convention}.")
        for entry_name, entry in first.touched.items():
            yield latex_text(
                f"The rule {entry_name} = {entry.value} decided {entry.seconds:.2f} s in {entry.utterances:,} of them."
            )
        if not first.touched:
            yield "No rule had to decide about time without a label or a score."
        if max(len(row.seeds) for row in table.rows) > 1:
            yield f"Numbers are means over {max(len(row.seeds) for row in table.rows)} training seeds."
        found = next(next(iter(row.cells))[1].interval for row in table.rows)
        if found is not None:
            over = f"over {found.drawn_by}s" if found.drawn_by in ("speaker", "utterance") else f"by {found.drawn_by}"
            yield latex_text(
                f"Intervals are {100 * found.level:g} % confidence intervals {over} ({found.method}), "
                f"{scope(found.estimand)}."
            )
        if compared is not None:
            yield latex_text(
                "Differences between systems are tested in pairs on the same data, two-sided, with p adjusted for the "
                "number of comparisons by step-down max-T."
            )
            yield latex_text(f"Result: {compared.verdict}")

    def _main(self) -> str:
        lines = [
            "% needs spoofspan's files beside it; compile with pdflatex",
            self.venue.preamble,
            r"\usepackage[T1]{fontenc}",
            r"\usepackage{booktabs,graphicx}",
            r"\begin{document}",
            r"\title{Results}\author{}\maketitle",
            r"\section{Method}",
            r"\input{methods}",
            r"\input{table}",
            r"\input{figures}",
            r"\appendix",
            r"\section*{Signatures}",
            r"\input{appendix}",
            r"\begin{thebibliography}{1}",
            rf"\bibitem{{{CITE}}} L. Zhang, X. Wang, E. Cooper, N. Evans, and J. Yamagishi, ``Range-based equal error",
            r"rate for spoof localization,'' in \emph{Proc. Interspeech}, 2023, pp. 3212--3216.",
            r"\end{thebibliography}",
            r"\end{document}",
        ]
        return "\n".join(lines) + "\n"


def _floats(captions: Mapping[str, str]) -> Iterator[str]:
    r"""The floats of figures, which have their width already."""
    for name, caption in captions.items():
        yield r"\begin{figure}[t]"
        yield rf"\centering\includegraphics{{{name}}}"
        yield rf"\caption{{{latex_text(caption)}}}"
        yield rf"\label{{fig:{name}}}"
        yield r"\end{figure}"


def _appendix(table: ResolutionTable) -> Iterator[str]:
    """Signatures: the comparable part of each measure, then the hash of the scores of each system and seed."""
    yield "Numbers of other systems may be compared with ours if the first part of their signatures is the same."
    yield r"\texttt{spoofspan verify} repeats a measurement from its signature, the labels and the scores."
    yield r"\par\medskip"
    first = table.rows[0]
    for _, cell in first.cells:
        (measured, *_) = cell.measurements.values()
        yield _signature(short_measure(measured.measure), measured.signature.short_comparable)
    for row in table.rows:
        (_, cell), *_ = row.cells
        for seed, measured in cell.measurements.items():
            name = f"{row.name}, seed {seed}" if len(cell.measurements) > 1 else row.name
            yield _signature(name, measured.signature.input)


def _signature(name: str, text: str) -> str:
    r"""A paragraph with a name and a signature, which may be broken after its bars and colons."""
    broken = r"\textbar\allowbreak{}".join(map(latex_text, text.split("|")))
    return rf"{{\raggedright\hangindent=1em\noindent\footnotesize {latex_text(name)}: \texttt{{{broken}}}\par}}"


def _telling_utterance(references: References, scores: Scores, measuring: Mapping[str, Any]) -> str:
    """The shortest utterance with errors of both classes at the EER threshold; else the shortest with spoof."""
    from spoofspan.measures.per_utterance import errors_by_utterance

    found = errors_by_utterance(references, scores, **measuring)
    length = found.bona_fide + found.spoof
    both = (found.false_positive > 0) & (found.false_negative > 0)
    for wanted in (both, found.spoof > 0):
        if wanted.any():
            return str(found.utterances[int(np.flatnonzero(wanted)[np.argmin(length[wanted])])])
    raise UsageError("no utterance has spoof; the figures of one utterance need one")
