"""Update what pages state about all of results/: python tools/field.py results.

It writes the number of runs in README.md, and in docs/field.md which engine made them and how far two engines agree.
"""

import re
import sys
from collections import Counter
from pathlib import Path

from scipy.stats import fisher_exact

from arithmos.judging.runs import criterion_of, solved
from arithmos.papers import PAPERS, Experiment
from arithmos.spec import Spec
from arithmos.store import Store

ROOT = Path(__file__).parents[1]
ENGINES = ("cpu", "cuda", "torch")
RANKINGS = ("ranking", "behind")
FIELD = ("schloer2020", "heim2020", "mistry2022", "mistry2022division", "mistry2022snmu", *RANKINGS)
FIRST = ("madsen2020",)
STUDY = ("arithmos2026",)
GROUPS = {
    "schloer2020/minimal-": "`schloer2020`, one layer",
    "schloer2020/function-": "`schloer2020`, two layers",
    "schloer2020/start-": "`schloer2020`, initial weights",
    "mistry2022/redundant-": "`mistry2022`, 10 and 100 inputs",
    "mistry2022/": "`mistry2022`, two inputs",
    "mistry2022division/near-zero": "`mistry2022division`, near 0",
    "mistry2022division/": "`mistry2022division`, all else",
    "mistry2022snmu/": "`mistry2022snmu`",
    "ranking/100": "ranking, 100 inputs, not in a paper",
    "ranking/10": "ranking, ten inputs, not in a paper",
    "ranking/2": "ranking, two inputs, not in a paper",
    "behind/": "ranking behind a NAU",
}
"""Rows of the table of agreement, by the start of an experiment's name; the first that fits counts."""


def specs_of(papers: tuple[str, ...]) -> dict[str, tuple[Experiment, Spec]]:
    """Return the specs of some papers by id, each with the first experiment that has it."""
    found: dict[str, tuple[Experiment, Spec]] = {}
    for key in papers:
        for experiment in PAPERS[key].experiments:
            for spec in experiment.specs:
                found.setdefault(spec.id, (experiment, spec))
    return found


def totals(store: Store) -> tuple[int, int]:
    """Return the number of all runs, and of those that only papers since 2020 and the ranking have."""
    older = specs_of(FIRST + STUDY)
    newer = specs_of(FIELD).keys() - older.keys()
    counts = Counter(dict.fromkeys(("all", "newer"), 0))
    for (spec_id, _), seeds in store.seeds().items():
        counts["all"] += len(seeds)
        counts["newer"] += len(seeds) * (spec_id in newer)
    return counts["all"], counts["newer"]


def engines(store: Store) -> list[str]:
    """Return a table of the runs of each paper by engine; runs of several papers count in each."""
    seeds = store.seeds()
    lines = ["| runs of | cpu | cuda | torch |", "| --- | --- | --- | --- |"]
    for key in FIELD:
        own = specs_of((key,))
        counts = [sum(len(seeds.get((spec_id, engine), ())) for spec_id in own) for engine in ENGINES]
        lines.append(f"| `{key}` | " + " | ".join(f"{count:,}" for count in counts) + " |")
    return lines


def agreement(store: Store) -> list[str]:
    """Return a table that compares the cpu and the cuda engine on the seeds that both have made."""
    specs = specs_of(FIELD)
    found: dict[str, list[tuple[int, int, int, int, float]]] = {label: [] for label in GROUPS.values()}
    runs = store.load(specs=specs, columns=["thresholds", "best_test"])
    runs = runs[runs["engine"].isin(ENGINES[:2])]
    for spec_id, part in runs.groupby("spec_id"):
        experiment, spec = specs[spec_id]
        criterion = criterion_of(experiment)
        below = solved(part["best_test"], part[f"threshold_{criterion}"])
        pairs = part.assign(solved=below).pivot(index="seed", columns="engine", values="solved")
        if len(pairs.columns) == 2 and len(pairs := pairs.dropna()):
            n, cpu, cuda = len(pairs), int(pairs["cpu"].sum()), int(pairs["cuda"].sum())
            p = float(fisher_exact([[cpu, n - cpu], [cuda, n - cuda]]).pvalue)
            found[_group(experiment, spec)].append((n, cpu, cuda, int((pairs["cpu"] == pairs["cuda"]).sum()), p))
    head = "| runs of | cells | runs of each | solved by cpu | by cuda | same for a seed | least p of a cell |"
    lines = [head, "| --- | --- | --- | --- | --- | --- | --- |"]
    for label, cells in found.items():
        if cells:
            n, cpu, cuda, same, _ = (sum(column) for column in zip(*cells, strict=True))
            least = min(cell[-1] for cell in cells)
            numbers = [f"{len(cells):,}", f"{n:,}", f"{cpu:,}", f"{cuda:,}", f"{100 * same / n:.1f} %", _written(least)]
            lines.append(f"| {label} | " + " | ".join(numbers) + " |")
    return lines


def _group(experiment: Experiment, spec: Spec) -> str:
    name = experiment.qualified_name
    if experiment.paper == "ranking":
        return GROUPS[f"ranking/{spec.task.input_size}"]
    return next(label for start, label in GROUPS.items() if name.startswith(start))


def _written(p: float) -> str:
    digits, power = f"{p:.0e}".split("e")
    return (
        f"{p:.2g}"
        if p >= 1e-3
        else f"{digits}·10{str(int(power)).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"
    )


def between(text: str, name: str, lines: list[str]) -> str:
    """Return a page with a table between the comments of its name."""
    start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    new = "\n".join([start, "", *lines, "", end])
    found, count = re.subn(f"{start}\n.*?{end}", lambda _: new, text, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"the page must have one pair of {start} and {end}, got {count}")
    return found


def with_totals(text: str, store: Store) -> str:
    """Return the README with the number of runs."""
    every, newer = totals(store)
    text = re.sub(r"(?<=`results/` holds )[\d,]+(?= runs)", f"{every:,}", text)
    return re.sub(r"(?<=, and )[\d,]+(?= to \[papers since 2020\])", f"{newer:,}", text)


if __name__ == "__main__":
    results = Store(sys.argv[1])
    readme, page = ROOT / "README.md", ROOT / "docs" / "field.md"
    readme.write_text(with_totals(readme.read_text(encoding="utf-8"), results), encoding="utf-8")
    text = between(page.read_text(encoding="utf-8"), "runs by engine", engines(results))
    page.write_text(between(text, "agreement of engines", agreement(results)), encoding="utf-8")
    print("{:,} runs, {:,} of papers since 2020".format(*totals(results)))
