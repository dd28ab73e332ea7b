"""Elementary functions in float32, without a branch or a call, so that loops of them vectorize.

They are always inlined: LLVM would leave calls of the longer ones, and no loop with a call in it is vectorized.

The polynomials are minimax fits of the reduced functions. They are compiled without reassociation, under which
`(x + MAGIC) - MAGIC` would be x.
"""

import math

import numpy as np

from ._compile import exactly_inlined, fma

ONE, TWO, HALF = np.float32(1), np.float32(2), np.float32(0.5)
INFINITY = np.float32(np.inf)
LOG2_E = np.float32(1.4426950408889634)
LN2_HIGH = np.float32(0.693359375)  # few bits, so that its product with an exponent is exact
LN2_LOW = np.float32(-2.12194440054690583e-4)
MAGIC = np.float32(1.5 * 2**23)  # adding it rounds to a whole number, which stands in the lowest bits
MAGIC_BITS = np.int32(0x4B400000)

EXP = tuple(map(np.float32, (0.4999999404, 0.1666651964, 0.04166839272, 0.008368780836, 0.001381446724)))
LOG = tuple(
    map(
        np.float32,
        (
            0.3333333135,
            -0.2500081956,
            0.2000122666,
            -0.1662335694,
            0.1420175880,
            -0.1316018254,
            0.1276157498,
            -0.07634492964,
        ),
    )
)
TANH = tuple(
    map(np.float32, (-0.3333333135, 0.1333321035, -0.05394720286, 0.02170296945, -0.008182677440, 0.002147539752))
)
EXP_0, EXP_1, EXP_2, EXP_3, EXP_4 = EXP
LOG_0, LOG_1, LOG_2, LOG_3, LOG_4, LOG_5, LOG_6, LOG_7 = LOG
TANH_0, TANH_1, TANH_2, TANH_3, TANH_4, TANH_5 = TANH

EXP_LOWEST, EXP_HIGHEST = np.float32(-104), np.float32(89)  # 0 and inf beyond
ROOT_HALF_BITS = np.int32(0x3F3504F3)
EXPONENT_BITS = np.int32(-0x00800000)
BIAS, MANTISSA = np.int32(127), np.int32(23)
SMALLEST, SCALE, SCALED_BITS = np.float32(2.0**-126), np.float32(2.0**23), np.float32(23)
LN2 = np.float32(math.log(2))
UNSHIFTED = np.float32(2.0**-23)  # an exponent stands 23 bits up in a number
EXPONENT_LN2 = LN2 * UNSHIFTED
WHOLE = np.float32(2.0**23)
"""From here on every float32 is a whole number."""
NOTHING = np.float32(-0.0)
"""Term that LLVM drops from a sum: x + -0 is x for every x."""
ZERO, NAN, NAN_64 = np.float32(0), np.float32(np.nan), np.nan
HALF_PI_HIGH, HALF_PI_LOW, TWO_OVER_PI = 1.5707963267341256, 6.077100506506192e-11, 0.6366197723675814
MAGIC_64 = 1.5 * 2.0**52
MOST_TURNS = 2.0**31
SIN = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(1, 5))
COS = tuple((-1.0) ** k / math.factorial(2 * k) for k in range(1, 6))
SIN_0, SIN_1, SIN_2, SIN_3 = SIN
COS_0, COS_1, COS_2, COS_3, COS_4 = COS
TANH_SMALL, TANH_LARGE = np.float32(0.625), np.float32(10)


@exactly_inlined
def exp(x):
    """e^x: exp(x) = 2^n (1 + r + r² P(r)) with r = x - n ln 2."""
    return exp_of_sum(x, NOTHING)


@exactly_inlined
def exp_of_sum(x, low):
    """e^(x + low), where low is small beside x."""
    bounded = EXP_HIGHEST if x > EXP_HIGHEST else x  # NaN passes both
    bounded = EXP_LOWEST if bounded < EXP_LOWEST else bounded
    shifted = bounded * LOG2_E + MAGIC
    n = shifted - MAGIC
    r = bounded - n * LN2_HIGH
    r = r - n * LN2_LOW + low
    p = EXP_4
    p = p * r + EXP_3
    p = p * r + EXP_2
    p = p * r + EXP_1
    p = p * r + EXP_0
    p = p * (r * r) + r + ONE
    # In two factors, so that results near the largest number and below the smallest normal one come out right.
    exponent = np.int32(np.float32(shifted).view(np.int32) - MAGIC_BITS)
    first = np.int32(exponent >> np.int32(1))
    second = np.int32(exponent - first)
    scale1 = np.int32(np.int32(first + BIAS) << MANTISSA).view(np.float32)
    scale2 = np.int32(np.int32(second + BIAS) << MANTISSA).view(np.float32)
    return p * scale1 * scale2


@exactly_inlined
def finite_log(x):
    """Ln x for finite x at least 2^-126, all that |x| + epsilon can be."""
    exponent, f, rest = _parts_of_log(x)
    # Beside any exponent but 0 the last bit of ln 2 is too little to count.
    return np.float32(exponent) * EXPONENT_LN2 + (rest + f)


