"""Problems with the sound of a recording, a sentence each: what a listener would say before any verdict."""

from __future__ import annotations

from spoofspan.base.times import Int64
from spoofspan.cm.listening import BANDS, FEWEST_VALUES, LOWEST, SILENT, STEP, Heard, band_percentiles
from spoofspan.formats.sound import FULL_SCALE, RATE

CLIPPED = 0.0005  # share of samples that is worth a word
MOSTLY_SILENT = 0.9
SHORTEST = 0.5  # seconds
DROP = 45.0  # dB by which bands lie below the loudest one to count as empty
FULL_BAND = 0.85  # share of the bands; files of 16 kHz are filtered a little below 8 kHz


def unjudgeable(heard: Heard) -> str:
    """Reason why there is nothing to judge; empty if there is."""
    if heard.samples and heard.silent == heard.samples:
        steps = round(SILENT * FULL_SCALE)
        return f"there is only silence (no sample is further than {steps} steps of 16 bits from zero)"
    if 0 < heard.values.size < FEWEST_VALUES:
        return (
            f"its samples have {heard.values.size} distinct values, less than sound of 4 bits: it was quantised too "
            "coarsely to be judged"
        )
    return ""


def sound_notes(heard: Heard, rate: int) -> tuple[str, ...]:
    """Notes on the sound; ``rate`` is that of the file."""
    notes = []
    if heard.seconds < SHORTEST:
        notes.append(f"it lasts {heard.seconds:.2f} s, which is little to judge by")
    share = heard.silent / max(heard.samples, 1)
    if share >= MOSTLY_SILENT:
        notes.append(f"{100 * share:.0f} % of it is digital silence")
    if heard.clipped > CLIPPED * heard.samples:
        notes.append(
            f"{100 * heard.clipped / heard.samples:.1f} % of its samples are clipped (cut off at full scale), which "
            "may look like a trace of synthesis, or hide one"
        )
    _, top = heard_band(heard.counts)
    if rate < RATE:
        notes.append(f"the file has {rate:,} samples a second: nothing above {rate / 2000:g} kHz, as on the telephone")
    elif top < FULL_BAND * RATE / 2:
        notes.append(f"nothing is heard above {top / 1000:.1f} kHz: it was filtered, coded or resampled before")
    return tuple(notes)


def heard_band(counts: Int64) -> tuple[float, float]:
    """The lower edge of the lowest, and the upper edge of the highest band that is ever heard, in Hz."""
    if not counts.any():
        return 0.0, RATE / 2
    loud = band_percentiles(counts, (0.98,))[:, 0]
    floor = max(float(loud.max()) - DROP, LOWEST + STEP)
    heard = [band for band in range(BANDS) if loud[band] > floor] or [0, BANDS - 1]
    return RATE / 2 * heard[0] / BANDS, RATE / 2 * (heard[-1] + 1) / BANDS
