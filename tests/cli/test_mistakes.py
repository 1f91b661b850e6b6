"""What people get wrong, each with what they are told: the cause, and a remedy that leads to the right number.

The corpus is that of ``spoofspan demo --out``; its range EER is 5.21 %. Every row of ``SHELL`` is a command with a
mistake in it, what the message must contain, and the command after its remedy has been followed, which must print 5.21.
The numbers in the names are those of the list of mistakes that the project was graded by.
"""

import json
import pickle
import re
import warnings
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO

import numpy as np
import pytest

import spoofspan as ss
from spoofspan.base.other_ids import MOST, id_remedy
from spoofspan.cli import main
from spoofspan.cli.wording import in_flags
from spoofspan.formats.tables import parquet
from spoofspan.formats.text import rttm
from spoofspan.mass.diagnosis import USUAL_HOPS, fits_hop, fitting_hop, unit_remedy

RIGHT = "5.21"


@pytest.fixture(scope="module")
def folder(demo, tmp_path_factory):
    """The files of ``demo --out``, and the same with a mistake in them."""
    where = tmp_path_factory.mktemp("mistakes")
    references, scores = demo
    names, seconds = references.utterances, (references.durations / 1e9).tolist()
    frames = {
        utt: scores.values[scores.offsets[i] : scores.offsets[i + 1]].tolist()
        for i, utt in enumerate(scores.utterances)
    }

    def write(name, lines):
        target = where / name
        target.parent.mkdir(exist_ok=True)
        target.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def unit(name, called="{}".format):
        write(name, (f"{called(u)} {k} {v!r} {-v!r}" for u, row in frames.items() for k, v in enumerate(row)))

    ranges = b"".join(rttm.write(references)).decode()
    (where / "ref.rttm").write_text(ranges)
    fields = [line.split() for line in ranges.splitlines()]
    write("ms.rttm", (" ".join([*f[:3], *(str(1000 * float(t)) for t in f[3:5]), *f[5:]]) for f in fields))
    (where / "one_class.rttm").write_text(ranges.replace(" bonafide ", " spoof "))
    (where / "scores_20ms.parquet").write_bytes(b"".join(parquet.write_scores(scores)))
    write("reco2dur", (f"{u} {s}" for u, s in zip(names, seconds, strict=True)))
    write("milliseconds", (f"{u} {1000 * s}" for u, s in zip(names, seconds, strict=True)))
    write("samples", (f"{u} {16000 * s:.0f}" for u, s in zip(names, seconds, strict=True)))
    unit("unit0.02.score")
    unit("s.score")
    unit("wav_20ms.score", "{}.wav".format)
    unit("lower_20ms.score", str.lower)
    write("wav.dur", (f"{u}.wav {s}" for u, s in zip(names, seconds, strict=True)))
    write("wav.csv", ["utterance,speaker", *(f"{u}.wav,x" for u in names)])
    write("wav.rttm", (" ".join([f[0], f"{f[1]}.wav", *f[2:]]) for f in fields))
    unit("path_20ms.score", "eval/{}.flac".format)
    unit("short_20ms.score")
    short = (where / "short_20ms.score").read_text().splitlines()
    write("short_20ms.score", (line for line in short if not line.startswith(names[0])))
    for name in ("x/unit0.02.score", "three.score"):
        write(name, (f"{u} {k} {v!r}" for u, row in frames.items() for k, v in enumerate(row)))
    rows = [(u, k, v) for u, row in frames.items() for k, v in enumerate(row)]
    ranges = [f"{u},{0.02 * k:.2f},{0.02 * k + 0.02:.2f},{v!r}" for u, k, v in rows]
    write("c.csv", ["name,from,to,p", *ranges])
    write("ms.csv", ["utterance,start,end,score", *(f"{u},{20 * k},{20 * k + 20},{v!r}" for u, k, v in rows)])
    write("good.csv", ["utterance,start,end,score", *ranges])
    (where / "s.json").write_text(json.dumps(frames))
    lines = ({"utterance": u, "scores": row, "hop": 0.02, "higher": "bonafide"} for u, row in frames.items())
    write("good.jsonl", map(json.dumps, lines))
    (where / "s.pkl").write_bytes(pickle.dumps(frames))
    (where / "good.pkl").write_bytes(pickle.dumps({u: np.asarray(row) for u, row in frames.items()}))
    write("nameless.csv", ranges)
    write("semicolons.csv", ["utterance;start;end;score", *(line.replace(",", ";") for line in ranges)])
    write("ranges.txt", (line.replace(",", " ") for line in ranges))
    lines = (where / "unit0.02.score").read_text().splitlines()
    write("header_20ms.score", ["utt frame bonafide spoof", *lines])
    write("comma_20ms.score", (line.replace(".", ",") for line in lines))
    (where / "utf16_20ms.score").write_text("\n".join(lines), encoding="utf-16")
    (where / "empty.score").write_text("")
    shares = ((u, k, 50 * (1 + v)) for u, k, v in rows)
    write("percent_20ms.score", (f"{u} {k} {p!r} {100 - p!r}" for u, k, p in shares))
    write("none.uem", ["nobody 1 0.0 1.0"])
    write("all.uem", (f"{u} 1 0.0 {s}" for u, s in zip(names, seconds, strict=True)))
    (where / "one.wav").write_bytes(b"RIFF")
    # the third list
    durations = [f"{u} {s}" for u, s in zip(names, seconds, strict=True)]
    write("comma.dur", (line.replace(".", ",") for line in durations))
    write("csv.dur", (line.replace(" ", ",") for line in durations))
    write("header.dur", ["utterance duration", *durations])
    write("swapped.dur", (" ".join(line.split()[::-1]) for line in durations))
    write("frames.dur", (f"{u} {s / 0.02:.0f}" for u, s in zip(names, seconds, strict=True)))
    write("comma.rttm", (" ".join(f).replace(".", ",") for f in fields))
    write("swapped.rttm", (" ".join([*f[:3], f[4], f[3], *f[5:]]) for f in fields))
    write("words.rttm", (" ".join([*f[:7], {"bonafide": "REAL"}.get(f[7], "Fake"), *f[8:]]) for f in fields))
    unit("quoted_20ms.score", '"{}"'.format)
    write("one_20ms.score", (f"{u} {k + 1} {v!r} {-v!r}" for u, k, v in rows))
    write("sign_20ms.score", (f"{u} {k} {50 + 50 * v:.1f}% {50 - 50 * v:.1f}%" for u, k, v in rows))
    write("times.score", (f"{u} {0.02 * k:.2f} {v!r}" for u, k, v in rows))
    write("wide.csv", (",".join([u, *map(repr, row)]) for u, row in frames.items()))
    write("trailing_20ms.score", (f"{line}  " for line in lines))
    write("aligned_20ms.score", (f"{u:30} {k:6d}   {v!r}   {-v!r}" for u, k, v in rows))
    for name in ("ref.rttm", "unit0.02.score", "reco2dur"):
        text = (where / name).read_text()
        (where / f"windows_{name}").write_bytes(text.replace("\n", "\r\n").encode())
        (where / f"mark_{name}").write_bytes(b"\xef\xbb\xbf" + text.encode())
    for name in ("a.score", "b.score"):
        (where / "two" / name).parent.mkdir(exist_ok=True)
        (where / "two" / name).write_bytes((where / "s.score").read_bytes())
    return where


