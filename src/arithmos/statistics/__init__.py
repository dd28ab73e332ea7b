"""Numbers with intervals: pure functions of plain arrays and counts."""

from .beta import beta_mean as beta_mean
from .beta import beta_mean_as_released as beta_mean_as_released
from .gamma import gamma_mean as gamma_mean
from .gamma import gamma_mean_as_released as gamma_mean_as_released
from .interval import Interval as Interval
from .location import median as median
from .location import median_prediction as median_prediction
from .location import student_t as student_t
from .location import upper_mean as upper_mean
from .multiple import benjamini_hochberg as benjamini_hochberg
from .prediction import fixed_variance_mean as fixed_variance_mean
from .prediction import latest as latest
from .prediction import median_p as median_p
from .prediction import prediction_p as prediction_p
from .prediction import unseen as unseen
from .ranks import rank_sum as rank_sum
from .rates import fisher_exact as fisher_exact
from .rates import rate_difference as rate_difference
from .rates import wilson as wilson
from .resample import bootstrap as bootstrap
from .resample import median_difference as median_difference
