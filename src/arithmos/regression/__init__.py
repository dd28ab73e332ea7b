"""Formulas of one's own data: `ArithmeticRegressor`, an estimator as scikit-learn has them."""

from .regressor import Alternative as Alternative
from .regressor import ArithmeticRegressor as ArithmeticRegressor
from .regressor import Certificate as Certificate
