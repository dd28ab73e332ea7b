"""Format numbers for tables and sentences."""

import math

_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def percent(value: float) -> str:
    """Format a share in whole percent."""
    return f"{100 * value:.0f}%"


def scientific(value: float) -> str:
    """Format a number as the paper prints it.

    Example:
        >>> scientific(1_430_000), scientific(4.2e-7)
        ('1.4·10⁶', '4.2·10⁻⁷')
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "∞"
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return f"{mantissa}·10{str(int(exponent)).translate(_SUPERSCRIPT)}".replace("-", "−")
