"""Specs, the models in them, and the loading of users' units."""

from .loading import as_unit as as_unit
from .loading import load_unit as load_unit
from .models import GENERATOR as GENERATOR
from .models import MODELS as MODELS
from .models import NO_SCHEDULE as NO_SCHEDULE
from .models import TABLE_MODELS as TABLE_MODELS
from .models import InputRegularizer as InputRegularizer
from .models import Layer as Layer
from .models import Model as Model
from .models import model as model
from .optimizers import LM as LM
from .optimizers import OPTIMIZERS as OPTIMIZERS
from .optimizers import Adam as Adam
from .optimizers import Penalty as Penalty
from .optimizers import RMSprop as RMSprop
from .spec import Spec as Spec
