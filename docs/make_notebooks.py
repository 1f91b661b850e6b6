"""Write the notebooks of ``docs/notebooks`` with what they print: ``python docs/make_notebooks.py`` (extra ``docs``).

The text of a notebook is here, where it can be read and compared; a line ``# %%`` begins a cell, ``# %% text`` one of
Markdown.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).with_name("notebooks")

FIRST_LOOK = """
# %% text
# A first look

The demo corpus ships with the package: 169 utterances, and the scores of a small countermeasure with one branch per
hop. Everything here runs in a second or two.

# %%
import spoofspan as ss
import spoofspan.demo
from spoofspan import groups

corpus = spoofspan.demo.load()
references, system = corpus.references, corpus.systems[0.02]
references

# %%
system

# %% text
## One number

The range EER weighs every error by how long it lasts. The attacks are those of training: on one that it has not heard,
this system is near chance.

# %%
measured = ss.range_eer(references, system)
print(measured)

# %% text
Every number carries a signature: the measure, its rules, and hashes of what was measured.

# %%
measured.signature.comparable.split("|")[:4]

# %% text
## Several measures at once

# %%
print(ss.evaluate(references, system, ["range-eer", "point-eer@20ms", "range-f1", "range-auc"]))

# %% text
## Where the error lies

# %%
for group in groups.by_attack(references, system).groups:
    print(group.name, group.utterances, f"{100 * group.measurement.value:.2f} %")

# %% text
## A figure

One utterance: its labels, its scores, and what is called spoof at the threshold of the EER.

# %%
ss.plot.timeline(references, system, "CON_E_0000059", style="spoofspan");
"""

OWN_SYSTEM = '''
# %% text
# A system of your own

Labels and scores as arrays, a threshold from a development set, and the errors of single utterances. The corpus is
made up on the spot: put your own arrays in its place.

# %%
import numpy as np

import spoofspan as ss

HOP = 0.02
rng = np.random.default_rng(1)


def made_up(name, utterances):
    """Ranges and scores: every utterance has one spoofed range; the scores are noisy, higher for bona fide."""
    ranges, frames, durations = {}, {}, {}
    for number in range(utterances):
        start, end = sorted(rng.integers(20, 180, 2).tolist())
        end = max(end, start + 10)
        utterance = f"{name}-{number:02d}"
        durations[utterance] = 200 * HOP
        ranges[utterance] = [
            (0.0, start * HOP, "bonafide"),
            (start * HOP, end * HOP, "spoof", "A01" if number % 2 else "A02"),
            (end * HOP, 200 * HOP, "bonafide"),
        ]
        truth = np.ones(200)
        truth[start:end] = -1
        frames[utterance] = (truth + rng.normal(0, 1.2, 200)).astype(np.float32)
    references = ss.References.from_ranges(ranges, durations=durations)
    return references, ss.Scores.from_frames(frames, hop=HOP, higher="bonafide")


development, evaluation = made_up("dev", 20), made_up("eval", 40)
development[0], evaluation[1]

# %% text
## A threshold from the development set

An EER takes its threshold from the data that it is measured on, which is optimistic. For measures at a threshold,
choose it elsewhere:

# %%
threshold = ss.range_eer(*development).threshold
print(ss.evaluate(*evaluation, ["range-eer", "range-f1", "range-fpr", "range-fnr"], threshold=float(threshold)))

# %% text
## The worst utterances

# %%
errors = ss.errors_by_utterance(*evaluation, float(threshold))
columns = errors.columns()
wrong = np.add(columns["false_positive_seconds"], columns["false_negative_seconds"])
for place in np.argsort(-wrong)[:3]:
    print(columns["utterance"][place], f"{wrong[place]:.2f} s wrong, F1 {columns['f1'][place]:.3f}")

# %% text
## Smoothing helps

Averaging five frames gives scores of the same hop. Both systems are measured on the same labels under the same rules,
so their numbers may be compared: the first part of their signatures is equal.

# %%
references, scores = evaluation
smooth = {
    utterance: np.convolve(scores.values[begin:end], np.ones(5) / 5, mode="same").astype(np.float32)
    for utterance, begin, end in zip(scores.utterances, scores.offsets[:-1], scores.offsets[1:], strict=True)
}
smoothed = ss.Scores.from_frames(smooth, hop=HOP, higher="bonafide")
before, after = ss.range_eer(references, scores), ss.range_eer(references, smoothed)
print(f"{100 * before.value:.2f} % -> {100 * after.value:.2f} %")
before.signature.comparable == after.signature.comparable
'''

NOTEBOOKS = {"first_look": FIRST_LOOK, "own_system": OWN_SYSTEM}


def main() -> None:
    """Run each notebook and write it."""
    import nbformat

    FOLDER.mkdir(exist_ok=True)
    for name, text in NOTEBOOKS.items():
        nbformat.write(executed(text), FOLDER / f"{name}.ipynb")


def executed(text: str) -> object:
    """A notebook of this text, with what its cells print."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook()
    for number, cell in enumerate(text.strip("\n").split("# %%")[1:]):
        is_text, content = cell.startswith(" text"), cell.partition("\n")[2].strip("\n")
        made = (nbformat.v4.new_markdown_cell if is_text else nbformat.v4.new_code_cell)(content)
        made["id"] = f"cell-{number}"
        notebook.cells.append(made)
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    NotebookClient(notebook, kernel_name="python3", timeout=300).execute()
    for cell in notebook.cells:
        said = [one["text"] for one in cell.get("outputs", []) if one.get("name") == "stderr"]
        if said:
            raise SystemExit(f"a cell of a page warns: {said}")
        cell.get("metadata", {}).pop("execution", None)  # times of day
    notebook.metadata.pop("language_info", None)  # the version of Python
    return notebook


if __name__ == "__main__":
    main()