def shell(folder, typed):
    """The exit code, stdout and stderr of a command typed in that folder."""
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(folder)
        patch.setattr("sys.argv", ["spoofspan", *typed.split()])
        with pytest.raises(SystemExit) as stopped:
            main()
    return stopped.value.code or 0, out.getvalue(), err.getvalue()


@cache
def assert_right(folder, typed):
    """The command prints the right number, and warns of nothing."""
    exit_code, out, err = shell(folder, typed)
    assert exit_code == 0, err
    assert re.search(rf"^range-eer +{RIGHT} ", out, re.M), out
    assert "warning" not in err


D = "--durations reco2dur -m range-eer"
GOOD = f"eval ref.rttm unit0.02.score {D}"
# mistake -> command, exit code, parts of the message, the command that follows the remedy
SHELL = {
    "1 references and scores swapped": (
        f"eval unit0.02.score ref.rttm {D}",
        2,
        ["unit0.02.score looks like scores", "REFERENCES come first"],
        GOOD,
    ),
    "5 a typo in a measure": (f"{GOOD} -m range-err", 2, ["did you mean 'range-eer'"], GOOD),
    "5 a typo in a rule": (f"{GOOD} --gaps bonafied", 2, ["--gaps bonafied", "did you mean 'bonafide'"], GOOD),
    "7 durations and scores swapped": (
        "eval ref.rttm reco2dur --durations unit0.02.score",
        2,
        ["unit0.02.score looks like scores", "--durations", "<utterance> <seconds>"],
        GOOD,
    ),
    "8 no polarity": (
        f"eval ref.rttm three.score {D} --hop 0.02",
        2,
        ["whether high scores mean bona fide or spoof", "--higher"],
        f"eval ref.rttm three.score {D} --hop 0.02 --higher bonafide",
    ),
    "9 one utterance missing": (
        f"eval ref.rttm short_20ms.score {D}",
        3,
        ["has references but no scores", "complete the files", "--partial"],
        GOOD,
    ),
    "10 labels of one class": (
        f"eval one_class.rttm unit0.02.score {D}",
        4,
        ["no bona fide time", "labels the wrong way round", "Correct the labels, or measure"],
        GOOD,
    ),
    "11 a missing file": (f"eval ref.rttm unit0.03.score {D}", 2, ["did you mean 'unit0.02.score'"], GOOD),
    "12 an EER rule cut short": (
        f"{GOOD} --eer-rule interp",
        2,
        ["--eer-rule interp", "interpolated"],
        f"{GOOD} --eer-rule interpolated",
    ),
    "14 a hop too short": (
        f"eval ref.rttm s.score {D} --hop 0.01",
        3,
        ["20 ms would fit 169 of 169 utterances", "--hop 0.02"],
        f"eval ref.rttm s.score {D} --hop 0.02",
    ),
    "15 a hop too long": (
        f"eval ref.rttm s.score {D} --hop 0.04",
        3,
        ["20 ms would fit 169 of 169 utterances", "--hop 0.02"],
        f"eval ref.rttm s.score {D} --hop 0.02",
    ),
    "16 a hop in milliseconds": (
        f"eval ref.rttm s.score {D} --hop 20",
        2,
        ["a hop of 20 s is longer than every utterance", "20 ms is 0.02"],
        f"eval ref.rttm s.score {D} --hop 0.02",
    ),
    "18 -m eer": (
        "eval ref.rttm unit0.02.score --durations reco2dur -m eer",
        2,
        ["which one? range-eer, point-eer@20ms, utterance-eer"],
        GOOD,
    ),
    "19 ids with an extension": (
        f"eval ref.rttm wav_20ms.score {D}",
        3,
        ["ids of the scores have an extension", ".wav'", "169 of 169 meet", "remove it"],
        GOOD,
    ),
    "19 ids with a folder": (
        f"eval ref.rttm path_20ms.score {D} --partial",
        4,
        ["a folder and an extension ('eval/", "169 of 169 meet", "remove them from the ids of the scores"],
        GOOD,
    ),
    "19 ids in lower case": (
        f"eval ref.rttm lower_20ms.score {D}",
        3,
        ["('BONA_E_0000001') and of the scores ('bona_e_0000001') differ in upper and lower case", "write them alike"],
        GOOD,
    ),
    "19 ids of the durations with an extension": (
        "eval ref.rttm unit0.02.score -m range-eer --durations wav.dur",
        3,
        ["ids of the durations have an extension ('BONA_E_0000001.wav')", "remove it"],
        GOOD,
    ),
    "19 ids of the metadata with an extension": (
        f"{GOOD} --by speaker --metadata wav.csv",
        3,
        ["ids of the metadata have an extension ('BONA_E_0000001.wav')", "remove it"],
        GOOD,
    ),
    "19 ids of other references with an extension": (
        "diff-references ref.rttm wav.rttm",
        4,
        ["ids of the references B have an extension ('BONA_E_0000001.wav')", "remove it"],
        None,
    ),
    "5 a typo in the name of a system": (
        "compare ref.rttm a=unit0.02.score b=s.score --durations reco2dur --hop 0.02 --against c",
        2,
        ["--against c: no such system"],
        None,
    ),
    "two systems of one name": (
        "compare ref.rttm a=unit0.02.score a=s.score --durations reco2dur --hop 0.02",
        2,
        ["two systems have the same name"],
        None,
    ),
    "a measure at a threshold": (
        "compare ref.rttm a=unit0.02.score b=s.score --durations reco2dur --hop 0.02 -m range-f1",
        2,
        ["give each system its own, chosen on other data, with --system-threshold, or"],
        None,
    ),
    "a bound in per cent": (
        f"{GOOD} -m range-fnr@fpr=1",
        2,
        ["fpr=1 allows 100 % and bounds nothing; 1 % is fpr=0.01"],
        f"{GOOD} -m range-fnr@fpr=0.01",
    ),
    "measures with commas": (
        "eval ref.rttm unit0.02.score --durations reco2dur -m range-eer,utterance-eer",
        2,
        ["no measure 'range-eer,utterance-eer'", "-m range-eer -m utterance-eer"],
        f"{GOOD} -m utterance-eer",
    ),
    "a page that is called a PDF": (
        "report ref.rttm unit0.02.score --durations reco2dur --out page.pdf",
        2,
        ["--out page.pdf: the page is HTML; call it page.html"],
        None,
    ),
    "probabilities in per cent": (
        f"eval ref.rttm percent_20ms.score {D} -m range-cllr --scores-are probability",
        2,
        ["are no probabilities; divide them by 100 if they are in per cent"],
        None,
    ),
    "a power in per cent": (
        "plan ref.rttm unit0.02.score --durations reco2dur --from 5 --to 6 --power 80",
        2,
        ["--power 80.0: must lie between 0 and 1"],
        None,
    ),
    "a parameter that a measure does not have": (
        f"{GOOD} -m range-min-dcf@prior=0.1",
        2,
        ["no measure 'range-min-dcf@prior=0.1': no parameter 'prior'"],
        GOOD,
    ),
    "no process at all": (f"{GOOD} --jobs 0", 2, ["--jobs 0: must be a whole number of processes"], GOOD),
    "references as durations": (
        "eval ref.rttm unit0.02.score -m range-eer --durations ref.rttm",
        2,
        ["ref.rttm looks like references, and is given as --durations", "<utterance> <seconds>"],
        GOOD,
    ),
    "9 a breakdown by attack": (
        f"{GOOD} --by kind",
        2,
        ["--by kind: give --metadata", "without it there is --by attack"],
        f"{GOOD} --by attack",
    ),
    "20 a CSV file without a first line": (
        f"eval ref.rttm nameless.csv {D} --higher bonafide",
        3,
        ["utterance, start, end, score", "begins without their names", "write them above it"],
        f"eval ref.rttm good.csv {D} --higher bonafide",
    ),
    "11 no file of a threshold": (
        f"{GOOD} -m range-f1 --threshold-from dev.json",
        2,
        ["there is no file 'dev.json'; write one with: spoofspan eval"],
        None,
    ),
    "20 semicolons": (
        f"eval ref.rttm semicolons.csv {D} --higher bonafide",
        3,
        ["semicolons between its columns: write commas"],
        f"eval ref.rttm good.csv {D} --higher bonafide",
    ),
    "20 a decimal comma": (f"eval ref.rttm comma_20ms.score {D}", 3, ["decimal comma: write a decimal point"], GOOD),
    "20 a header above lines of scores": (
        f"eval ref.rttm header_20ms.score {D}",
        3,
        ["its first line looks like a header: remove it"],
        GOOD,
    ),
    "20 ranges as plain text": (
        f"eval ref.rttm ranges.txt {D} --higher bonafide",
        3,
        ["write it as a table with the columns utterance, start, end, score"],
        f"eval ref.rttm good.csv {D} --higher bonafide",
    ),
    "6 UTF-16": (f"eval ref.rttm utf16_20ms.score {D}", 3, ["it is UTF-16 text: save it as UTF-8"], GOOD),
    "6 an empty file to convert": ("convert empty.score x.parquet", 3, ["empty.score: the file is empty"], None),
    "scores in the place of references to compare": (
        "diff-references ref.rttm unit0.02.score",
        2,
        ["unit0.02.score looks like scores, not references", "--format-b"],
        None,
    ),
    "20 a CSV file with other columns": (
        f"eval ref.rttm c.csv {D} --higher bonafide",
        3,
        ["a table has the columns utterance, start, end, score", "name,from,to,p", "rename them"],
        f"eval ref.rttm good.csv {D} --higher bonafide",
    ),
    "22 durations in milliseconds": (
        "eval ref.rttm unit0.02.score --durations milliseconds",
        3,
        ["the durations look like milliseconds", "169 of 169 utterances", "write them in seconds"],
        GOOD,
    ),
    "22 durations in samples": (
        "eval ref.rttm unit0.02.score --durations samples",
        3,
        ["the durations look like samples at 16 kHz", "write them in seconds"],
        GOOD,
    ),
    "22 times of scores in milliseconds": (
        f"eval ref.rttm ms.csv {D} --higher bonafide",
        3,
        ["the times of the scores look like milliseconds", "169 of 169 utterances", "write them in seconds"],
        f"eval ref.rttm good.csv {D} --higher bonafide",
    ),
    "22 times of references in milliseconds": (
        "eval ms.rttm good.csv --higher bonafide -m range-eer",
        3,
        ["or the times of the references, look like milliseconds", "write them in seconds"],
        f"eval ref.rttm good.csv {D} --higher bonafide",
    ),
    "26 a slack in milliseconds": (
        f"{GOOD} --slack 25",
        2,
        ["a slack of 25 s is longer than every utterance", "25 ms is 0.025"],
        None,
    ),
    "26 a collar in milliseconds": (
        f"{GOOD} --collar 20",
        2,
        ["a collar of 20 s is longer than every utterance", "20 ms is 0.02"],
        None,
    ),
    "26 resolutions in seconds": (
        "table ref.rttm unit0.02.score --durations reco2dur --resolutions 0.02,0.04",
        2,
        ["--resolutions 0.02,0.04: write milliseconds"],
        None,
    ),
    "26 a resolution in milliseconds": (
        f"{GOOD} -m point-eer@20s",
        2,
        ["a resolution of 20 s is longer than every utterance", "20 ms is 0.02"],
        f"{GOOD} -m point-eer@20ms",
    ),
    "31 names that tell no hop": (
        "compare ref.rttm a=s.score b=unit0.02.score --durations reco2dur --replicates 100",
        2,
        ["how long a frame is", "--hop in seconds", "NAME_20ms.score"],
        None,
    ),
    "32 regions of nobody": (
        f"{GOOD} --regions none.uem",
        4,
        ["the regions name none of the utterances", "'nobody'", "correct the ids"],
        f"{GOOD} --regions all.uem",
    ),
    "33 plot without references": (
        "plot timeline scores_20ms.parquet --out x.png",
        2,
        ["without REFERENCES there is no EER", "give --threshold", "or give REFERENCES"],
        None,
    ),
    "33 report without references": (
        "report scores_20ms.parquet --out x.html",
        2,
        ["these are scores, and nothing says where the spoofs are", "give REFERENCES before them", "--threshold"],
        None,
    ),
    "33 another figure without references": (
        "plot det scores_20ms.parquet --out x.png",
        2,
        ["scores_20ms.parquet has scores", "give REFERENCES before it"],
        None,
    ),
}
PLAIN = f"eval ref.rttm three.score {D} --hop 0.02 --higher"
# The third list: mistake -> command, exit code, parts of the whole message, its grade (0 to 3) before and after it was
# mended, the command that follows the remedy. Grade 2 names the cause, 3 the right remedy too.
THIRD = {
    "durations with a decimal comma": (
        "eval ref.rttm unit0.02.score --durations comma.dur",
        3,
        ["write a decimal point"],
        (2, 3),
        GOOD,
    ),
    "durations with commas between the columns": (
        "eval ref.rttm unit0.02.score --durations csv.dur",
        3,
        ["write a space between the columns"],
        (1, 3),
        GOOD,
    ),
    "durations with a header": (
        "eval ref.rttm unit0.02.score --durations header.dur",
        3,
        ["header.dur:1", "remove the header"],
        (2, 3),
        GOOD,
    ),
    "durations before the ids": (
        "eval ref.rttm unit0.02.score --durations swapped.dur",
        3,
        ["the id comes first"],
        (1, 3),
        GOOD,
    ),
    "durations in frames": (
        "eval ref.rttm unit0.02.score --durations frames.dur",
        3,
        ["look like frames of 20 ms", "seconds"],
        (3, 3),
        GOOD,
    ),
    "an RTTM with decimal commas": (f"eval comma.rttm unit0.02.score {D}", 3, ["use a decimal point"], (3, 3), GOOD),
    "an RTTM whose start and duration are swapped": (
        f"eval swapped.rttm unit0.02.score {D}",
        3,
        ["fifth starts; swap them: awk", "swapped.rttm >"],
        (1, 3),
        GOOD,
    ),
    "ids in quotes": (
        f"eval ref.rttm quoted_20ms.score {D}",
        3,
        ["have quotes", "169 of 169 meet", "--bare-ids"],
        (1, 3),
        None,
    ),
    "frames from 1": (f"eval ref.rttm one_20ms.score {D}", 3, ["frames count from 0"], (2, 2), GOOD),
    "scores in per cent with the sign": (f"eval ref.rttm sign_20ms.score {D}", 3, ["% sign: remove it"], (1, 3), GOOD),
    "times in the place of frames": (
        f"eval ref.rttm times.score {D} --higher bonafide",
        3,
        ["second column holds times", "time / hop"],
        (1, 3),
        GOOD,
    ),
    "a line for each utterance": (
        f"eval ref.rttm wide.csv {D} --hop 0.02 --higher bonafide",
        3,
        ["numbers each", "a line for each frame, <utterance> <frame> <score>"],
        (1, 3),
        GOOD,
    ),
    "a hop with a decimal comma": (
        f"eval ref.rttm three.score {D} --higher bonafide --hop 0,02",
        2,
        ["write 0.02"],
        (2, 3),
        f"{PLAIN} bonafide",
    ),
    "a hop with a unit": (
        f"eval ref.rttm three.score {D} --higher bonafide --hop 0.02s",
        2,
        ["write 0.02"],
        (2, 3),
        f"{PLAIN} bonafide",
    ),
    "a hop in samples": (
        f"eval ref.rttm three.score {D} --higher bonafide --hop 320",
        2,
        ["given in seconds"],
        (2, 2),
        f"{PLAIN} bonafide",
    ),
    "the polarity in other words": (f"{PLAIN} real", 2, ["did you mean 'bonafide'?"], (2, 3), f"{PLAIN} bonafide"),
    "the polarity with a hyphen": (f"{PLAIN} bona-fide", 2, ["did you mean 'bonafide'?"], (2, 3), f"{PLAIN} bonafide"),
    "the wrong polarity": (
        f"{PLAIN} spoof",
        0,
        ["94.79 %", "often means the wrong polarity"],
        (3, 3),
        f"{PLAIN} bonafide",
    ),
    "durations as scores": (
        "eval ref.rttm reco2dur",
        2,
        ["looks like durations, not scores; give it with --durations"],
        (0, 3),
        GOOD,
    ),
    "durations after the systems": (
        "compare ref.rttm s.score unit0.02.score reco2dur --hop 0.02",
        2,
        ["give it with --durations"],
        (1, 3),
        None,
    ),
    "several systems as one": (
        f"eval ref.rttm two/*.score {D} --hop 0.02",
        3,
        ["if these are several systems, use compare or table"],
        (1, 3),
        None,
    ),
    "shares in the place of per cent": (
        "plan ref.rttm unit0.02.score --durations reco2dur --from 0.052 --to 0.055",
        0,
        ["are in per cent"],
        (0, 2),
        None,
    ),
    "score for eval": ("score ref.rttm unit0.02.score", 2, ["Did you mean 'eval'?"], (1, 3), GOOD),
    "train for cm train": ("train --out x", 2, ["Did you mean 'cm train'?"], (1, 3), None),
    "--metric": (f"{GOOD} --metric range-eer", 2, ["with -m, such as -m range-eer"], (1, 3), GOOD),
    "--ci": (f"{GOOD} --ci", 2, ["no option --ci: give --confidence 0.95"], (1, 3), None),
    "--bootstrap": (f"{GOOD} --bootstrap 1000", 2, ["--interval percentile --replicates 1000"], (1, 3), None),
    "-o": (f"{GOOD} -o x.json", 2, ["no option -o: give --out FILE"], (1, 3), None),
    "--output": (f"{GOOD} --output=x.json", 2, ["no option --output: give --out FILE"], (2, 3), None),
    "--group-by": (f"{GOOD} --group-by attack", 2, ["give --by attack"], (1, 3), None),
    "--resolution": (f"{GOOD} --resolution 20", 2, ["such as -m point-eer@20ms"], (1, 3), None),
    "--scores": ("compare ref.rttm --scores unit0.02.score", 2, ["give SCORES after REFERENCES"], (1, 3), None),
    "-m range_eer": (f"eval ref.rttm unit0.02.score -m range_eer {D}", 2, ["did you mean 'range-eer'"], (3, 3), GOOD),
    "a threshold in per cent": (f"{GOOD} --threshold 50%", 2, ["50 % is 0.5"], (3, 3), None),
    "a confidence of 95": (f"{GOOD} --confidence 95", 2, ["between 0 and 1, as 0.95"], (3, 3), None),
    "the level of a test": (f"{GOOD} --confidence 0.05", 2, ["--confidence 0.95 is that of a test"], (0, 3), None),
    "a margin in per cent": (
        f"compare ref.rttm unit0.02.score b=s.score {D} --margin 5%",
        2,
        ["the unit is the printed one: write 5"],
        (0, 3),
        None,
    ),
    "a plan in per cent": (
        f"plan ref.rttm unit0.02.score {D} --from 5.2% --to 5.5%",
        2,
        ["the unit is the printed one: write 5.2"],
        (0, 3),
        None,
    ),
    "a plan of equal values": (
        f"plan ref.rttm unit0.02.score {D} --from 5.2 --to 5.2",
        2,
        ["both values of range-eer are 0.052", "with --from and --to"],
        (2, 3),
        None,
    ),
    "--by Attack": (f"{GOOD} --by Attack", 2, ["without it there is --by attack"], (1, 3), None),
    "explain range-err": ("explain range-err", 0, ["this is 'range-eer'"], (1, 3), None),
}
# what was silent, or read though nothing was wrong
FINE = {
    "21 a JSON object of lists": f"eval ref.rttm s.json {D} --hop 0.02 --higher bonafide",
    "21 a pickle of lists": f"eval ref.rttm s.pkl {D} --hop 0.02 --higher bonafide",
    "13 no durations": "eval ref.rttm unit0.02.score -m range-eer",
    "17 the name tells the hop": f"eval ref.rttm x/unit0.02.score {D} --higher bonafide",
    "19 regions of everybody": f"{GOOD} --regions all.uem",
    "Windows line ends": "eval windows_ref.rttm windows_unit0.02.score --durations windows_reco2dur -m range-eer",
    "byte order marks": "eval mark_ref.rttm mark_unit0.02.score --durations mark_reco2dur -m range-eer",
    "labels called real and fake": f"eval words.rttm unit0.02.score {D}",
    "spaces at the ends of lines": f"eval ref.rttm trailing_20ms.score {D}",
    "columns aligned by spaces": f"eval ref.rttm aligned_20ms.score {D}",
}


