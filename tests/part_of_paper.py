"""A paper with some of its experiments only."""

import dataclasses

from arithmos.papers import PAPERS, Experiment, Paper, Surface


def part_of_paper(*experiments: str | Experiment, surfaces: tuple[Surface, ...] = ()) -> Paper:
    """The first paper with these experiments, and the claims and findings that are about them."""
    whole = PAPERS["madsen2020"]
    known = {experiment.name: experiment for experiment in whole.experiments}
    own = [known[name] if isinstance(name, str) else name for name in experiments]
    names = {experiment.name for experiment in own}
    return dataclasses.replace(
        whole,
        experiments=tuple(own),
        surfaces=surfaces,
        claims=tuple(claim for claim in whole.claims if names.issuperset(claim.experiments)),
        findings=tuple(finding for finding in whole.findings if finding.experiment in names),
    )
