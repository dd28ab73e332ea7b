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


def duration(seconds: float) -> str:
    """Format a duration in words.

    Example:
        >>> [duration(s) for s in (0.4, 12, 600, 5400, 200_000)]
        ['1 s', '12 s', '10 min', '1 h 30 min', '2 d 8 h']
    """
    minutes, hours = round(seconds / 60), round(seconds / 3600)
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if minutes < 90:
        return f"{minutes} min"
    if hours < 48:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{hours // 24} d {hours % 24} h"
