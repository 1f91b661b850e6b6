"""spoofspan inside other tools: training loops, clusters, annotation and data set libraries.

Each module needs its package (an extra of the same name), and none is imported by ``import spoofspan``.
"""
