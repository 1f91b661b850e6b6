"""Files with an array per utterance: npz, npy and pickled dicts, PartialSpoof's score and label files, Kaldi archives.

Imports base, data and the rest of formats. Read :mod:`.npz` first: it builds scores and references from arrays.
"""