@pytest.mark.parametrize("mistake", SHELL)
def test_the_message_names_the_cause_and_a_remedy_that_leads_to_the_right_number(mistake, folder):
    typed, code, parts, remedied = SHELL[mistake]
    exit_code, out, err = shell(folder, typed)
    assert (exit_code, out) == (code, ""), err
    first = "\n".join(one for one in err.split("\n  ")[0].splitlines() if not one.startswith("note: "))
    assert all(part in first for part in parts), err
    assert not re.search(r"\b(uncovered|overlong|gaps|partial|hop|higher|eer_rule)=", err), err
    if remedied is not None:
        assert_right(folder, remedied)


@pytest.mark.parametrize("mistake", THIRD)
def test_mistakes_of_the_third_list_are_named(mistake, folder):
    typed, code, parts, (_, grade), remedied = THIRD[mistake]
    exit_code, _, err = shell(folder, typed)
    assert exit_code == code, err
    assert all(part in err for part in parts), err
    assert "Traceback" not in err
    assert grade >= 2
    if remedied is not None:
        assert_right(folder, remedied)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("ss.range_eer(references, scores, alpha=0.05)", "no argument 'alpha' here; use confidence=0.95"),
        ("ss.range_eer(references, scores, n_bootstrap=100)", "use resampling=ss.Resampling"),
        ("ss.evaluate(references, scores, metrics=['range-eer'])", "use measures="),
        ("ss.evaluate(references, scores, measure='range-eer')", "use measures="),
        ("ss.evaluate(references, scores, ['range-eer range-f1'])", "these are several; give them one by one"),
        ("ss.range_eer([[0, 1]], [[0.1, 0.9]], hop=0.02, higher='spoof')", "references must be References, not a list"),
        ("ss.range_eer(references, scores, threshold=0.5)", "use threshold= of evaluate"),
        ("ss.range_eer(references, scores, pos_label=1)", "use spoof_label="),
        ("ss.plot.det(references, scores, title='dev')", "ax.set_title"),
        ("ss.plot.det(references, scores, figsize=(4, 3))", "plt.subplots"),
        ("ss.evaluate(references, {'ours': scores})", "give systems['ours'], or compare(references, systems)"),
        ("ss.compare(references, {'a': scores, 'b': scores})['a']", ".intervals['a']"),
        ("ss.compare(references, {'a': scores, 'b': scores})['b', 'a']", "the pairs are ('a', 'b')"),
    ],
)
@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
def test_arguments_of_other_libraries_lead_to_ours(typed, said, demo):
    references, scores = demo[0][::4], demo[1][::4]
    with pytest.raises(ss.UsageError, match=re.escape(said)):
        eval(typed, {"ss": ss, "references": references, "scores": scores})


