r"""Gradients of the units in closed form (Madsen & Johansen 2020, appendix A).

Each function takes the arguments of its forward pass and the gradient of the loss with respect to the output. It
returns the gradients with respect to the arguments, those of weights summed over the batch, as autograd does.
"""

import torch
from torch import Tensor

from .._typing import Float


def nac_weight_gradient(
    w_hat: Float[Tensor, "o i"], m_hat: Float[Tensor, "o i"], weight_gradient: Float[Tensor, "o i"]
) -> tuple[Float[Tensor, "o i"], Float[Tensor, "o i"]]:
    r"""Gradients with respect to Ŵ and M̂ of :math:`W = \tanh(\hat W)\,\sigma(\hat M)`.

    .. math:: \frac{\partial L}{\partial \hat W}
        = \frac{\partial L}{\partial W} (1 - \tanh^2 \hat W)\,\sigma(\hat M), \quad
        \frac{\partial L}{\partial \hat M}
        = \frac{\partial L}{\partial W} \tanh(\hat W)\,\sigma(\hat M) (1 - \sigma(\hat M))
    """
    t, s = w_hat.tanh(), m_hat.sigmoid()
    return weight_gradient * (1 - t**2) * s, weight_gradient * t * s * (1 - s)


def nac_add_gradient(
    x: Float[Tensor, "*batch i"], weight: Float[Tensor, "o i"], gradient: Float[Tensor, "*batch o"]
) -> tuple[Float[Tensor, "*batch i"], Float[Tensor, "o i"]]:
    r"""Gradients with respect to x and W of NAC₊, NAU or any sum :math:`z_o = \sum_i w_{oi} x_i`.

    >>> x, weight = torch.tensor([[3.0, 5.0]]), torch.tensor([[1.0, -1.0]])
    >>> nac_add_gradient(x, weight, torch.ones(1, 1))
    (tensor([[ 1., -1.]]), tensor([[3., 5.]]))
    """
    return gradient @ weight, torch.einsum("...o,...i->oi", gradient, x)


def nac_mul_gradient(
    x: Float[Tensor, "*batch i"],
    weight: Float[Tensor, "o i"],
    gradient: Float[Tensor, "*batch o"],
    *,
    epsilon: float = 1e-7,
) -> tuple[Float[Tensor, "*batch i"], Float[Tensor, "o i"]]:
    r"""Gradients with respect to x and W of NAC•, :math:`z_o = \exp \sum_i w_{oi} \log(|x_i| + \epsilon)`.

    .. math:: \frac{\partial z_o}{\partial x_i} = z_o w_{oi} \frac{\mathrm{sign}(x_i)}{|x_i| + \epsilon},
        \qquad \frac{\partial z_o}{\partial w_{oi}} = z_o \log(|x_i| + \epsilon), \qquad \mathrm{sign}(0) = 0

    >>> x, weight = torch.tensor([[3.0, 5.0]]), torch.tensor([[1.0, 1.0]])
    >>> nac_mul_gradient(x, weight, torch.ones(1, 1))[0]
    tensor([[5.0000, 3.0000]])
    """
    base = x.abs() + epsilon
    log = base.log()
    gradient_z = gradient * (log @ weight.T).exp()  # [*batch, o]
    return gradient_z @ weight * x.sign() / base, torch.einsum("...o,...i->oi", gradient_z, log)


def nmu_gradient(
    x: Float[Tensor, "*batch i"], weight: Float[Tensor, "o i"], gradient: Float[Tensor, "*batch o"]
) -> tuple[Float[Tensor, "*batch i"], Float[Tensor, "o i"]]:
    r"""Gradients with respect to x and W of the NMU, :math:`z_o = \prod_i (w_{oi} x_i + 1 - w_{oi})`.

    .. math:: \frac{\partial L}{\partial x_i} = \sum_o \frac{\partial L}{\partial z_o} w_{oi} p_{oi}, \quad
        \frac{\partial L}{\partial w_{oi}} = \frac{\partial L}{\partial z_o} (x_i - 1)\, p_{oi}, \quad
        p_{oi} = \prod_{j \ne i} (w_{oj} x_j + 1 - w_{oj})

    The paper's last form of ∂L/∂x lacks the factor ∂L/∂z. It writes p as z divided by the omitted factor, which is 0/0
    where that factor is 0; the product of the other factors is correct there too.

    >>> x, weight = torch.tensor([[0.0, 5.0]]), torch.tensor([[1.0, 1.0]])
    >>> nmu_gradient(x, weight, torch.ones(1, 1))
    (tensor([[5., 0.]]), tensor([[-5.,  0.]]))
    """
    factors = 1 + weight * (x.unsqueeze(-2) - 1)  # [*batch, o, i]
    one = torch.ones_like(factors[..., :1])
    before = torch.cat([one, factors[..., :-1]], -1).cumprod(-1)
    after = torch.cat([one, factors.flip(-1)[..., :-1]], -1).cumprod(-1).flip(-1)
    others = gradient.unsqueeze(-1) * before * after
    return (others * weight).sum(-2), torch.einsum("...oi,...i->oi", others, x - 1)
