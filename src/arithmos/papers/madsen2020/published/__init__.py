"""Published numbers, to stand beside ours; README.md here says where they come from and what is wrong with them."""

from difflib import get_close_matches
from importlib import resources

import pandas as pd

MODELS = {
    "NAC_mul_NMU": "NACMulNMU",
    "NAC_mul_sigma": "NACMulSigma",
    "NAC_mul": "NACMul",
    "NAC_add": "NACAdd",
    "NAC_add_Rz": "NACAddRz",
    "Gated_NAU_NMU": "GatedNAUNMU",
    "Linear": "Linear",
    "NALU": "NALU",
    "NAU": "NAU",
    "NMU": "NMU",
    "ReLU": "ReLU",
    "ReLU6": "ReLU6",
    "LSTM": "LSTM",
    "NMU_no_Rsparse": "NMUNoSparsity",
    "NMU_no_clamp": "NMUNoClamp",
    "NMU_no_Rsparse_no_clamp": "NMUNeither",
}
"""Our names of the published models."""

GATE_MODELS = {
    "Gated_NAU_NMU": "GateNAUNMU",
    "NALU_separate": "GateNALUSeparate",
    "NALU_shared": "GateNALUShared",
}
"""Our names of the models of the gate experiment, where only the last layer is gated."""

_BOUNDS = {"lower": "low", "upper": "high"}


def names() -> list[str]:
    """The tables and figures that there are."""
    files = (file.name for file in resources.files(__name__).iterdir())
    return sorted(name.removesuffix(".csv") for name in files if name.endswith(".csv"))


def load(name: str) -> pd.DataFrame:
    """A published table or figure, a row a cell or point.

    The columns are `operation` (tables) or `x` (figures), `model`, `n`, `k`, then `success_rate`, `solved_at_mean`
    and `sparsity_mean`, each followed by its bounds `_low` and `_high`, and for tables `solved_at_median`. What is not
    reported is NaN. The gate histogram has `operation`, `solved`, `model`, `gate` and `count`.

    Args:
        name: such as "table_static" or "figure_hidden_size"; see `names`.

    Example:
        >>> load("table_10param")[["model", "k", "n"]].to_dict("records")[-1]
        {'model': 'NMU', 'k': 94, 'n': 100}
    """
    if name not in names():
        near = get_close_matches(name, names(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names())}"
        raise KeyError(f"nothing is published as {name!r}; {hint}")
    with resources.files(__name__).joinpath(f"{name}.csv").open(encoding="utf-8") as file:
        frame = pd.read_csv(file)
    frame["model"] = frame["model"].map(GATE_MODELS if "gate" in name else MODELS)
    if name == "figure_gate_histogram":
        return _histogram(frame)
    return _figure(frame) if name.startswith("figure") else _table(frame)


def _table(frame: pd.DataFrame) -> pd.DataFrame:
    columns = {"n_seeds": "n", "median": "solved_at_median", "mean": "solved_at_mean", "sparsity": "sparsity_mean"}
    for short, measure in (("success", "success_rate"), ("mean", "solved_at_mean"), ("sparsity", "sparsity_mean")):
        columns |= {f"{short}_{theirs}": f"{measure}_{ours}" for theirs, ours in _BOUNDS.items()}
    frame = frame.rename(columns=columns)
    frame.insert(3, "k", (frame["success_rate"] * frame["n"]).round().astype(int))
    return frame


def _figure(frame: pd.DataFrame) -> pd.DataFrame:
    """The three panels of a figure side by side, success rates as exact as their counts."""
    panels = []
    for panel, measure in (
        ("success_rate", "success_rate"),
        ("solved_at_mean", "solved_at_mean"),
        ("sparsity_error_mean", "sparsity_mean"),
    ):
        columns = {"y": measure} | {theirs: f"{measure}_{ours}" for theirs, ours in _BOUNDS.items()}
        counts = ["n", "k"] if measure == "success_rate" else []
        points = frame[frame["panel"] == panel].rename(columns=columns).set_index(["model", "x"])
        panels.append(points[[*counts, *columns.values()]])
    joined = pd.concat(panels, axis=1).reset_index().astype({"n": int, "k": int})
    return joined.assign(success_rate=joined["k"] / joined["n"])


def _histogram(frame: pd.DataFrame) -> pd.DataFrame:
    facet = frame["panel"].str.partition("/")
    return pd.DataFrame(
        {
            "operation": facet[0],
            "solved": facet[2] == "solved",
            "model": frame["model"],
            "gate": frame["x"],
            "count": frame["y"],
        }
    )