@pytest.mark.parametrize("case", FINE)
def test_what_is_no_mistake_gives_the_right_number(case, folder):
    assert_right(folder, FINE[case])


def test_what_is_assumed_without_durations_is_said(folder):  # 13
    assert "note: no --durations: each utterance is assumed to end" in shell(folder, FINE["13 no durations"])[2]
    assert "note" not in shell(folder, GOOD)[2]


@pytest.mark.parametrize("hop", [0.01, 0.04])
def test_no_rule_is_advised_where_another_hop_fits(hop, folder):
    _, _, err = shell(folder, f"eval ref.rttm s.score {D} --hop {hop}")
    assert "uncovered" not in err
    assert "overlong" not in err


@pytest.mark.parametrize("output", ["text", "json", "csv"])
@pytest.mark.parametrize(
    ("rule", "typed"),
    [
        ("--uncovered hold decides 50.2 % of the time", "s.score --durations reco2dur --hop 0.01 --uncovered hold"),
        ("--overlong cut decides 49.6 % of the time", "s.score --durations reco2dur --hop 0.04 --overlong cut"),
        (
            "--extent last-range-end decides 99.9 % of the time",
            "unit0.02.score --durations milliseconds --extent last-range-end",
        ),
        (
            "--gaps bonafide decides 99.9 % of the time",
            "unit0.02.score --durations milliseconds --gaps bonafide --uncovered hold",
        ),
    ],
)
def test_rules_that_decide_much_of_the_time_warn_on_every_output(rule, typed, output, folder):
    exit_code, out, err = shell(folder, f"eval ref.rttm {typed} -m range-eer --format {output}")
    assert exit_code == 0
    assert f"warning: range-eer: {rule}" in err
    if output == "json":
        said = json.loads(out)["measurements"][0]["warnings"]
        assert any(in_flags(one).startswith(rule) for one in said)


