"""Reason why the ids of two files do not meet: one side writes them with a folder, an extension, or other capitals."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from pathlib import PureWindowsPath

# The share of utterances that a remedy must fit to be named.
MOST = 0.9
SOUND = re.compile(r"\.(wav|flac|mp3|mp4|m4a|ogg|opus|sph|aac|npy|pt|txt|json)$", re.IGNORECASE)


def bare_id(one: str) -> str:
    """The id without a folder and without the ending of a sound file.

    >>> bare_id("wav/u1.flac"), bare_id("u1"), bare_id("spk1 wav/u1.flac")
    ('u1', 'u1', 'spk1 u1')
    """
    speaker, space, name = one.rpartition(" ")  # of a trial
    return speaker + space + SOUND.sub("", PureWindowsPath(name.strip(QUOTES)).name)


QUOTES = "\"'"
SHORTENED: dict[str, Callable[[str], str]] = {
    "an extension": lambda one: SOUND.sub("", one),
    "a folder": lambda one: PureWindowsPath(one).name,  # it knows both kinds of slashes
    "quotes": lambda one: one.strip(QUOTES),
    "a folder and an extension": bare_id,
}


def id_remedy(
    ours: Collection[str], theirs: Collection[str], our_name: str = "references", their_name: str = "scores"
) -> str | None:
    """Change to the ids of one side that makes those of both meet, given the ids that only one side has.

    >>> id_remedy(["u1", "u2"], ["wav/u1.wav", "wav/u2.wav"])
    "ids of the scores have a folder and an extension ('wav/u1.wav'), those of the references do not; without them 2 \
of 2 meet: remove them from the ids of the scores, or use with_bare_ids (--bare-ids)"
    >>> id_remedy(["U1"], ["u1"], their_name="durations")
    "ids of the references ('U1') and of the durations ('u1') differ in upper and lower case; 1 of 1 would meet: write \
them alike"
    """
    fewest = min(len(ours), len(theirs))
    if not fewest:
        return None
    for what, longer, other, shorter in ((their_name, theirs, our_name, ours), (our_name, ours, their_name, theirs)):
        wanted = set(shorter)
        for words, short in SHORTENED.items():
            meet = [one for one in longer if short(one) != one and short(one) in wanted]
            if len(meet) >= MOST * fewest:
                them = "them" if " and " in words or words == "quotes" else "it"
                return (
                    f"ids of the {what} have {words} ({meet[0]!r}), those of the {other} do not; without {them} "
                    f"{len(meet):,} of {fewest:,} meet: remove {them} from the ids of the {what}, or use "
                    "with_bare_ids (--bare-ids)"
                )
    folded = {one.casefold(): one for one in theirs}
    alike = [one for one in ours if one.casefold() in folded]
    if len(alike) < MOST * fewest:
        return None
    return (
        f"ids of the {our_name} ({alike[0]!r}) and of the {their_name} ({folded[alike[0].casefold()]!r}) differ in "
        f"upper and lower case; {len(alike):,} of {fewest:,} would meet: write them alike"
    )
