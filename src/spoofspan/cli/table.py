"""``spoofspan table``: the paper's Tables 3 and 4 for any set of systems, and measures of whole utterances."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spoofspan.base.errors import UsageError
from spoofspan.base.lazy import LazyMapping
from spoofspan.cli import options as o
from spoofspan.cli.inputs import ProposalFlags, VerificationInputs
from spoofspan.cli.system_inputs import SeveralSets, Systems

if TYPE_CHECKING:
    from spoofspan.data.references import References
    from spoofspan.evaluation.resolution_table import ResolutionTable
    from spoofspan.formats.datasets.systems import SystemFile


def table(
    *,
    systems: SeveralSets,
    measure: list[str] | None = o.measure_flag(
        None,
        "A further column, such as event-f1@iou=0.5 or event-psds. May be repeated; proposals and scores of whole "
        "utterances have no other columns.",
    ),
    resolutions: str | None = o.flag(None, "Lengths of the points in ms: 10,20,40 (default: the paper's)."),
    label_sources: str = o.flag(
        "one",
        "one, or nii-2023: ranges and segment label arrays mixed, as the published scripts do.",
        of=["one", "nii-2023"],
    ),
    segment_labels: str | None = o.flag(None, "For nii-2023 without --dataset: 'dev_seglab_{resolution}.npy'."),
    floor: bool = o.flag(True, "Show the floor of each hop: the range EER of a perfect system."),
    decimals: int = o.flag(2, "Digits after the point.", min=0, max=6),
    sd: bool = o.flag(False, "Show the standard deviation over seeds with each mean.", "--sd"),
    bold: bool = o.flag(False, "Mark the best number of each column, in Markdown, HTML and LaTeX.", "--bold"),
    letters: bool = o.flag(
        False,
        "Show letters: systems of a column that share one do not differ significantly, as in compare.",
        "--letters",
    ),
    rows: str | None = o.flag(None, "Show these rows only, in this order: ours,theirs (in text, not in JSON)."),
    columns: str | None = o.flag(None, "Show these columns only, in this order: range,20,160 (in text, not in JSON)."),
    caption: str | None = o.flag(None, "latex: caption of the table instead of the default."),
    tex_label: str = o.flag("tab:resolutions", "latex: the label of the table, for cross-references."),
    published: bool = o.flag(
        False,
        "Also show published numbers, and which rules differ; without SCORES, list all of them.",
        "--published",
    ),
    heatmap: Path | None = o.flag(None, "Also draw the table, to this .png, .svg or .pdf file."),
    scores_are: o.ScoresAre = None,
    metadata: o.Metadata = None,
    proposals: ProposalFlags,
    bootstrap: o.BootstrapOptions,
    verification: VerificationInputs,
    output: o.Output,
    full_signature: o.FullSignature = False,
    rules: o.PointRules,
) -> None:
    """Measure systems at several resolutions.

    The paper's Tables 3 and 4: one row per training resolution or system; range EER, point EERs, the floor of the hop;
    means over seeds; several sets side by side; intervals with --confidence. Scores of whole utterances, with a
    protocol or labels as REFERENCES, have one column for each --measure (utterance-eer by default).

    For example:

      spoofspan table ref.rttm 'unit{resolution}.score' --durations reco2dur

      spoofspan table ref.rttm '{system}/unit0.02.score' --durations reco2dur --format latex

      spoofspan table ref.rttm 'ours=a/seed*.score' 'theirs=b/seed*.score' --durations reco2dur --sd --letters

      spoofspan table '{set}.rttm' '{set}/{seed}/unit{resolution}.score' --set dev --set eval

      spoofspan table --dataset 'partialspoof:database:{set}' results --set dev --set eval --heatmap table.pdf

      spoofspan table ref.rttm 'unit{resolution}.score' --durations reco2dur --published

      spoofspan table ref.rttm 'unit{resolution}.score' --durations reco2dur -m event-collar-best-f1 -m event-psds

      spoofspan table protocol.txt a=a_scores.tsv b=b_scores.tsv -m utterance-min-tdcf --asv-scores asv.txt

      spoofspan table metadata.json ours=a.json theirs=b.json -m event-ap@iou=0.5 -m event-ar@n=20
    """
    from spoofspan.evaluation.resolution_table import PAPER_RESOLUTIONS, resolution_table
    from spoofspan.formats.datasets.systems import fill_in_set
    from spoofspan.report.resolutions import TableLook, check_alike, render, select_rows
    from spoofspan.uncertainty.comparison import letters_of

    o.must_be_free(heatmap, force=output.force)
    verification.check(measure)
    if published and not systems.words and systems.typed.references is None and systems.typed.dataset is None:
        from spoofspan.report.published import published as register
        from spoofspan.report.published import published_table

        output.show([one.to_dict() for one in register()], [published_table()])
        return
    if heatmap is not None:
        from spoofspan.report.figures.style import must_be_drawable

        must_be_drawable(heatmap)
    if not systems.sets and systems.names_sets():
        raise UsageError("{set} stands for the name of a set: give --set, for example --set dev --set eval")
    if len(systems.sets) > 1 and not systems.names_sets():
        raise UsageError("several sets need {set} in REFERENCES or --dataset, where their names are filled in")
    points = PAPER_RESOLUTIONS if resolutions is None else o.resolutions_in(resolutions, "--resolutions")
    tables: dict[str, ResolutionTable] = {}
    found_letters: dict[str, dict[str, dict[str, str]]] = {}
    for name in systems.sets or ("",):
        of_set = systems.of_set(name or None)
        if of_set.of_utterances:
            _refuse_time(resolutions, heatmap, label_sources)
        truth = of_set.truth()
        files = of_set.files()
        labels = _segment_labels(of_set, files, label_sources, segment_labels and fill_in_set(segment_labels, name))
        said = of_set.rows(files, proposals.fps)
        arguments: dict[str, Any] = {
            "scores_are": scores_are,
            "asv_scores": verification.read_asv(truth),
            **proposals.arguments(),
            **rules,
        }
        clusters = metadata or of_set.metadata(), of_set.typed.bare_ids
        tables[name] = resolution_table(
            truth,
            said,
            points,
            measure or (),
            label_sources=label_sources,  # type: ignore[arg-type] # checked there
            segment_labels=labels,
            resampling=None if letters and bootstrap.confidence is None else bootstrap.resampling_if_asked(*clusters),
            **arguments,
        )
        if letters:
            if labels is not None:
                raise UsageError("--letters compares systems against one set of labels; leave out --label-sources")
            how = arguments | vars(bootstrap.resampling(*clusters))
            found_letters[name] = letters_of(truth, said, tables[name], how)  # type: ignore[arg-type] # kinds that are mixed are refused
    check_alike(tables)
    width = shutil.get_terminal_size().columns if output.out is None and sys.stdout.isatty() else None
    if rows is not None:
        tables = select_rows(tables, o.words_in(rows))
    look = TableLook(
        decimals,
        floor,
        deviations=sd,
        bold=bold,
        letters=found_letters or None,
        columns=tuple(o.words_in(columns or "")),
        caption=caption or "",
        label=tex_label,
        width=width,
        full_signature=full_signature,
    )
    if published:
        from spoofspan.report.published import Beside, own_rows, render_beside

        under: dict[str, Any] = {"data": systems.typed.dataset or "", "decimals": decimals}
        beside = Beside(*own_rows(tables), rules, label_sources, **under)
        output.deliver(render_beside(tables, output.format, look, beside))
    else:
        output.deliver(render(tables, output.format, look))
    if heatmap is not None:
        from spoofspan.report.figures import plots
        from spoofspan.report.figures.style import OURS, save

        save(plots.heatmap(tables, style=OURS, decimals=decimals), heatmap, output.force)


def _refuse_time(resolutions: str | None, heatmap: Path | None, label_sources: str) -> None:
    """Refuse what scores of whole utterances have not, before they are measured."""
    for flag, typed in (
        ("--resolutions", resolutions is not None),
        ("--heatmap", heatmap is not None),
        ("--label-sources", label_sources != "one"),
    ):
        if typed:
            raise UsageError(f"{flag} is about points in time, and these are scores of whole utterances; leave it out")


def _segment_labels(
    systems: Systems, files: list[SystemFile], label_sources: str, pattern: str | None
) -> Mapping[float, References] | None:
    """The label arrays by hop, each read when it is looked up; None where ranges are the one source of labels."""
    from spoofspan.formats.datasets.systems import matching

    if label_sources != "nii-2023":
        if pattern is not None:
            raise UsageError("--segment-labels goes with --label-sources nii-2023")
        return None
    hops = dict.fromkeys(one.resolution for one in files if one.resolution is not None)
    if pattern is not None:
        arrays = {one.resolution: one.path for one in matching(pattern)}
        return LazyMapping([hop for hop in hops if hop in arrays], lambda hop: systems.labels(arrays[hop]))
    if systems.typed.dataset is None:
        raise UsageError("--label-sources nii-2023 needs --dataset, or --segment-labels 'dev_seglab_{resolution}.npy'")
    return LazyMapping(hops, systems.segment_labels)
