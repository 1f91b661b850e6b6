"""Names of measures in, signed results out.

- ``evaluate.py``: the measuring functions of a corpus in memory; read it first.
- ``corpus.py``: the interface of a corpus in memory, in shards or on a cluster, the loop over measures that all of them
  share, and its result; ``utterances.py``: scores of whole utterances (corpora in shards are in ``scale``).
- ``plan.py``: the settings of one measure. ``measurement.py``: the result. ``signature.py``: the comparability of
  results; ``signature_text.py``: signatures as text. ``events.py``: event measures.
- ``stated_result.py``: result files and signatures, read back; ``verification.py`` measures them again,
  ``result_diff.py`` compares two.
- ``cautions.py``: cautions about valid numbers.
- ``breakdown.py``: groups, which ``selections.py`` selects from a corpus; ``crossed.py``: tables by one or two columns.
- ``resolution_table.py``, ``domains.py``, ``calibration.py``, ``reference_diff.py``, ``check.py``, ``explain.py``:
  other questions.

It imports from ``base``, ``data``, ``mass`` and ``measures``, from ``uncertainty`` for intervals, and from ``report``
where a result shows itself (``_repr_html_``, ``render``). It reads no corpus from files.
"""
