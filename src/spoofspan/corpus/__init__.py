"""Partially spoofed corpora: built of recordings, or of built-in voices and vocoders. No torch, no scipy.

::

    settings.py         every choice that decides the bytes of a corpus
    building.py         look, plan, make, label                                       <- read this first
    source_folder.py    which recordings there are, in a folder, a list, or VCTK, LibriTTS, ASVspoof
    survey.py           how long and how loud they are, and where someone speaks
    splice_plan.py      which utterance gets what
    splicing.py         an utterance of its plan: pieces joined by overlap-add
    partialspoof_recipe.py  choice, joints and labels of the authors' scripts
    provenance.py       where every sample comes from, and the labels that follow
    layout.py           the files of a corpus
    checking.py         whether a corpus is what its files say
    audit/              whether it gives itself away
    controls/           bona fide speech with edits: does a system find the spoof or the cut
    builtin.py          recordings that are made: voices.py, phones.py, frames.py
    vocoders.py         the vocoders, by their names

May import every package but ``cm``, ``experiment``, ``demo``, ``integrations`` and ``cli``.
"""
