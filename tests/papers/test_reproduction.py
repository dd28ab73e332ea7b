"""README, docs and changelog say what the stored runs say."""

import re
from pathlib import Path

from tools.field import FIELD

from arithmos.judging.cells import judged
from arithmos.papers import PAPERS
from arithmos.papers.claims import claims_of
from arithmos.papers.verdicts import matrix

ROOT = Path(__file__).parents[2]
NAMES = "README.md", "docs/reproduction.md", "CHANGELOG.md"
TEXTS = {name: (ROOT / name).read_text(encoding="utf-8") for name in NAMES}
DIGITS = (ROOT / "docs/digits.md").read_text(encoding="utf-8")
EXPERIMENTS = {
    "Table 1": ["table-1"],
    "Table 2": ["table-2"],
    "regularizer +, −, ×": ["regularizer-add", "regularizer-sub", "regularizer-mul"],
    "digits, product": ["mnist-product"],
    "digits, product without R_z": ["mnist-product-no-rz"],
    "digits, sum": ["mnist-sum"],
    "digits, sum without R_z": ["mnist-sum-no-rz"],
}


def specs_of(*keys):
    return {spec.id for key in keys for experiment in PAPERS[key].experiments for spec in experiment.specs}


def test_every_text_has_the_same_runs(results):
    every = results.load(columns=["task"])
    own = every["spec_id"].isin(specs_of("arithmos2026") - specs_of("madsen2020"))
    newer = every["spec_id"].isin(specs_of(*FIELD) - specs_of("madsen2020", "arithmos2026"))
    first = every[~own & ~newer]
    arithmetic = int((first["task"] == "arithmetic").sum())
    for count in (len(every), own.sum(), newer.sum()):
        assert f"{count:,}" in TEXTS["README.md"]  # written by `python tools/field.py results`
    for name, text in TEXTS.items():
        assert f"{len(first):,}" in text, name
        assert f"{arithmetic:,}" in text, name
        assert not {*re.findall(r"\b24,\d{3}\b", text)} - {f"{len(first):,}", f"{arithmetic:,}"}, name
    assert len(first) - arithmetic - 160 == 80


def test_the_table_of_verdicts_is_the_one_that_is_printed(recounted):
    counts = matrix(recounted).set_index("experiment")
    words = ["numbers", "agrees", "differs", "cannot tell"]
    columns = [*words, *[f"zero {word}" for word in words]]
    table = TEXTS["docs/reproduction.md"].partition("## Verdicts")[2].partition("\n\nA number")[0]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()[2:]]
    assert sum(len(EXPERIMENTS.get(line[0], [line[0]])) for line in lines) == len(counts)
    for name, *numbers in lines:
        names = EXPERIMENTS.get(name, [name.replace(" ", "-")])
        assert [*map(int, numbers)] == counts.loc[names, columns].sum().tolist(), name


def test_the_answer_is_the_one_that_is_printed(recounted):
    told = recounted[recounted["verdict"].isin(["agrees", "differs"])]
    rates = told[told["measure"] == "success_rate"]
    agree = int((rates["verdict"] == "agrees").sum())
    assert rates["finds"].max() == 0.44
    assert rates["finds"].median() == 0.25
    for name in ("README.md", "docs/reproduction.md"):
        text = " ".join(TEXTS[name].split())
        assert f"{agree} of {len(rates)}" in text, name
        assert f"{len(told)} " in text, name
        assert f"{(told['verdict'] == 'agrees').sum()} agree" in text, name
        assert f"{(recounted['verdict'] == 'cannot tell').sum():,}" in text, name


def test_the_claims_are_the_ones_that_are_printed(results):
    paper = PAPERS["madsen2020"]
    cells = judged(results, paper.experiments)
    counts = claims_of(cells, paper.claims)["verdict"].value_counts()
    for name in ("README.md", "docs/reproduction.md"):
        text = " ".join(TEXTS[name].split())
        assert f"{counts['holds']} hold, {counts['fails']} fail and {counts['undecided']} are undecided" in text, name


def test_weights_on_digits_are_those_of_the_record_that_is_named(results):
    sums = next(one for one in PAPERS["madsen2020"].experiments if one.name == "mnist-sum-no-rz")
    spec = next(spec for spec in sums.specs if spec.model.name == "NAU")
    runs = results.load(specs=[spec], columns=["best_weights", "end_weights"])
    ranges = []
    for column in ("best_weights", "end_weights"):
        small = sorted(abs(weights[0]) for weights in runs[column])[:-1]  # one of ten is −1
        ranges.append(f"±{small[0]:.4f} to ±{small[-1]:.4f}")
    assert f"{ranges[0]} at the best record ({ranges[1]} at the last)" in " ".join(DIGITS.split())


def test_every_weight_on_digits_names_its_record():
    """Tables of predictions aside, which are quoted as they were written."""
    findings = [found.text for found in PAPERS["madsen2020"].findings if found.experiment.startswith("mnist")]
    prose = " ".join(line for line in DIGITS.splitlines() if not line.startswith("|"))
    for text in (*findings, prose):
        assert not re.search(r"\bends? (at|near|with)\b|\bat the end\b", text), text
