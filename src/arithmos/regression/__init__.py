"""Symbolic regression of tabular data: `ArithmeticRegressor`, a scikit-learn estimator."""

from .._extras import needs

with needs("formula"):
    from .certificate import Certificate as Certificate
    from .certificate import Constant as Constant
    from .regressor import ArithmeticRegressor as ArithmeticRegressor
    from .regressor import ParetoFormula as ParetoFormula
