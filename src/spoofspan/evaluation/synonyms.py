"""Synonyms in the literature, and their names here.

In ASVspoof the target is bona fide, so its miss is a false positive here and its false acceptance a false negative; in
detection and diarization the target is the spoof, and it is the other way round. Words that mean both say so.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping

# the words, what is meant, and the names that have an explanation of their own
_MEANINGS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "false acceptance, far, false acceptance rate, fa, pfa, apcer",
        "Spoof that is accepted as bona fide: a false negative here, where spoof is positive. ASVspoof calls "
        "it a false alarm too; in detection and diarization, a false alarm is bona fide time called spoof: a "
        "false positive.",
        ("range-fnr", "range-fpr"),
    ),
    (
        "false alarm, false alarm rate, fa rate",
        "Two things: in ASVspoof, spoof that is accepted (a false negative here); in detection and "
        "diarization, bona fide time called spoof (a false positive here).",
        ("range-fnr", "range-fpr", "range-false-alarms-per-hour"),
    ),
    (
        "miss, miss rate, pmiss, missed detection",
        "Two things: in ASVspoof, bona fide that is rejected (a false positive here); in detection and "
        "diarization, spoofed time that is not found (a false negative here).",
        ("range-fpr", "range-fnr"),
    ),
    (
        "false rejection, frr, false rejection rate, bpcer",
        "Bona fide that is called spoof: a false positive here.",
        ("range-fpr",),
    ),
    ("tfnr", "Spoofed time that is not found (XPS-Forensic): false negatives of time.", ("range-fnr",)),
    ("tfdr", "Time called spoof that is bona fide (XPS-Forensic): one minus the precision.", ("range-precision",)),
    ("fbeta, f-beta, f2, f0.5", "Recall counts beta times as much as precision.", ("range-f-beta",)),
    (
        "macro f1, macro-averaged f1, unweighted f1",
        "The mean of the F1 of both classes, as average='macro' in scikit-learn, or the mean of F1 over utterances.",
        ("range-class-mean-f1", "range-f1-macro"),
    ),
    (
        "word, word-level, word-level eer, alignment, ctm",
        "A word as the unit: eval or compare --words FILE (CTM or TextGrids) makes an utterance of each, so that "
        "measures of utterances are of words.",
        ("utterance-eer", "utterance-f1"),
    ),
    (
        "conformal, conformal risk control, promise, guarantee, miss-rate bound",
        "A threshold whose expected miss rate on new speakers is at most a stated share: calibrate --miss-rate 0.1; "
        "convert, locate and eval take it by --threshold-from.",
        ("range-fnr",),
    ),
    ("abstain, abstention, unanswered time", "Time that a system does not decide.", ("uncovered", "range-coverage")),
    ("pauc, partial auc", "The AUC at low FPR, standardised as max_fpr= in scikit-learn.", ("range-partial-auc",)),
    ("tiou, jaccard, frame_jaccard_spoof", "Time that is spoof and called so, of what is either.", ("range-iou",)),
    (
        "segment, segment eer, segment-based eer, segment-level eer, frame, frame eer, frame-level eer, window, block",
        "A stretch of fixed length with one label and one score: a point here. Its length is the resolution. "
        "How it gets its label and score are the rules label and pooling, in which tools differ.",
        ("point-eer", "label", "pooling"),
    ),
    (
        "millisecond eer, mseer, ms eer, duration-based eer, range-based eer, temporal eer",
        "Errors counted in time: the range EER here, exact to the nanosecond. partialspoof-metrics counts "
        "milliseconds in buckets of scores (convention partialspoof-metrics).",
        ("range-eer", "partialspoof-metrics"),
    ),
    ("sentence eer, utterance-level eer, file eer, trial", "One decision for a whole recording.", ("utterance-eer",)),
    (
        "equal error rate",
        "Where the same share of both classes is called wrong. It is counted in time, in points of "
        "a resolution, or in utterances, which are three numbers.",
        ("range-eer", "point-eer", "utterance-eer"),
    ),
    ("half total error rate", "The mean of FPR and FNR at a threshold.", ("range-hter",)),
    ("detection error rate, diarization error rate", "False alarm and miss over all spoof.", ("range-der",)),
    ("roc, area under the curve", "The chance that spoof scores lower than bona fide.", ("range-auc",)),
    (
        "tdcf, t-dcf, tandem dcf, tandem, min t-dcf",
        "The cost of a countermeasure in front of a speaker verification system, of which it needs the scores "
        "(--asv-scores) or the rates (--asv-rates).",
        ("utterance-min-tdcf", "utterance-act-tdcf", "utterance-t-eer"),
    ),
    ("sasv, sasv eer", "Targets against non-targets and spoofs.", ("utterance-sasv-eer", "utterance-a-dcf")),
    ("map, mean average precision", "Ranked proposals against events.", ("event-ap", "event-ap-avdeepfake1m")),
    ("polyphonic sound detection score", "Found events over false ranges, at all thresholds.", ("event-psds",)),
    ("segment f1, proposal, detection", "A spoofed range that is found or not.", ("event-f1", "event-ap")),
    ("min-pooling, max-pooling, pool", "How scores become the score of a point or utterance.", ("pooling",)),
    ("uem", "The time that counts.", ("regions",)),
    ("forgiveness collar, tolerance", "Time around boundaries that is not counted.", ("collar",)),
    ("hop, frame shift, stride", "The spacing of a system's scores in seconds: --hop 0.02.", ("uncovered", "slack")),
    ("polarity, direction", "What high scores mean: --higher bonafide or --higher spoof. It is never guessed.", ()),
    ("missing tail, tail", "Time at the end of an utterance without a score.", ("uncovered", "slack")),
    (
        "threshold, operating point",
        "Time under a score below it is called spoof, if high scores mean bona fide. Without --threshold or "
        "--threshold-from, measures that need one take that of the EER.",
        ("range-eer", "range-f1"),
    ),
    (
        "signature, signatures, hash",
        "What a number was computed from. Numbers may be compared if the first part of their signatures (before ||) "
        "is the same: measure, rules, references and utterances. The second part identifies the scores, and the "
        "threshold if one was given. Rules about references are stated where they changed a label. Text shows a "
        "short form of at most 80 characters: measure, convention, every rule that differs from it, versions and the "
        "first digits of the hashes; --signature and --format json show both parts in full. In quotes, 'spoofspan "
        "explain' explains a signature in any printed form, and 'spoofspan verify' repeats the measurement.",
        (),
    ),
    (
        "benchmark, benchmarks",
        "A data set or challenge, with its labels, measures and rules. 'spoofspan benchmarks' lists them, and 'eval "
        "--benchmark NAME' measures as one is ranked.",
        (),
    ),
    (
        "interval, confidence, confidence interval, confidence level, ci",
        "The range in which a value would lie on other test sets of the same kind, at a level such as 95 %: "
        "--confidence 0.95. What the interval generalises to is printed with it: other speakers and these attacks, or "
        "new attacks too. In full: docs/uncertainty.md.",
        ("cluster", "jackknife-t"),
    ),
    (
        "jackknife, jackknife-t, standard error",
        "The default method of intervals and tests. Each cluster is left out once, which gives the standard error; the "
        "interval reaches as far as Student's t says, on the scale of logits for rates.",
        ("interval", "cluster", "percentile"),
    ),
    (
        "percentile, bootstrap, replicate, replicates, bca, resampling",
        "Methods of intervals that draw clusters with replacement (--interval percentile, --interval bca) and take "
        "quantiles of the values. BCa corrects them for bias and acceleration. For measures at their best threshold "
        "and for crossed factors, use jackknife-t.",
        ("jackknife-t",),
    ),
    (
        "cluster, clusters, crossed, two-way, unseen attacks, new attacks, these attacks, estimand",
        "Utterances that belong together, such as those of a speaker, and vary together from one test set to another. "
        "--cluster speaker gives intervals for other speakers and these attacks; --cluster speaker,attack for other "
        "speakers and new attacks: the variance over speakers, plus that over attacks, less that over their pairs. "
        "Purely bona fide utterances have no attack, and each is a cluster of its own.",
        ("interval", "p-value"),
    ),
    (
        "p-value, p, significance, significant",
        "The probability of a difference at least as large as the one observed if two systems were equally good. It "
        "comes from the same t as the interval of the difference: p is under 0.05 if and only if the 95 % interval "
        "does not hold 0.",
        ("max-t", "cluster"),
    ),
    (
        "max-t, maxt, p (max-t), p (holm), multiple comparisons, adjusted p-value, holm",
        "Step-down max-T adjusts p-values for the number of comparisons, with the correlation of the systems. It keeps "
        "the probability of any wrong verdict at the level.",
        ("p-value", "rank"),
    ),
    (
        "margin, within, p (equivalent), equivalent, equivalence, not worse, non-inferiority",
        "The margin is the smallest difference that matters: compare --margin 0.5. Two systems are equivalent within "
        "it if the tests reject that either is worse by so much; one is not worse if they reject it of that one. A "
        "difference that is not significant shows neither.",
        ("p-value",),
    ),
    (
        "fragility, fragile",
        "The few speakers, or attacks, without which a verdict goes: compare --fragility. They are those that support "
        "it most, and the comparison is made anew without them.",
        ("p-value", "cluster"),
    ),
    (
        "best, p (best), among the best, model confidence set, winner's curse",
        "compare --against best gives each system the p-value of being among the best: those with p over 0.05 are the "
        "model confidence set, which holds all the best ones with 95 % confidence. The best of several values is too "
        "good on average, the winner's curse; the value without it is printed beside it.",
        ("max-t", "rank"),
    ),
    (
        "rank, ranks, group, letters, letter",
        "The best and the worst rank of a system that the tests of all pairs allow. Systems that share a letter, their "
        "group, do not differ significantly. In full: docs/uncertainty.md.",
        ("max-t",),
    ),
    (
        "seed, seeds, training, trainings",
        "A system that was trained several times has a value for each seed. Its mean is compared, and the interval "
        "holds for other seeds as well as for other test sets. In full: docs/uncertainty.md.",
        ("interval",),
    ),
    (
        "degradation, carried threshold, next corpus, pooled",
        "Words of 'spoofspan domains'. The degradation is the mean of both error rates at a threshold that was carried "
        "over from another corpus, less the EER at the corpus's own. The next corpus is where the EER of another "
        "corpus lies, judged by how those at hand differ.",
        ("interval", "range-eer"),
    ),
    (
        "correlation, paired, unpaired",
        "Two systems on the same utterances are paired. The more their errors go together from speaker to speaker, "
        "their correlation, the smaller is the standard error of the difference. 'spoofspan plan' prints it.",
        ("plan", "p-value"),
    ),
    (
        "plan, power, sample size",
        "How many speakers or utterances it takes to tell two values apart, with a probability called the power: "
        "'spoofspan plan'. In full: docs/uncertainty.md.",
        ("p-value", "cluster"),
    ),
    (
        "pav, pool adjacent violators, isotonic",
        "The best increasing map of scores to log-likelihood ratios. minCllr is the Cllr after it; 'spoofspan "
        "calibrate --method pav' learns it.",
        ("range-min-cllr", "calibration"),
    ),
    (
        "measure, value, from, to, eer, fpr, fnr, hter, gap, fpr - fnr, decision, point",
        "Columns of a result: the measure, its value, both ends of its interval, FPR and FNR where it is taken, the "
        "gap |FPR - FNR| between them (at most one step of the curve), and the decision: what is called spoof there.",
        ("range-eer", "range-fpr", "range-fnr", "range-hter", "threshold", "interval"),
    ),
    (
        "confusion at, spoof found, spoof missed, bona fide right, unit",
        "Columns of a confusion matrix at a threshold, in seconds, points or utterances (the unit): spoof that is "
        "called spoof or missed, false alarms, and bona fide that is called so.",
        ("range-fnr", "range-fpr"),
    ),
    (
        "attack, length, boundary, share, speaker x attack, utterances, bona fide, spoof, error, of all error, errors",
        "Columns of a breakdown (eval --by). Attacks, lengths and shares are measured on all bona fide time, other "
        "columns on their own utterances; the line below the table says which. Errors are those at the threshold of "
        "the whole corpus.",
        ("regions", "over attacks"),
    ),
    (
        "over attacks, mean, worst attack, next attack, interaction, standard deviation",
        "Attacks as the unit (eval --by attack --confidence 0.95): the mean over attacks with its interval for new "
        "speakers and new attacks, the worst of those in the set, and the interval in which the value of a further "
        "attack lies. The standard deviations split the variation of one value by speaker, attack and their pairs.",
        ("cluster", "interval"),
    ),
    (
        "system, pair, difference, mean difference, better, undecided, groups, over corpora, new corpora",
        "Columns of a comparison: first - second of each pair with its interval and p-value. The better system is "
        "named where the adjusted p is under the level; other pairs are undecided, which does not show that they are "
        "equal. Systems that share a letter belong to one group.",
        ("p-value", "max-t", "margin"),
    ),
    (
        "comparison, more, needed, power with, can tell, difference that matters, none",
        "Columns of a plan: how many speakers, attacks or utterances are needed (from, to: what their variance leaves "
        "open), the power with those at hand, and the smallest difference that these can tell. None: no number is "
        "enough.",
        ("plan", "correlation"),
    ),
    (
        "resolution, training resolution, copies, coarser, floor, easier task",
        "The resolution of points, and the one at which a system was trained (--training-resolution, or that of copied "
        "scores). Points that are not finer hide errors within them: an easier task, not a better system. The floor is "
        "the range EER of a perfect system with one score per hop.",
        ("point-eer", "range-eer"),
    ),
    (
        "degrees of freedom, t, logit, test set",
        "How well a variance is known: the clusters of the scarcer class less one, or Satterthwaite's number if it is "
        "smaller. Student's t with so many degrees gives intervals and p-values; rates are taken on the scale of "
        "logits.",
        ("jackknife-t", "p-value"),
    ),
    (
        "few clusters, caution, warning, too few",
        "Under 30 clusters of a class, or under 5 with an error, an interval rests on little: a warning says so, once. "
        "Under 3 there is none.",
        ("cluster", "interval"),
    ),
    (
        "improvement, improvements, many submissions",
        "challenge audit tests each submission that is the best of its team so far against the best before it, at one "
        "level for all submissions that the team may make, and says how much too good the best of many looks by luck.",
        ("p-value", "best"),
    ),
    (
        "event, events, proposals, matched",
        "A spoofed range of the references, and a range that a system proposes; they are matched by their overlap or "
        "by how near their edges are.",
        ("event-f1", "event-ap"),
    ),
    (
        "step, quantile",
        "Columns of the trace of Algorithm 1: the quantile of the scores that is tried as threshold in each step.",
        ("bisection",),
    ),
    ("llr", "A log-likelihood ratio: --scores-are llr.", ("range-cllr", "range-act-dcf")),
    (
        "calibration, calibrate, fusion, fuse",
        "Turning scores, of one system or of several, into log-likelihood ratios. 'spoofspan calibrate' and 'spoofspan "
        "fuse' learn the map on a development set and apply it to any scores. In full: docs/costs.md.",
        ("range-cllr", "range-calibration-loss"),
    ),
    (
        "locate, strength, probability, prior, suspected",
        "Words of 'spoofspan locate'. The strength of a range is the mean natural log-likelihood ratio of spoof to "
        "bona fide: 0 says nothing, 4.6 is a hundred to one. The probability is the mean probability of spoof, for the "
        "prior that --prior states: how probable spoof is before the recording is heard. A range is suspected if it is "
        "more likely spoof than not. In full: docs/locate.md.",
        ("llr",),
    ),
    (
        "controls, authenticity index, extra alarms, rejoin, splice",
        "Words of 'spoofspan controls'. Controls are bona fide speech that was cut, joined, spliced, coded or made "
        "softer, and stayed bona fide. Extra alarms are the time that a system flags there beyond the same time of "
        "the unedited recordings. The authenticity index is the share of the alarms on real spoofs that is left when "
        "those are taken off that a splice of the speaker's own speech raises too: 0 for a detector of cuts, 1 for an "
        "ideal detector. In full: docs/controls.md.",
        ("range-fnr", "operating point"),
    ),
)
_BISECTION = (
    "bisection, algorithm 1, algorithm-1, rangeeer",
    "The paper's Algorithm 1: an estimate of the range EER by bisection over quantiles of the scores. It "
    "starts at the lowest, the highest and the median score, and keeps the half in which FPR - FNR "
    "changes its sign, until they differ by less than a precision. Run it with: spoofspan eval "
    "--algorithm bisection [--precision 1e-5] [--quantiles integer]. The result has its trace, and says "
    "whether the precision was reached. The exact range EER needs no search.",
    ("range-eer",),
)

SYNONYMS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    word: (text, names) for words, text, names in (*_MEANINGS, _BISECTION) for word in words.split(", ")
}


# What a heading has besides its word: numbers, units, and of what so many are needed.
_BESIDES = re.compile(r"[\d.,]+|%|\bpoints\b| s$|^\w+ (?=needed$)|:.*")


def synonym(subject: str) -> str | None:
    """Meaning of a word of the literature, or of a heading as it is printed; None if it is none.

    >>> [synonym(one).splitlines()[0] for one in ("FAR", "95 % from", "speakers needed", "within 0.80 points")]
    ['FAR (word)', '95 % from (word)', 'speakers needed (word)', 'within 0.80 points (word)']
    """
    words = " ".join(subject.lower().replace("_", " ").split())
    heading = " ".join(_BESIDES.sub("", words).split())
    found = SYNONYMS.get(words) or SYNONYMS.get(subject.lower()) or SYNONYMS.get(heading)
    if found is None:
        return None
    text, names = found
    see = ", ".join(f"spoofspan explain {name}" for name in names)
    meaning = textwrap.fill(text, 110, break_on_hyphens=False)
    return f"{subject} (word)\n\n{meaning}" + (f"\n\nSee: {see}" if names else "")
