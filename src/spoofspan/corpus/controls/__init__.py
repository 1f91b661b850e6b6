"""Controls: bona fide speech with edits that leave it bona fide, to tell whether a system finds the spoof or the cut.

::

    edits.py            the edits, and the plan of every control
    making.py           a folder of controls, built of recordings; codecs        <- build
    control_set.py      a folder of controls, read and checked                   <- read
    authenticity.py     flagged time, and the alarms on real spoofs that the cut does not explain
    measuring.py        any systems on controls, and the result as tables        <- evaluate

``docs/controls.md`` has the definitions. Public: ``spoofspan.controls.build``, ``read`` and ``evaluate``.
"""

from typing import TYPE_CHECKING

from spoofspan.base.lazy import lazy_names

if TYPE_CHECKING:
    from spoofspan.corpus.controls.authenticity import AuthenticityIndex
    from spoofspan.corpus.controls.control_set import Controls, read
    from spoofspan.corpus.controls.edits import EDITS, ControlSettings
    from spoofspan.corpus.controls.making import build
    from spoofspan.corpus.controls.measuring import ControlsEvaluation, EditEffect, SystemOnControls, evaluate

_HOMES = {
    "authenticity": "AuthenticityIndex",
    "control_set": "Controls read",
    "edits": "EDITS ControlSettings",
    "making": "build",
    "measuring": "ControlsEvaluation EditEffect SystemOnControls evaluate",
}

__all__ = [
    "EDITS",
    "AuthenticityIndex",
    "ControlSettings",
    "Controls",
    "ControlsEvaluation",
    "EditEffect",
    "SystemOnControls",
    "build",
    "evaluate",
    "read",
]

__getattr__, __dir__ = lazy_names("spoofspan.corpus.controls", _HOMES)
