"""Names of measures in, signed results out.

- ``evaluate.py``: the measuring functions of a corpus in memory; read it first.
- ``corpus.py``: a corpus wherever it lies, the loop over measures that all share, and what comes out of it;
  ``utterances.py``: the one of scores of whole utterances (those in shards are in ``scale``).
- ``plan.py``: what it takes to measure one thing. ``measurement.py``: the result. ``signature.py``: what it may be
  compared with; ``signature_text.py``: as it is printed and read. ``events.py``: event measures.
- ``stated_result.py``: a result file or a signature, read back; ``verification.py`` measures it again,
  ``result_diff.py`` compares two.
- ``cautions.py``: reasons to look twice at a number.
- ``breakdown.py``: groups, which ``selections.py`` cut out of a corpus; ``crossed.py``: by two columns.
- ``resolution_table.py``, ``domains.py``, ``calibration.py``, ``reference_diff.py``, ``check.py``, ``explain.py``:
  other questions.

It imports from ``base``, ``data``, ``mass`` and ``measures``, from ``uncertainty`` for intervals, and from ``report``
where a result shows itself (``_repr_html_``, ``render``). It reads no corpus from files.
"""
