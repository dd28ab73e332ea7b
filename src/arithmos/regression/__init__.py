"""Symbolic regression of tabular data: `ArithmeticRegressor`, a scikit-learn estimator."""

from .regressor import Alternative as Alternative
from .regressor import ArithmeticRegressor as ArithmeticRegressor
from .regressor import Certificate as Certificate