@exactly_inlined
def _parts_of_log(x):
    """Split x = 2^n (1 + f), with 1 + f from √½ to √2, into n 2^23, f and ln(1 + f) - f."""
    bits = np.float32(x).view(np.int32)
    exponent = np.int32(np.int32(bits - ROOT_HALF_BITS) & EXPONENT_BITS)
    f = np.int32(bits - exponent).view(np.float32) - ONE
    square = f * f
    # In pairs, which do not wait for each other.
    low = (LOG_3 * f + LOG_2) * square + (LOG_1 * f + LOG_0)
    high = (LOG_7 * f + LOG_6) * square + (LOG_5 * f + LOG_4)
    p = (high * (square * square) + low) * f - HALF
    return exponent, f, p * square


@exactly_inlined
def log(x):
    """Ln x for x at least 2^-126, inf and NaN."""
    return finite_log(x) if x < INFINITY else x


@exactly_inlined
def sigmoid(x):
    """1 / (1 + e^-x)."""
    return ONE / (ONE + exp(-x))


@exactly_inlined
def tanh(x):
    """Tanh: a polynomial near 0, where 1 - 2 / (e^2x + 1) would lose its digits."""
    magnitude = abs(x)
    square = x * x
    p = TANH_5
    p = p * square + TANH_4
    p = p * square + TANH_3
    p = p * square + TANH_2
    p = p * square + TANH_1
    p = p * square + TANH_0
    near = p * (square * magnitude) + magnitude
    far = ONE - TWO / (exp(TWO * magnitude) + ONE)
    value = near if magnitude < TANH_SMALL else far
    return -value if x < np.float32(0) else value


@exactly_inlined
def full_log(x):
    """Ln x for any x: -inf at 0, NaN below."""
    small = x < SMALLEST
    value = log(x * SCALE if small else x) - (SCALED_BITS * LN2 if small else ZERO)
    value = -INFINITY if x == ZERO else value
    return NAN if x < ZERO else value


@exactly_inlined
def sign(x):
    """-1, 0 or 1; 0 for NaN too, as torch has it."""
    return np.float32(x > ZERO) - np.float32(x < ZERO)


@exactly_inlined
def smaller(x, y):
    """The smaller of two numbers; NaN if one is."""
    return x if x < y or x != x else y


@exactly_inlined
def larger(x, y):
    """The larger of two numbers; NaN if one is."""
    return x if x > y or x != x else y


@exactly_inlined
def round(x):
    """The nearest whole number, and of two the even one; large numbers are whole already."""
    magnitude = abs(x)
    value = (magnitude + WHOLE) - WHOLE
    value = value if magnitude < WHOLE else magnitude
    return -value if x < ZERO else value


@exactly_inlined
def power(x, y):
    """x^y, as e^(y ln |x|) with the sign of a whole power; NaN for other powers of negative numbers.

    The exponent has two parts, high and low: as one float32 it would err by more than a unit of the power. Powers of 1
    and -1 are rounded once: weights stay there only if their gradient is 0.
    """
    magnitude = abs(x)
    small = magnitude < SMALLEST
    shift, f, rest = _parts_of_log(magnitude * SCALE if small else magnitude)
    n = np.float32(shift) * UNSHIFTED - (SCALED_BITS if small else ZERO)
    most = n * LN2_HIGH  # exact
    more = most + f
    last = (f - (more - most)) + (n * LN2_LOW + rest)
    high = more + last
    low = last - (high - more)
    high = -INFINITY if x == ZERO else high
    high = magnitude if not magnitude < INFINITY else high  # infinite, or NaN
    product = y * high
    below = fma(y, high, -product) + y * low
    magnitude = exp_of_sum(product, below if abs(product) < -EXP_LOWEST else NOTHING)
    whole = round(y) == y
    odd = whole and np.float32(2) * round(y * HALF) != y
    value = -magnitude if odd else magnitude
    value = (value if whole else NAN) if x < ZERO else magnitude
    value = x if y == ONE else value
    value = ONE / x if y == -ONE else value
    return ONE if y == ZERO or x == ONE else value


@exactly_inlined
def _turned(x, quarter):
    """The sine of x plus a number of quarter turns: the reduction and the polynomials are in float64."""
    wide = np.float64(x)
    shifted = wide * TWO_OVER_PI + MAGIC_64
    n = shifted - MAGIC_64
    r = (wide - n * HALF_PI_HIGH) - n * HALF_PI_LOW
    square = r * r
    sine = r + r * square * (SIN_0 + square * (SIN_1 + square * (SIN_2 + square * SIN_3)))
    cosine = 1.0 + square * (COS_0 + square * (COS_1 + square * (COS_2 + square * (COS_3 + square * COS_4))))
    turns = np.int64(np.float64(shifted).view(np.int64) + quarter)
    value = cosine if turns & 1 else sine
    value = -value if turns & 2 else value
    return np.float32(value if abs(n) < MOST_TURNS else wide - wide + NAN_64)


@exactly_inlined
def sin(x):
    """Sine; NaN beyond some billion turns."""
    return _turned(x, 0)


@exactly_inlined
def cos(x):
    """Cosine; NaN beyond some billion turns."""
    return _turned(x, 1)
