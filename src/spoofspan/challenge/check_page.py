"""A page on which teams check a submission in the browser, without labels: :mod:`spoofspan.report.app`."""

from __future__ import annotations

from spoofspan.base.errors import UsageError
from spoofspan.challenge.public_part import PublicPart
from spoofspan.data.rules import Rules, rules_for
from spoofspan.report.app import app_page

RULES_OF_SCORES = ("uncovered", "slack", "overlong", "last_frame", "overlap")


def check_page(public: PublicPart) -> str:
    """Write the page; it has the utterances and durations, which every team has.

    It checks under the default rules, and a challenge with other rules for scores has no such page.
    """
    definition = public.definition
    if definition.submissions != "scores":
        raise UsageError(f"the page checks scores in time, and teams submit {definition.submissions} here")
    rules = rules_for("range", definition.convention, definition.rules)[0]
    other = [f"{name}={value}" for name in RULES_OF_SCORES if (value := getattr(rules, name)) != getattr(Rules(), name)]
    if other:
        raise UsageError(
            f"the page checks under the default rules, and this challenge has {', '.join(other)}; "
            "teams can use spoofspan challenge check"
        )
    durations = dict(zip(public.utterances, (public.ends / 1e9).tolist(), strict=True))
    return app_page(definition.title, durations, hop=definition.hop, higher=definition.higher or "")
