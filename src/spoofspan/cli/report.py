"""``spoofspan report``: one page that shows where a system errs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spoofspan.base.errors import UsageError
from spoofspan.cli import options as o
from spoofspan.cli.inputs import VerificationInputs
from spoofspan.cli.system_inputs import OneSet

if TYPE_CHECKING:
    from spoofspan.formats.sources import Where


def report(
    *,
    systems: OneSet,
    out: Path = o.flag(..., "The page to write.", show_default=False),
    title: str | None = o.flag(None, "Title of the page."),
    metadata: o.Metadata = None,
    measure: list[str] | None = o.measure_flag(
        None,
        "Also show a measure on the cards, in the leaderboard and by group: event-f1@iou=0.5. May be repeated.",
    ),
    by: list[str] | None = o.flag(
        None,
        "Also break the error down by a column of --metadata; may be repeated. Of whole utterances: attack and codec, "
        "if they are known.",
    ),
    audio: Path | None = o.flag(None, "Folder with a sound file for each utterance (ID.wav, ID.flac)."),
    embed: bool = o.flag(False, "Put the sound into the page; otherwise it is linked.", "--embed"),
    timelines: int | None = o.flag(
        None,
        "Number of utterances shown; 240, or fewer with many systems. With 0, the page holds no labels and few "
        "digits, and can be published.",
        min=0,
    ),
    threshold: float | None = o.flag(
        None, "Without REFERENCES: mark spoof at this threshold, on the scale of the scores."
    ),
    published: bool = o.flag(
        False, "Also show the systems among published numbers, and which rules differ.", "--published"
    ),
    scores_are: o.ScoresAre = None,
    ranges: o.RangeOptions,
    bootstrap: o.BootstrapOptions,
    verification: VerificationInputs,
    force: o.Force = False,
    quiet: o.Quiet = False,
    rules: o.PointRules,
) -> None:
    """Make a page of the errors of systems.

    The page is one file that opens from disk without a network. It has numbers with intervals, DET curves, a threshold
    to drag, errors by attack, length and boundary, and timelines of the worst, the median and random utterances.
    Several seeds of a system are shown as systems of their own, NAME/SEED. Scores of whole utterances, with a
    protocol or labels as REFERENCES, have no timelines and no resolutions. Without REFERENCES, the page shows what the
    scores call spoof at --threshold.

    For example:

      spoofspan report ref.rttm unit0.02.score --durations reco2dur --out report.html

      spoofspan report ref.rttm a.score b.score --metadata protocol.txt --by speaker --out report.html

      spoofspan report ref.rttm a.score --audio wav --embed --out report.html

      spoofspan report ref.rttm a.score b.score --timelines 0 --out public.html

      spoofspan report ref.rttm a.score b.score -m event-f1@iou=0.5 -m event-psds --durations reco2dur --out report.html

      spoofspan report protocol.txt a=a_scores.tsv b=b_scores.tsv --by attack --out report.html

      spoofspan report scores.parquet --threshold 0.3 --audio wav --out found.html
    """
    from spoofspan.formats.text.protocol import read_groups
    from spoofspan.measures.events.proposals_from_scores import ProposalOptions
    from spoofspan.report.page import PageSettings, page_content, render_page
    from spoofspan.report.page.scores_page import ScoresPageSettings, scores_page

    if out.suffix.lower() in {".pdf", ".png", ".svg", *o.ENDINGS} - {".html"}:
        raise UsageError(f"--out {out}: the page is HTML; call it {out.with_suffix('.html')}")
    o.must_be_free(out, force=force)
    if timelines == 0 and audio is not None:
        raise UsageError("--timelines 0 shows no utterance, so there is nothing to hear: leave --audio out")
    if embed and audio is None:
        raise UsageError("--embed goes with --audio, the folder of the sound files")
    if (alone := systems.scores_alone()) is not None:
        if measure or published:
            flag = "--measure" if measure else "--published"
            raise UsageError(f"{flag} needs REFERENCES before the scores; leave it out")
        if threshold is None:
            raise UsageError(
                "these are scores, and nothing says where the spoofs are: give REFERENCES before them to see errors, "
                "or --threshold to see what they call spoof"
            )
        shown = _sound(audio, next(iter(alone.values())), out, embed)
        shown |= {} if timelines is None else {"timelines": timelines}
        called = ProposalOptions(**ranges.arguments())
        page = ScoresPageSettings(title or "What scores call spoof", dict.fromkeys(alone, threshold), called, **shown)
        o.write_page(scores_page(alone, page), out, force)
        return
    if threshold is not None:
        raise UsageError(
            "--threshold is for scores without REFERENCES; with them the page has one to drag; leave it out"
        )
    ranges.refuse_any("is for scores without REFERENCES; leave it out")
    verification.check(measure)
    if systems.of_utterances and (audio is not None or timelines):
        flag = "--timelines" if audio is None else "--audio"
        raise UsageError(f"{flag} needs scores in time, and these are scores of whole utterances; leave it out")
    references, scores = systems.read_each(fewest=1)
    known = metadata or systems.metadata()
    columns = {column: read_groups(known, column, bare_ids=systems.typed.bare_ids) for column in by or ()}
    if by is None and known is not None and systems.of_utterances:
        columns = _known_columns(known, systems.typed.bare_ids)
    settings = PageSettings(
        title,
        corpus=systems.corpus_name,
        resampling=bootstrap.resampling(known, systems.typed.bare_ids, replicates=1000),
        columns=columns,
        timelines=timelines,
        measures=measure or (),
        scores_are=scores_are,  # type: ignore[arg-type] # is checked
        asv_scores=verification.read_asv(references),
        published=(systems.typed.dataset or "") if published else None,
        arguments=rules,
        **_sound(audio, references, out, embed),
    )
    o.write_page(render_page(page_content(references, scores, settings)), out, force)


def _known_columns(metadata: Where | Sequence[Where], bare_ids: bool | None) -> dict[str, Mapping[str, str]]:
    """The attack and the codec of every utterance, as far as the metadata have them and they differ."""
    from spoofspan.formats.text.protocol import NoColumnError, read_groups

    found: dict[str, Mapping[str, str]] = {}
    for name in ("attack", "codec"):
        with suppress(NoColumnError):
            found[name] = read_groups(metadata, name, bare_ids=bare_ids)
    return {name: column for name, column in found.items() if len(set(column.values())) > 1}


def _sound(folder: Path | None, corpus: Any, page: Path, embed: bool) -> dict[str, Any]:
    """Addresses and waveforms of the sound in a folder, as settings of a page."""
    from spoofspan.report.page.audio import addresses, waveforms

    if folder is None:
        return {}
    known = corpus.utterances
    return {"audio": addresses(folder, known, page, embed=embed), "waveforms": waveforms(folder, known)}
