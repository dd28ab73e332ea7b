"""Forms of products of powers: the exponents of their factors."""

Exponents = tuple[float, ...]


def whole_powers(hidden: int) -> list[Exponents]:
    """Return the forms that a product of selected sums can take, such as an NMU makes.

    Example:
        >>> whole_powers(3)
        [(1.0,), (2.0,), (1.0, 1.0), (3.0,), (1.0, 1.0, 1.0)]
    """
    forms: list[Exponents] = []
    for count in range(1, hidden + 1):
        forms += [(float(count),)] if count <= 4 else []
        forms += [(1.0,) * count] if count > 1 else []
    return forms


def real_powers(hidden: int) -> list[Exponents]:
    """Return forms that a product of any powers of sums can take, such as a RealNPU makes.

    Example:
        >>> real_powers(1)[:5]
        [(1.0,), (-1.0,), (0.5,), (2.0,), (-0.5,)]
    """
    forms: list[Exponents] = [(p,) for p in (1.0, -1.0, 0.5, 2.0, -0.5, -2.0, 3.0, -3.0, 1.5, -1.5)]
    if hidden > 1:
        forms += [(1.0, -1.0), (1.0, 1.0), (0.5, -0.5), (2.0, -2.0), (-1.0, -1.0), (0.5, 0.5)]
        forms += [(2.0, -1.0), (1.0, -2.0), (2.0, 1.0), (3.0, -1.0), (1.0, -3.0)]
    if hidden > 2:
        forms += [(1.0, 1.0, -1.0), (1.0, -1.0, -1.0), (1.0, 1.0, 1.0)]
    return forms