def test_shards_warn_alike(folder):
    typed = "eval ref.rttm s.score --durations reco2dur --hop 0.01 --uncovered hold -m range-eer"
    (_, whole, said), (_, parts, too) = (shell(folder, f"{typed}{more}") for more in ("", " --stream"))
    assert whole == parts
    assert "50.2 % of the time" in said
    assert said.splitlines()[0] in too


def test_gaps_of_a_list_of_spoofs_are_no_surprise():
    spoofs = ss.References.from_ranges({"u": [(0.0, 0.1, "spoof")], "v": []}, durations={"u": 1.0, "v": 1.0})
    scores = ss.Scores.from_frames({"u": [0.1] * 5 + [0.9] * 45, "v": [0.8] * 50}, hop=0.02, higher="bonafide")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ss.range_eer(spoofs, scores, gaps="bonafide").warnings == ()
    both = ss.References.from_ranges(
        {"u": [(0.0, 0.1, "spoof")], "v": [(0.0, 0.1, "bonafide")]}, durations={"u": 1.0, "v": 1.0}
    )
    with pytest.warns(ss.SpoofspanWarning, match="gaps='bonafide' decides 90.0 % of the time"):
        ss.range_eer(both, scores, gaps="bonafide")


@pytest.mark.parametrize("share", [0.04, 0.06])
def test_five_per_cent_is_much(share):
    references = ss.References.from_ranges({"u": [(0.0, 5.0, "bonafide"), (5.0, 10.0, "spoof")]})
    frames = np.linspace(1, 0, round(500 * (1 - share)))
    scores = ss.Scores.from_frames({"u": frames}, hop=0.02, higher="bonafide")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = ss.range_eer(references, scores, uncovered="hold")
    assert len(found.warnings) == len(said) == (share > 0.05)


