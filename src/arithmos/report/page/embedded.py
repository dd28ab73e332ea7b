"""Values embedded in a page: compressed, with numbers no longer than needed."""

import base64
import json
import math
import zlib
from typing import Any

import numpy as np
from markupsafe import Markup

from ..._text import escaped

DIGITS = 5


def significant(value: Any, digits: int = DIGITS) -> Any:
    """Round a number to some significant digits, to an integer where possible; None if it is not finite.

    Example:
        >>> significant(0.123456789), significant(2.0), significant(float("nan"))
        (0.12346, 2, None)
    """
    value = float(value)
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 2**53 else rounded


def shortened(value: Any) -> Any:
    """Return a value with its floats rounded to a few digits."""
    if isinstance(value, dict):
        return {name: shortened(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [shortened(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return significant(value) if isinstance(value, float) else value


def packed(text: str) -> Markup:
    """Return text that a script of the page unpacks when it is needed: compressed, then in base64.

    Example:
        >>> zlib.decompress(base64.b64decode(packed("</script>"))).decode()
        '</script>'
    """
    return Markup(base64.b64encode(zlib.compress(text.encode(), 9)).decode())


def packed_json(value: Any) -> Markup:
    """Return a value as packed JSON; in its strings, characters that cannot be printed become escapes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if not text.isprintable():
        text = "".join(c if c.isprintable() else json.dumps(escaped(c))[1:-1] for c in text)
    return packed(text)
