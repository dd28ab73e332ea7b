"""The units as pure functions of an input and parameters, by name: `functional.nmu(x, weight)`.

The layers of `arithmos.nn` hold the parameters; all the maths is here. The building blocks of the units are here too:
the aggregations `linear`, `exp_log` and `product`, the weights of a NAC, the clamp, the gate, the
sparsity of a weight.
"""

from .nn._aggregate import exp_log as exp_log
from .nn._aggregate import linear as linear
from .nn._clamp import clamp as clamp
from .nn._gate import gate as gate
from .nn._gate import mix as mix
from .nn._layer import sparsity as sparsity
from .nn._product import product as product
from .nn.g_nalu import g_nalu as g_nalu
from .nn.gated_nau_nmu import gated_nau_nmu as gated_nau_nmu
from .nn.inalu import inalu as inalu
from .nn.inalu import signed_exp_log as signed_exp_log
from .nn.linear import linear_relu as linear_relu
from .nn.linear import linear_relu6 as linear_relu6
from .nn.mcfc import mcfc as mcfc
from .nn.mcfc import mul_mcfc as mul_mcfc
from .nn.nac_add import nac_add as nac_add
from .nn.nac_add import nac_weight as nac_weight
from .nn.nac_mul import nac_mul as nac_mul
from .nn.nac_mul_nmu import nac_mul_nmu as nac_mul_nmu
from .nn.nac_mul_sigma import nac_mul_sigma as nac_mul_sigma
from .nn.nalu import nalu as nalu
from .nn.nau import nau as nau
from .nn.nmru import nmru as nmru
from .nn.nmu import nmu as nmu
from .nn.npu import npu as npu
from .nn.nru import nru as nru
from .nn.real_npu import real_npu as real_npu
from .nn.real_npu import sparsity_of_power as sparsity_of_power
from .nn.snmu import snmu as snmu
