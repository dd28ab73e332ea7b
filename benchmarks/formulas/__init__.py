"""How many formulas are recovered from tables of data, by Arithmos and by others.

    python -m benchmarks.formulas run arithmos               # the verdicts on targets without a formula included
    python -m benchmarks.formulas run operon --seeds 1       # with a Python that has it installed
    python -m benchmarks.formulas table > benchmarks/formulas.md

Fits whose results are already in this folder are not repeated. `cases` lists the formulas, `methods` the packages,
`judge` decides what counts as recovered, `harness` runs the fits in parallel, and `table` writes the Markdown.
"""
