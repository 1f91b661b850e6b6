"""Files people have, to and from the data: References, Scores, UtteranceScores, Proposals, Protocol.

Read first: ``format.py`` (what a format is), then ``registry.py`` (all of them by name) and ``reading.py`` (the public
``read_*``). ``sources.py`` finds and unpacks files, ``writing.py`` writes them whole or not at all, ``convert.py`` does
both. The formats live by family in ``text``, ``tables``, ``arrays`` and ``datasets``. Nothing here measures: this
package imports ``base`` and ``data`` only.
"""
