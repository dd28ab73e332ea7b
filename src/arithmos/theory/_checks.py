"""Checks of the arguments that the theory's functions share."""


def check_positive(name: str, value: float) -> None:
    """Raise unless `value` is above 0 (NaN is not)."""
    if not value > 0:
        raise ValueError(f"{name} must be above 0, got {value!r}")


def check_size(name: str, value: int) -> None:
    """Raise unless `value` can be a number of inputs or outputs."""
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value!r}")
