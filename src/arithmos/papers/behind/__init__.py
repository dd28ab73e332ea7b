"""The ranking again, with a NAU before each unit."""

from ..contests import CRITERIA, contests
from ..paper import Paper

paper = Paper(
    key="behind",
    title="All units on one protocol, behind a NAU",
    reference="runs of this project",
    experiments=contests(behind=True),
    criteria=CRITERIA,
    introduction="The problems of the ranking, with a NAU of two outputs before each unit: it is to find the operands "
    "among the inputs, and the unit is to compute with them. Every unit is trained as its authors trained it alone, "
    "but the penalty of the iNALU is left out, which would let no weight of the NAU be 0; the learning rate of the NAU "
    "is 0.001. Networks marked LM are trained by the second-order recipe. Each cell states its number of runs.",
)