def test_a_threshold_of_the_other_polarity_is_noticed(folder):  # 28
    typed = "eval ref.rttm unit0.02.score --durations reco2dur -m range-f1 --threshold"
    exit_code, _, err = shell(folder, f"{typed} 0.387")
    assert exit_code == 0
    assert "99.9 % is called bona fide" in err
    assert "of the other polarity? -0.387 would call 63.4 % bona fide" in err
    exit_code, _, err = shell(folder, f"{typed} -0.387")
    assert (exit_code, "warning" in err) == (0, False)
    assert "is called spoof" in shell(folder, f"{typed} -5")[2]
    assert "is it a threshold of these scores?" in shell(folder, f"{typed} -5")[2]


@pytest.mark.parametrize(
    "typed",
    [
        "eval ref.rttm turned.score -m range-eer",
        "compare ref.rttm a=unit0.02.score b=turned.score --format csv",
        "compare ref.rttm a=unit0.02.score b=turned.score --one-system",
        "plan ref.rttm turned.score --from 94 --to 95",
        "table ref.rttm turned.score --resolutions 20",
        "domains {set}.rttm turned.score --set ref --set same",
    ],
)
def test_every_command_speaks_of_scores_that_are_worse_than_chance(typed, folder):
    lines = (line.split() for line in (folder / "unit0.02.score").read_text().splitlines())
    (folder / "turned.score").write_text("".join(f"{u} {k} {spoof} {real}\n" for u, k, real, spoof in lines))
    (folder / "same.rttm").write_text((folder / "ref.rttm").read_text())
    exit_code, _, err = shell(folder, f"{typed} --durations reco2dur --hop 0.02")
    assert exit_code == 0
    assert "an EER over 50 % (94.79 %) often means the wrong polarity" in err


