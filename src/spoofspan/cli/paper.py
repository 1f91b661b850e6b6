"""``spoofspan paper``: table, figures, methods section and appendix of a paper."""

from __future__ import annotations

from pathlib import Path

from spoofspan.base.errors import UsageError
from spoofspan.cli import options as o
from spoofspan.cli.system_inputs import OneSet


def paper(
    *,
    systems: OneSet,
    out: Path = o.flag(..., "The folder to write.", show_default=False),
    venue: str = o.flag("ieeetran", "ieeetran or interspeech: class and column width.", of=["ieeetran", "interspeech"]),
    resolutions: str | None = o.flag(None, "Lengths of the points in ms: 10,20,40 (default: the paper's)."),
    utterance: str | None = o.flag(None, "The utterance of the figures that show one.", show_default="chosen"),
    metadata: o.Metadata = None,
    bootstrap: o.BootstrapOptions,
    force: o.Force = False,
    quiet: o.Quiet = False,
    rules: o.PointRules,
) -> None:
    """Write the table, figures, methods and signatures of a paper.

    table.tex has means and standard deviations over seeds, intervals, the best system in bold, and letters of
    significance; figures.tex the figures in the type and width of the venue; methods.tex the rules in sentences;
    appendix.tex the signatures. paper.tex includes all of them and compiles by itself.

    For example:

      spoofspan paper ref.rttm 'sys/{system}_seed{seed}.score' --durations reco2dur --out paper

      spoofspan paper ref.rttm ours=a.score theirs=b.score --durations reco2dur --metadata protocol.txt --out paper

      spoofspan paper ref.rttm 'ours=a/seed*.score' --durations reco2dur --venue interspeech --out paper
    """
    from spoofspan.base.errors import nearest_name
    from spoofspan.evaluation.resolution_table import PAPER_RESOLUTIONS
    from spoofspan.formats.writing import write_atomically
    from spoofspan.report.figures.style import must_be_drawable
    from spoofspan.report.paper_kit import MAIN, VENUES, PaperKit

    if venue not in VENUES:
        raise UsageError(f"--venue {venue}: {nearest_name(venue, VENUES)}")
    if out.is_file() or (out.is_dir() and any(out.iterdir()) and not force):
        raise UsageError(f"{str(out)!r} is not empty; choose another folder, or give --force to write into it")
    must_be_drawable(Path("figure.pdf"))
    if systems.of_utterances:
        raise UsageError("paper is about scores in time, and these are of whole utterances; table and plot take them")
    references, found = systems.read_trained(1)
    if utterance is not None and utterance not in references.utterances:  # type: ignore[union-attr]
        raise UsageError(f"--utterance {utterance}: {nearest_name(utterance, references.utterances)}")  # type: ignore[union-attr]
    points = PAPER_RESOLUTIONS if resolutions is None else tuple(o.resolutions_in(resolutions, "--resolutions"))
    kit = PaperKit(
        references,  # type: ignore[arg-type] # scores in time have references
        found,  # type: ignore[arg-type] # proposals are refused when they are measured
        VENUES[venue],
        utterance,
        points,
        bootstrap.resampling(metadata or systems.metadata(), systems.typed.bare_ids),
        rules,
    )
    contents = kit.files()
    out.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        write_atomically(out / name, [content], True)
    o.say([f"{len(contents)} files written to {out}; compile {out / MAIN}"])
