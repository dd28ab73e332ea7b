"""Publications, one folder each: experiments, published numbers, claims, findings."""

from .catalogue import CLAIMS as CLAIMS
from .catalogue import EXPERIMENTS as EXPERIMENTS
from .catalogue import FIGURES as FIGURES
from .catalogue import PAPERS as PAPERS
from .catalogue import criteria_of as criteria_of
from .catalogue import find_spec as find_spec
from .comparison import COMPARISONS as COMPARISONS
from .comparison import Compared as Compared
from .evidence import Claim as Claim
from .experiment import Experiment as Experiment
from .files import SUFFIX as SUFFIX
from .files import load as load
from .files import to_toml as to_toml
from .finding import OWN as OWN
from .finding import Finding as Finding
from .finding import read_findings as read_findings
from .not_run import NotRun as NotRun
from .not_run import read_not_run as read_not_run
from .paper import Criterion as Criterion
from .paper import Paper as Paper
from .paper import load_paper as load_paper
from .published import Published as Published
from .surface import Axis as Axis
from .surface import Surface as Surface
