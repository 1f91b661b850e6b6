"""Tables: a corpus as rows and columns, whatever file or data frame they come from.

References have one row per range::

    utterance  start  end  label  [attack]  [duration]

Scores are long, one row per range or per frame, or wide, one row per utterance::

    utterance  start  end  score
    utterance  frame  score             [hop]  [origin]  [window]  [higher]
    utterance  scores: list<float>      [hop]  [origin]  [window]  [higher]

Integer times (start, end, duration, hop, origin, window) are nanoseconds, float times are seconds. A label is a word
for a class or the name of an attack; frames count from 0. Rows may stand in any order. A row whose range is null (no
start, no end, no label; no score) says that the utterance exists and has none. Columns of other names are ignored.

The hop and what high scores mean come from the caller, from a column, or from the schema's metadata, where tables made
here have them: key ``spoofspan``, JSON with ``version`` and ``hop``, ``start`` (of frame 0), ``window`` in seconds and
``higher`` (references: ``snap``). Whoever says it twice must say the same.

::

    csv_files  jsonl                           containers  ──▶  Part  ──▶  reference_tables  ──▶  References
    parquet  arrow_ipc  ──▶  arrow_tables ──▶  dataframes       │    ──▶  score_tables      ──▶  Scores
    (recognise, open, yield tables, write)                      └─ table_columns, table_groups: checks and messages
    and back by corpus_tables.

Tables are NumPy columns in memory. Only Parquet, Arrow and data frames need pyarrow. Read first: ``corpus_tables``
(columns, and which of them there are), then ``containers`` (what a kind of file has to do).
"""
