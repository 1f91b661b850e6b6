"""Learning to turn scores into log-likelihood ratios.

``logistic_regression.py`` learns affine maps and fusions, ``pav_map.py`` PAV maps. The maps, and how they are applied,
are in :mod:`spoofspan.data.calibration`.
"""
