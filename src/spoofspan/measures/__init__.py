"""Measures: from a :class:`~spoofspan.mass.score_mass.ScoreMass` to a number, exactly.

``catalogue`` lists every kind of measure with its formula and its function: read it first. ``measure`` reads the
spelling of one (``range-fnr@fpr=0.01``). ``operating_point``, ``eer`` and ``curve`` find the errors at one threshold,
at that of the EER, and at all of them; ``confusion``, ``ranking``, ``costs``, ``tandem`` and ``reliability`` compute
values from them. ``per_utterance`` does so utterance by utterance, ``eer_state`` and ``histogram`` on parts of a corpus
that add up. ``bisection`` is the paper's Algorithm 1, and shares no code with the rest. ``calibration`` learns maps of
scores to log-likelihood ratios. ``events`` compares spoofed ranges with proposed ranges, and makes ranges of scores.

May import ``base``, ``data`` and ``mass``.
"""
