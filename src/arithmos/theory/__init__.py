"""Gradients, moments and initial weights in closed form.

From appendices A and B of Madsen & Johansen (2020); the docstrings say where the paper errs.
"""

from .figures import loss_surface as loss_surface
from .figures import nac_mul_expectation_error as nac_mul_expectation_error
from .figures import nac_mul_expectation_error_limit as nac_mul_expectation_error_limit
from .gradients import nac_add_gradient as nac_add_gradient
from .gradients import nac_mul_gradient as nac_mul_gradient
from .gradients import nac_weight_gradient as nac_weight_gradient
from .gradients import nmu_gradient as nmu_gradient
from .initialization import nac_range as nac_range
from .initialization import nac_range_of_variance as nac_range_of_variance
from .initialization import nac_weight_jacobian as nac_weight_jacobian
from .initialization import nac_weight_variance as nac_weight_variance
from .initialization import nmu_variance_backward as nmu_variance_backward
from .initialization import nmu_variance_forward as nmu_variance_forward
from .moments import Moments as Moments
from .moments import backward as backward
from .moments import nac_add_forward as nac_add_forward
from .moments import nac_add_jacobian as nac_add_jacobian
from .moments import nac_mul_forward as nac_mul_forward
from .moments import nac_mul_jacobian as nac_mul_jacobian
from .moments import nmu_forward as nmu_forward
from .moments import nmu_jacobian as nmu_jacobian
from .moments import uniform as uniform