@pytest.mark.parametrize(
    "typed",
    [
        "eval ref.rttm coarse.score -m range-eer",
        "compare ref.rttm a=unit0.02.score b=coarse.score --format csv",
        "plan ref.rttm coarse.score --from 5 --to 6",
        "table ref.rttm coarse.score --resolutions 20",
        "domains {set}.rttm coarse.score --set ref --set same",
    ],
)
def test_every_command_speaks_of_scores_with_few_values(typed, folder):
    lines = (line.split() for line in (folder / "unit0.02.score").read_text().splitlines())
    (folder / "coarse.score").write_text("".join(f"{u} {k} {round(float(real))} 0\n" for u, k, real, _ in lines))
    (folder / "same.rttm").write_text((folder / "ref.rttm").read_text())
    exit_code, _, err = shell(folder, f"{typed} --durations reco2dur --hop 0.02")
    assert exit_code == 0
    assert "points at the nearest threshold (few distinct scores?)" in err
    assert "points at" not in shell(folder, f"{typed} --durations reco2dur --hop 0.02 --eer-rule interpolated")[2]


@pytest.mark.parametrize("rule", ["--merge-gap 40", "--min-duration 100"])
def test_ranges_in_milliseconds_are_noticed(rule, folder):
    typed = f"convert unit0.02.score found.csv --force --threshold -0.387 {rule}"
    exit_code, _, err = shell(folder, typed)
    assert exit_code == 0
    assert f"warning: {rule}.0 is in seconds, and longer than most spoofs; {rule.split()[1]} ms is 0." in err
    assert "is it a threshold of these scores?" not in err  # it is: the short ranges are missing, not the threshold
    assert "warning" not in shell(folder, f"{typed[: -len(rule)]}{rule.split()[0]} 0.1")[2]


def test_a_hop_in_milliseconds_is_noticed_where_no_duration_contradicts_it(folder):
    typed = "convert s.score hop.parquet --force --hop"
    assert "warning: --hop 20 is in seconds; 20 ms is 0.02" in shell(folder, f"{typed} 20")[2]
    assert "warning" not in shell(folder, f"{typed} 0.02")[2]


def test_an_experiment_without_its_data_leaves_no_folder_that_refuses_the_next_try(folder):
    code, _, err = shell(folder, "experiment small --data nowhere")
    assert (code, err) == (2, "error: --data nowhere: there is no such folder\n")
    assert not (folder / "small").exists()


def test_a_system_has_the_same_name_in_every_command(folder):
    (folder / "same.rttm").write_text((folder / "ref.rttm").read_text())
    typed = "domains {set}.rttm unit0.02.score --set ref --set same --durations reco2dur"
    assert "\nunit0.02 " in shell(folder, typed)[1]


@pytest.fixture(scope="module")
def small():
    """References and scores of two utterances of 2 s."""
    rows = [(0.0, 1.0, "bonafide"), (1.0, 2.0, "spoof")]
    references = ss.References.from_ranges({"u1": rows, "u2": rows})
    frames = {utt: np.repeat([0.9, -0.4], 50) for utt in ("u1", "u2")}
    return references, frames


def test_seconds_are_meant_where_milliseconds_are_given(small):  # 26
    references, frames = small
    scores = ss.Scores.from_frames(frames, hop=0.02, higher="bonafide")
    twenty = r"of 20 s is longer than every utterance \(the longest has 2.000 s\).* 20 ms is 0.02"
    with pytest.raises(ss.UsageError, match=f"a resolution {twenty}"):
        ss.point_eer(references, scores, 20)
    with pytest.raises(ss.UsageError, match=f"a resolution {twenty}"):
        scores.resample(20)
    with pytest.raises(ss.UsageError, match=f"a slack {twenty}"):
        ss.range_eer(references, scores, slack=20)
    with pytest.raises(ss.UsageError, match="a resolution of 10 s"):
        ss.resolution_table(references, {0.02: scores}, resolutions=[10, 20, 40])
    for overlong in ("error", "cut"):
        with pytest.raises(ss.UsageError, match=f"a hop {twenty}"):
            ss.range_eer(references, ss.Scores.from_frames(frames, hop=20, higher="bonafide"), overlong=overlong)
    # not longer than every utterance, or shorter than 2 s, or one score for all of it: these may be meant
    two = ss.References.from_ranges({"u1": [(0.0, 2.5, "bonafide")], "u2": [(0.0, 1.9, "spoof")]})
    longer = ss.Scores.from_frames({"u1": [0.9] * 125, "u2": [-0.4] * 95}, hop=0.02, higher="bonafide")
    assert ss.point_eer(two, longer, 2.5).value == 0
    whole = ss.Scores.from_frames({"u1": [0.1], "u2": [0.2]}, hop=4, higher="bonafide")
    assert ss.range_eer(references, whole).value == 0.5


