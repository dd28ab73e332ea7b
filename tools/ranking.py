"""Write the counts of the ranking that come with the package, from the stored runs: python tools/ranking.py results."""

import sys
from pathlib import Path

import arithmos.report.tables
from arithmos.papers import PAPERS
from arithmos.report.tables.ranking import SHIPPED, ranking
from arithmos.store import Store

if __name__ == "__main__":
    frame = ranking(Store(sys.argv[1]), PAPERS["ranking"].experiments)
    frame.to_csv(Path(arithmos.report.tables.__file__).with_name(SHIPPED), index=False)
    print(f"{len(frame)} cells, {frame['runs'].sum()} runs")
