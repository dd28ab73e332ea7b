"""Update of the parameters from their gradient: the lines of a kernel that depend on a spec's optimizer and penalties.

What a spec does not ask for is not in its kernel. Settings are literals in the source.
"""

from collections.abc import Mapping

import numpy as np

from ...spec import Adam, Spec
from ...spec.optimizers import PULLED, Penalty
from ..updates import NORM_EPSILON, preconditioned_names
from ._compile import apart, compiled, exactly_compiled

MAGNITUDE = np.float32(PULLED)
TINY = np.float32(NORM_EPSILON)


@compiled
def corrections(step, lr, beta1, beta2):
    """Adam's step size and the root of its second correction, and whether they stay so for good."""
    rest1, rest2 = 1.0 - beta1 ** np.float64(step + 1), 1.0 - beta2 ** np.float64(step + 1)
    return np.float32(lr / rest1), np.float32(np.sqrt(rest2)), rest1 == 1.0 and rest2 == 1.0


@exactly_compiled
def adam(step_size, correction, beta1, beta2, eps, g, p, m, v):
    """One step of Adam, its operations in the order of torch's: the square alone of a large gradient is infinite."""
    apart()
    share1, share2 = np.float32(1.0 - beta1), np.float32(1.0 - beta2)
    keep2, small = np.float32(beta2), np.float32(eps)
    for i in range(p.size):
        m[i] += share1 * (g[i] - m[i])
        v[i] = v[i] * keep2 + share2 * g[i] * g[i]
        p[i] -= step_size * m[i] / (np.sqrt(v[i]) / correction + small)


@exactly_compiled
def rmsprop(lr, alpha, eps, g, p, v):
    """One step of RMSprop, its operations in the order of torch's."""
    apart()
    rate, keep, share, small = np.float32(lr), np.float32(alpha), np.float32(1.0 - alpha), np.float32(eps)
    for i in range(p.size):
        v[i] = v[i] * keep + share * g[i] * g[i]
        p[i] -= rate * g[i] / (np.sqrt(v[i]) + small)


@compiled
def stepped(step, strength, most, every, after):
    """Return the strength of a penalty at a step, as `Penalty.at` does."""
    return 0.0 if step <= after else min(most, strength * 10.0 ** min(step // every, 300))


@compiled
def add_l1(p, strength, g):
    """Add the gradient of the sum of magnitudes."""
    s = np.float32(strength)
    for i in range(p.size):
        g[i] += s * np.sign(p[i])


@compiled
def add_pull(p, strength, g):
    """Add the gradient of the mean distance from the magnitude up to which the penalty acts."""
    s = np.float32(strength / p.size)
    for i in range(p.size):
        if abs(p[i]) <= MAGNITUDE:
            g[i] -= s * np.sign(p[i])


@compiled
def clip_entries(g, value):
    """Clip the entries of the gradient."""
    most = np.float32(value)
    for i in range(g.size):
        g[i] = most if g[i] > most else -most if g[i] < -most else g[i]  # NaN stays


@compiled
def clip_norm(g, value):
    """Scale the gradient so that its norm is at most `value`."""
    total = np.float32(0)
    for i in range(g.size):
        total += g[i] * g[i]
    factor = np.float32(value) / (np.sqrt(total) + TINY)
    if factor < 1:
        for i in range(g.size):
            g[i] *= factor


@compiled
def precondition(g, scale, direction):
    """Multiply each row of the gradient of a first layer's weights by the preconditioner of the inputs."""
    apart()
    inputs = scale.size
    for o in range(g.size // inputs):
        total = np.float32(0)
        for i in range(inputs):
            total += g[o * inputs + i] * direction[i]
        for i in range(inputs):
            g[o * inputs + i] = g[o * inputs + i] * scale[i] - total * direction[i]


FUNCTIONS = (corrections, adam, rmsprop, stepped, add_l1, add_pull, clip_entries, clip_norm, precondition)


def update_lines(spec: Spec, parameters: Mapping[str, int]) -> list[str]:
    """Return the lines of a kernel from a complete gradient to new parameters.

    Args:
        spec: the spec.
        parameters: names of the parameters in the kernel, `p_layer0_…`, with their sizes.
    """
    own = spec.first_order
    lines = [line for penalty in spec.model.penalties for line in _penalty(penalty, parameters)]
    if own.precondition:
        names = (name.replace(".", "_") for name in preconditioned_names(spec))
        lines += [f"precondition(g_layer0_{name}, input_scale, input_direction)" for name in names]
    if own.clip_value:
        lines.append(f"clip_entries(g, {own.clip_value!r})")
    if own.clip_norm:
        lines.append(f"clip_norm(g, {own.clip_norm!r})")
    return lines + (_adam if isinstance(own, Adam) else _rmsprop)(_rated(spec, parameters))


def _penalty(penalty: Penalty, parameters: Mapping[str, int]) -> list[str]:
    schedule = f"{penalty.strength!r}, {penalty.most!r}, {penalty.every}, {penalty.after}"
    condition = f" and last[0] < {penalty.below!r}" if penalty.below else ""
    pairs = [("p", "g")] if penalty.kind == "l1" else [(name, f"g{name[1:]}") for name in parameters]
    lines = [f"    add_{penalty.kind}({p}, penalty, {g})" for p, g in pairs]
    return [f"penalty = stepped(step, {schedule})", f"if penalty > 0{condition}:", *lines]


def _rated(spec: Spec, parameters: Mapping[str, int]) -> list[tuple[str, str]]:
    """Return factors of the learning rate, and slices of the flat arrays that they are for; empty factors for 1."""
    rates = spec.first_order.layer_rates
    if not rates:
        return [("", "")]
    slices, position = [], 0
    for name, size in parameters.items():
        layer = int(name.removeprefix("p_layer").partition("_")[0])
        slices.append((f"{rates[layer]!r} * ", f"[{position}:{position + size}]"))
        position += size
    return slices


def _adam(rated: list[tuple[str, str]]) -> list[str]:
    settings = "correction, setting.beta1, setting.beta2, setting.eps"
    return [
        "if not settled:",
        "    step_size, correction, settled = corrections(step, setting.lr, setting.beta1, setting.beta2)",
        *(
            f"adam({f'float32({factor}step_size)' if factor else 'step_size'}, {settings}, g{at}, p{at}, m{at}, v{at})"
            for factor, at in rated
        ),
    ]


def _rmsprop(rated: list[tuple[str, str]]) -> list[str]:
    return [f"rmsprop({factor}setting.lr, setting.beta1, setting.eps, g{at}, p{at}, v{at})" for factor, at in rated]
