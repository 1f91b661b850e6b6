"""Names of teams, phases and submitted files: plain, visible, and not to be mistaken for each other.

A name becomes the name of a file and stands on a page, so it is refused unless

- it consists of letters, ASCII digits, spaces, ``.``, ``-`` and ``_``, in Unicode's composed compatibility form (NFKC),
- every character is visible, and a letter carries at most ``MOST_MARKS`` combining marks,
- its letters are of one script, or of Latin and one of those written along with it (Chinese, Japanese, Korean).

Two names are one name to a reader if they have the same :func:`look_alike`: upper and lower case, and letters of Greek,
Cyrillic and Latin that are drawn alike. That is a part of the skeleton of Unicode's technical standard 39, whose data
Python does not have: look-alikes of other scripts, and of whole words (``rn`` and ``m``), are not noticed.
"""

from __future__ import annotations

import unicodedata
from itertools import groupby

from spoofspan.base.errors import DataError

LONGEST_NAME = 60
MOST_MARKS = 2  # of a letter, one after the other: Thai and Hebrew have two
# Names of devices, which are no files on Windows.
RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{i}" for port in ("com", "lpt") for i in range(10))}
# Letters and marks that are drawn as nothing: "default ignorable" in Unicode. Others are no letters and no marks.
INVISIBLE = (
    *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x3164, 0xFFA0),
    *range(0xFE00, 0xFE10),
    *range(0xE0100, 0xE01F0),
)
# Scripts that are written along with each other, and with Latin.
TOGETHER = ({"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "IDEOGRAPHIC"}, {"CJK", "HANGUL"}, {"CJK", "BOPOMOFO"})
# Scripts whose marks are composed with their letters, so that a mark that is left is piled on top.
COMPOSED = {"LATIN", "GREEK", "CYRILLIC"}
PHONETIC = range(0x0250, 0x02B0)  # letters of the phonetic alphabet, made to look like others
# A Latin letter, and what is drawn like it in Greek and Cyrillic; digits, and l and I, are drawn alike too.
ALIKE = """
AΑА BΒВ CСϹ EΕЕ FϜ HΗН IΙІӀӏ1l JЈͿ KΚК MΜМ NΝ OΟО0 PΡР QԚ SЅ TΤТ WԜ XΧХ YΥУҮ ZΖ
aαа cсϲ dԁ eе hһ iιіı jјϳ kκк nп oοо pρр qԛ rг sѕ uυ vνѵ wωԝ xχх yγуү
"""
_AS_LATIN = {ord(other): letters[0] for letters in ALIKE.split() for other in letters[1:]}


def plain_name(name: str, what: str) -> str:
    r"""Check a name.

    >>> plain_name("Team 7_b", "the team")
    'Team 7_b'
    >>> plain_name("../x", "the team")
    Traceback (most recent call last):
    spoofspan.base.errors.DataError: the team '../x': a name has letters, digits, spaces, '.', '-' and '_', begins ...
    >>> plain_name("\u0430lpha", "the team")  # with a Cyrillic letter
    Traceback (most recent call last):
    spoofspan.base.errors.DataError: the team '\u0430lpha': letters of CYRILLIC and LATIN in one name; choose another
    """
    fine = (
        0 < len(name) <= LONGEST_NAME
        and unicodedata.is_normalized("NFKC", name)
        and all(c in " ._-0123456789" or unicodedata.category(c)[0] in "LM" for c in name)
        and (name[0] in "0123456789" or unicodedata.category(name[0])[0] == "L")
        and name[-1] not in " ."
        and "  " not in name
        and name.partition(".")[0].casefold() not in RESERVED
    )
    if not fine:
        long = f" ({len(name):,} here)" if len(name) > LONGEST_NAME else ""
        raise DataError(
            f"{what} {name[:80]!a}: a name has letters, digits, spaces, '.', '-' and '_', begins with a letter or "
            f"a digit, ends in no dot or space, has at most {LONGEST_NAME} characters{long}, and is no device "
            "of Windows (CON, NUL, ...); choose another"
        )
    if (reason := _deceives(name)) is not None:
        raise DataError(f"{what} {name[:80]!a}: {reason}; choose another")
    return name


def look_alike(name: str) -> str:
    """Normal form of names that look alike.

    >>> look_alike("Alpha 1") == look_alike("\u0410LPHA l"), look_alike("alpha 1") == look_alike("alpha 2")
    (True, False)
    """
    shown = unicodedata.normalize("NFKC", name).translate(_AS_LATIN).casefold()
    # again, for letters whose other case is drawn like a Latin one
    return unicodedata.normalize("NFKC", shown).translate(_AS_LATIN).casefold()


def _deceives(name: str) -> str | None:
    """Reason why a name does not look like what it is; None if it does."""
    if any(ord(c) in INVISIBLE for c in name):
        return "it has a character that cannot be seen"
    if any(ord(c) in PHONETIC for c in name):
        return "it has a letter of the phonetic alphabet"
    script = ""
    for is_mark, run in groupby(name, lambda c: unicodedata.category(c)[0] == "M"):
        characters = list(run)
        if not is_mark:
            script = _script(characters[-1])
        elif len(characters) > MOST_MARKS or script in COMPOSED or not script:
            return "its marks are piled on top of each other, or on a letter that has none"
    scripts = {_script(c) for c in name} - {""}
    if len(scripts) > 1 and not any(scripts - {"LATIN"} <= together for together in TOGETHER):
        return f"letters of {' and '.join(sorted(scripts))} in one name"
    return None


def _script(character: str) -> str:
    """The script of a letter, by its name in Unicode; empty for what is none."""
    if unicodedata.category(character)[0] != "L":
        return ""
    if unicodedata.category(character) == "Lm" and not unicodedata.name(character, "").startswith(
        ("KATAKANA", "IDEOGRAPHIC", "HIRAGANA")
    ):
        return "modifiers"  # raised letters, which go with no script
    return unicodedata.name(character, "unnamed").split()[0]
