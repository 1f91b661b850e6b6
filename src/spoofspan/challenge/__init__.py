"""A challenge: hidden labels, submissions of many teams, and a leaderboard that claims no more than the labels allow.

::

    definition.py            what is measured and how, the phases, the public part    <- read this first
    hidden_part.py           labels, groups and clusters, which stay with the organisers
    challenge_folder.py      build the folder of a challenge: the public part with its README and a random submission
    platforms.py             bundles for Codabench, EvalAI and Hugging Face; scoring_program.py: what runs there
    published_numbers.py     the numbers that teams see, rounded, and how much they tell of the labels
    team_names.py            names that are plain, and not to be mistaken for each other
    submission.py            one team's files, opened as what a stranger sent, and kept as they came
    submission_check.py      every problem of a submission, found without labels
    team_results.py          measure one submission; the result is kept until something it depends on changes
    season.py                the ledger, and replayed: submissions, deadlines, limits, roles, what counts
    judging.py               score one submission, or all of a folder, and record what became of it
    scoring_process.py       a process of its own that does so, with limits
    leaderboard.py           ranks with intervals, groups of teams that cannot be told apart, columns by attack
    public_page.py           the leaderboard as a page, and a page on which teams check a submission in the browser
    decisions.py             withdraw, disqualify, reinstate, choose, role, share, publish
    rescoring.py             score again after the labels changed; what moved and why
    appeals.py               the log, the public history, letters to teams, certificates
    fairness.py              copies under several names, scores made of ids, the luck of many tries

May import every package below: not cm, corpus or integrations.
"""
