"""The built-in vocoders by their names: what spoofs are made with.

=======  ====================  =====================================================================================
attack   vocoder               what is lost
=======  ====================  =====================================================================================
``A01``  griffin-lim           phases, and what 40 mel bands do not tell
``A02``  linear-prediction     everything but an all-pole envelope, the pitch and whether a frame is voiced
``A03``  harmonics-noise       jitter and shimmer; below 2 kHz voiced frames have harmonics only, above noise only
``A04``  phase-vocoder         how the phases of neighbouring partials belong together; by default unseen in training
``A05``  mixed-excitation      phases: a smooth envelope of minimum phase, pulses and noise mixed in each of five bands
``A06``  sinusoidal            what the 40 strongest partials of a frame do not tell
``A07``  overlap-add           the melody: pitch periods, as they are, further apart or closer together
``A08``  transform-codec       small coefficients of a lapped transform, and the last bits of the others
=======  ====================  =====================================================================================
"""

from __future__ import annotations

from spoofspan.corpus.pieces import overlap_add, transform_codec
from spoofspan.corpus.resynthesis import mixed_excitation, sinusoidal
from spoofspan.corpus.vocoders import Vocoder, griffin_lim, harmonics_and_noise, linear_prediction, phase_vocoder

VOCODERS: dict[str, Vocoder] = {
    "griffin-lim": griffin_lim,
    "linear-prediction": linear_prediction,
    "harmonics-noise": harmonics_and_noise,
    "phase-vocoder": phase_vocoder,
    "mixed-excitation": mixed_excitation,
    "sinusoidal": sinusoidal,
    "overlap-add": overlap_add,
    "transform-codec": transform_codec,
}
ATTACKS = {f"A{number:02d}": name for number, name in enumerate(VOCODERS, 1)}  # as built-in corpora call them
UNSEEN = "A04"  # kept for evaluation unless told otherwise
