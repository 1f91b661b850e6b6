"""spoofspan inside other tools: training loops, clusters, annotation and data set libraries.

::

    torch.py          TorchMetrics metrics for training loops; frame_labels.py: their labels of frames
    dask.py           corpora larger than a machine, on a cluster
    pyannote.py       annotations and features of pyannote.core
    hf_evaluate.py    a module for Hugging Face evaluate
    leaderboards.py   results as leaderboards and model cards take them
    versa.py, deepfense.py    metrics of these toolkits

Each module needs its package (an extra of the same name), and none is imported by ``import spoofspan``. May import
every package but ``corpus``, ``cm``, ``experiment``, ``demo`` and ``cli``. Each file can be read alone.
"""