def test_what_is_given_to_python_is_named(small, tmp_path):  # 24, 25, 29
    references, frames = small
    scores = ss.Scores.from_frames(frames, hop=0.02, higher="bonafide")
    assert ss.evaluate(references, scores, "range-eer")["range-eer"].value == 0
    assert ss.evaluate(references, frames, "range-eer", hop=0.02, higher="bonafide")["range-eer"].value == 0
    with pytest.raises(ss.UsageError, match=r"how long a frame is \(hop=.*, nor what high scores mean .*; add both"):
        ss.evaluate(references, frames)
    with pytest.raises(ss.UsageError, match="references come first, then scores; these are swapped"):
        ss.evaluate(scores, references)
    for measured in (ss.range_eer, ss.utterance_eer, ss.bisection_eer, ss.overlay, ss.error_curve):
        with pytest.raises(ss.UsageError, match="scores of frames do not say how long a frame is"):
            measured(references, frames)
        with pytest.raises(ss.UsageError, match="these are swapped"):
            measured(scores, references)
        with pytest.raises(ss.UsageError, match="labels of frames do not say how long a frame is"):
            measured(frames, scores)
    with pytest.raises(ss.UsageError, match=r"not a dict; References\.from_table and Scores"):
        ss.read_references({"utterance": ["u1"]})


def test_a_model_is_missing(folder):  # 23
    exit_code, _, err = shell(folder, "cm score one.wav --out scores")
    assert exit_code == 2
    assert "one.wav is a recording, and there is no model" in err
    assert "--preset joint-detector" in err


def test_an_attack_is_called_as_its_folder():  # 34
    from spoofspan.corpus.splice_plan import check_held_out

    called = {"A01": "hifigan", "A02": "world"}
    assert check_held_out(["world"], list(called), called) == ("A02",)
    with pytest.raises(ss.UsageError, match="held_out='wold': there is no such attack, did you mean 'world'"):
        check_held_out(["wold"], list(called), called)


# ---------------------------------------------------------------- the diagnosis alone


@pytest.mark.parametrize("hop", [5, 10, 12.5, 16, 20, 32, 40, 80, 160, 320, 640])
@pytest.mark.parametrize("short", [0, 12, 24])  # ms that a front-end stops early
def test_the_hop_that_made_the_frames_is_found(hop, short):
    rng = np.random.default_rng(round(10 * hop + short))
    extents = rng.integers(2_000_000_000, 20_000_000_000, 200)
    frames = np.maximum(np.floor((extents / 1e6 - short) / hop), 1).astype(np.int64)
    found = fitting_hop(frames, extents)
    assert found is not None

    # an oracle in plain loops: the rules let two late frames pass, and a tail of one hop and 25 ms
    def fits(count, extent, ms):
        ns = ms * 1e6
        late = sum(k * ns >= extent for k in range(count))
        return late <= 2 and extent - count * ns <= ns + 25e6

    assert found == (hop, 200)
    for ms in USUAL_HOPS[5::6]:
        one_by_one = [fits(int(n), int(e), ms) for n, e in zip(frames[:20], extents[:20], strict=True)]
        assert fits_hop(frames[:20], extents[:20], ms * 1e6).tolist() == one_by_one


def test_no_hop_is_named_where_none_fits():
    extents = np.array([2_000_000_000] * 10)
    assert fitting_hop(np.arange(10, 1010, 100), extents) is None
    assert fitting_hop(np.zeros(10, np.int64), extents) is None


def test_ids_are_compared_both_ways():
    assert id_remedy(["a.wav", "b.wav"], ["a", "b"]).startswith("ids of the references have an extension ('a.wav')")
    assert id_remedy(["a", "b"], [r"C:\x\a", r"C:\x\b"]).startswith("ids of the scores have a folder")
    assert id_remedy(["a", "b"], ["c.wav", "d.wav"]) is None
    assert id_remedy(["a"], []) is None
    few = [f"u{i}" for i in range(20)]
    nearly = [f"{one}.wav" for one in few[: round(20 * MOST)]] + ["x.wav", "y.wav"]
    assert "18 of 20 meet" in id_remedy(few, nearly)
    assert id_remedy(few, [*nearly[1:], "z.wav"]) is None


def test_units_are_compared_both_ways():
    ends = np.array([1_810_000_000, 3_060_000_000])
    assert unit_remedy(ends, ends * 1000).startswith("the durations look like milliseconds")
    assert unit_remedy(ends * 1000, ends).startswith("the times of the references look like milliseconds")
    assert unit_remedy(ends, ends * 16000).startswith("the durations look like samples at 16 kHz")
    assert unit_remedy(ends, ends * 2) is None
    assert unit_remedy(ends, ends) is None


def test_other_equal_signs_stay_as_they_are():
    same = "u=1, file 'gaps='x'', NAME=FILE, point-eer@fpr=0.01, --hop=3, a.hop=2, --change seed=3, x@prior=0.1"
    assert in_flags(same) == same


def test_what_was_clear_already_stays_clear(folder):  # 2, 3, 4, 6, 30
    code, _, err = shell(folder, f"eval ref.rttm scores_20ms.parquet {D} --higher spoof")
    assert code == 2
    assert "high scores mean bonafide" in err
    assert "contradicts it" in err
    lines = (folder / "unit0.02.score").read_text().splitlines()
    turned = [" ".join(line.split()[1::-1] + line.split()[2:]) for line in lines]
    (folder / "turned_20ms.score").write_text("\n".join(turned) + "\n")
    code, _, err = shell(folder, f"eval ref.rttm turned_20ms.score {D}")
    assert code in (2, 3)
    (folder / "empty_20ms.score").write_text("")
    assert "the file is empty" in shell(folder, f"eval ref.rttm empty_20ms.score {D}")[2]
    crlf = (folder / "unit0.02.score").read_bytes().replace(b"\n", b"\r\n")
    (folder / "crlf_20ms.score").write_bytes(crlf)
    assert_right(folder, f"eval ref.rttm crlf_20ms.score {D}")
    squashed = (
        f"{u} {k} {float(np.exp(3 * float(v)))!r}" for u, k, v, _ in map(str.split, lines)
    )  # any increasing function
    (folder / "log_20ms.score").write_text("\n".join(squashed) + "\n")
    assert_right(folder, f"eval ref.rttm log_20ms.score {D} --higher bonafide")
    for pair in ("one_class.rttm ref.rttm", "ref.rttm one_class.rttm"):
        code, out, _ = shell(folder, f"diff-references {pair} --durations reco2dur")
        assert code == 0
        assert "361.712" in out
    assert "B has one class only" in out
