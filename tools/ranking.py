"""Update what is made of the ranking's runs: python tools/ranking.py results.

It writes the counts that come with the package, the tables of docs/units/which.md and docs/units/behind.md, and
text on them; it prints all counts, those of the other paragraphs among them.
"""

import re
import sys
import textwrap
from pathlib import Path

import pandas as pd

import arithmos.report.tables
from arithmos.papers import PAPERS
from arithmos.report.tables.ranking import RULES, SHIPPED, Rule, ranking, ranking_grid, render_ranking
from arithmos.store import Store

DOCS = Path(__file__).parents[1] / "docs" / "units"
PAGES = {"which.md": "ranking", "behind.md": "behind"}
"""The paper that each page is about."""
CONTESTS = {part.item: part for key in PAGES.values() for part in PAPERS[key].experiments}
SIZES = (2, 10, 100)
FIXED = "\N{NO-BREAK SPACE}"
"""Space before a sign, at which no line ends; the page has common ones."""
TEXTS = {
    "which.md": (
        "- **No layer multiplies in every range once there are other inputs.** Among ten, the NMRU solves "
        "{mul-10 NMRU}, NAC• {mul-10 NAC•}, the NMU {mul-10 NMU}, the modified RealNPU "
        "{mul-10 RealNPU (modified)} and the sNMU {mul-10 sNMU}. NMU and sNMU solve hardly any of the runs with "
        "negative inputs only: eight factors are to become 1, and noise does not help there. [Behind a "
        "NAU](behind.md), which finds the operands, NMU and sNMU solve {nau-mul-10 NMU} and {nau-mul-10 sNMU}.",
        "- **Among a hundred inputs, the order is different.** NAC• multiplies in {mul-100 NAC•} of its runs "
        "and divides in {div-100 NAC•}, the RealNPU in {mul-100 RealNPU} and {div-100 RealNPU}, the NMRU in "
        "{mul-100 NMRU} and {div-100 NMRU}; NMU and sNMU, which have 98 factors to turn to 1, multiply in "
        "{mul-100 NMU} and {mul-100 sNMU}. The NAU adds in {add-100 NAU}. The second-order recipe solves all "
        "runs of each operation.",
        "- **Do not compare rates across sizes.** NAC• divides in {div NAC•} of its runs with two inputs and in "
        "{div-10 NAC•} with ten. Those runs are twice as long, and the rule allows every weight an error of "
        "10⁻⁵: with ten inputs and U[1, 2] its threshold for ÷ is 292 times as large, with U[10, 20] 15,000 "
        "times. By a test error below 10⁻⁵ NAC• divides in {div NAC• absolute} and {div-10 NAC• absolute}.",
    ),
    "behind.md": (
        "- **Put a NAU before the NMU if there are other inputs.** Among ten, the NMU multiplies in "
        "{nau-mul-10 NMU} of its runs behind a NAU and in {mul-10 NMU} alone, the sNMU in {nau-mul-10 sNMU} and "
        "{mul-10 sNMU}: a sum leaves an input out by a weight of 0, a product by a factor of 1. With two "
        "inputs, both needed, it is the other way round: {nau-mul NMU} and {mul NMU}, {nau-mul sNMU} and "
        "{mul sNMU}.",
        "- **Do not divide behind a NAU.** Among ten inputs the NMRU divides in {nau-div-10 NMRU} of its runs "
        "and in {div-10 NMRU} alone, the modified RealNPU in {nau-div-10 RealNPU (modified)} and "
        "{div-10 RealNPU (modified)}, the NRU in {nau-div-10 NRU} and {div-10 NRU}; the best, NAC•, in "
        "{nau-div-10 NAC•}. With two inputs none divides in more than {nau-div NMRU}. A sum that is not yet "
        "right may pass 0, where a quotient has a pole; that this is the cause was not tested.",
        "- **Squares are products behind a NAU**, which passes the input on twice: the NMU squares one of ten "
        "inputs in {nau-squared-10 NMU} of its runs, the sNMU in {nau-squared-10 sNMU}. RealNPU and NPU, which "
        "have the exponent, do so in {nau-squared-10 RealNPU} and {nau-squared-10 NPU}, and in "
        "{squared-10 RealNPU} and {squared-10 NPU} alone.",
        "- **Solved and exact differ here.** A sum may go half through each of the two hidden values: of the "
        "runs of a NAU behind a NAU among ten inputs {nau-add-10 NAU} add, and {nau-add-10 NAU exact} are the "
        "formula once their weights are rounded. The other way round, the NRU divides in {nau-div NRU} of its "
        "runs with two inputs, and {nau-div NRU exact} are the formula when rounded.",
        "- **The second-order recipe solves all runs**, here as there: its networks begin with a NAU anyway.",
    ),
}
"""Paragraphs of each page, with shares of solved runs by contest and unit."""


def shares(frame: pd.DataFrame) -> dict[str, str]:
    """Return the share of solved runs over all ranges by contest and label, by three rules."""
    contests = [CONTESTS[item].name for item in frame["contest"].unique()]
    found = {}
    rules: dict[Rule, str] = {"epsilon": "", "absolute": " absolute", "exact": " exact"}
    for rule, suffix in rules.items():
        for label, *cells in ranking_grid(frame, rule).groups[0]:
            for contest, cell in zip(contests, cells, strict=True):
                found[f"{contest} {label.value}{suffix}"] = cell.value.partition(" ")[0].replace("%", f"{FIXED}%")
    return found


def updated(page: str, text: str, frame: pd.DataFrame) -> str:
    """Return a page with the tables and the text of its ranking between their marks."""
    own = frame[[CONTESTS[name].paper == PAGES[page] for name in frame["contest"]]]
    for inputs in SIZES:
        lines = render_ranking(own[own["inputs"] == inputs], "markdown").splitlines()
        table = "\n".join(line for line in lines if line.startswith("|"))
        text = _between(text, f"table of {inputs} inputs", f"end of {inputs} inputs", table)
    found = shares(frame)
    filled = [textwrap.fill(one.format_map(found), 128, subsequent_indent="  ") for one in TEXTS[page]]
    return _between(text, "text on the shares", "end of text", "\n".join(filled).replace(FIXED, " "))


def _between(text: str, first: str, last: str, new: str) -> str:
    """Return a text with new lines between two comments."""
    start, end = f"<!-- {first} -->", f"<!-- {last} -->"
    found, count = re.subn(f"{start}\n.*?{end}", lambda _: f"{start}\n\n{new}\n\n{end}", text, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"the page must have one pair of {start} and {end}, got {count}")
    return found


if __name__ == "__main__":
    made = ranking(Store(sys.argv[1]), CONTESTS.values())
    made.to_csv(Path(arithmos.report.tables.__file__).with_name(SHIPPED), index=False)
    for page in PAGES:
        text = (DOCS / page).read_text(encoding="utf-8")
        (DOCS / page).write_text(updated(page, text, made), encoding="utf-8")
    print(made.groupby(["contest", "model"], sort=False)[["runs", *RULES]].sum().to_string())
    print(f"{len(made)} cells, {made['runs'].sum()} runs")
