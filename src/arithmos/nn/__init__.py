"""Neural arithmetic units as PyTorch layers, and `UNITS`, their catalogue."""

from . import (
    g_nalu,
    gated_nau_nmu,
    inalu,
    linear,
    lstm,
    mcfc,
    nac_add,
    nac_mul,
    nac_mul_nmu,
    nac_mul_sigma,
    nalu,
    nau,
    nmru,
    nmu,
    npu,
    nru,
    real_npu,
    snmu,
    solved,
)
from ._init import GlorotNormal as GlorotNormal
from ._init import GlorotUniform as GlorotUniform
from ._init import HeUniform as HeUniform
from ._init import NACRange as NACRange
from ._init import Normal as Normal
from ._init import Uniform as Uniform
from ._noise import noise as noise
from ._unit import Catalogue as Catalogue
from ._unit import Unit as Unit
from .digit_reader import DigitReader as DigitReader
from .euler import Euler as Euler
from .g_nalu import GNALU as GNALU
from .gated_nau_nmu import GatedNAUNMU as GatedNAUNMU
from .inalu import INALU as INALU
from .linear import Linear as Linear
from .linear import LinearReLU as LinearReLU
from .linear import LinearReLU6 as LinearReLU6
from .linear import LinearSigmoid as LinearSigmoid
from .linear import LinearTanh as LinearTanh
from .lstm import LSTM as LSTM
from .mcfc import MCFC as MCFC
from .mcfc import MulMCFC as MulMCFC
from .nac_add import NACAdd as NACAdd
from .nac_mul import NACMul as NACMul
from .nac_mul_nmu import NACMulNMU as NACMulNMU
from .nac_mul_sigma import NACMulSigma as NACMulSigma
from .nalu import NALU as NALU
from .nau import NAU as NAU
from .nmru import NMRU as NMRU
from .nmu import NMU as NMU
from .npu import NPU as NPU
from .nru import NRU as NRU
from .real_npu import RealNPU as RealNPU
from .recurrent import Recurrent as Recurrent
from .snmu import SNMU as SNMU
from .solved import SolvedAdd as SolvedAdd
from .solved import SolvedMul as SolvedMul

UNITS = Catalogue(
    "unit",
    nac_mul_nmu.unit,
    nac_mul_sigma.unit,
    nac_mul.unit,
    nac_add.unit,
    gated_nau_nmu.unit,
    linear.linear_unit,
    nalu.unit,
    nalu.separate_unit,
    nau.unit,
    nmu.unit,
    linear.relu_unit,
    linear.relu6_unit,
)
"""Units of the paper, in the order of tables; `UNITS.add(mine)` returns a catalogue with one more."""

NEWER = Catalogue(
    "unit",
    inalu.unit,
    inalu.shared_unit,
    g_nalu.unit,
    npu.unit,
    npu.naive_unit,
    real_npu.unit,
    real_npu.modified_unit,
    nru.unit,
    nmru.unit,
    nmru.plain_unit,
    nmru.gated_unit,
    snmu.unit,
    snmu.batch_unit,
    mcfc.unit,
    mcfc.mul_unit,
    mcfc.inalu_unit,
    mcfc.real_npu_unit,
)
"""Units published since 2020."""

BASELINES = (nalu.biased_unit, nalu.vector_unit, linear.sigmoid_unit, linear.tanh_unit)
CELLS = UNITS.add(*NEWER.values(), *BASELINES, lstm.unit, solved.add_unit, solved.mul_unit)
"""Everything that a spec can name: the units, baselines of theirs, and cells that only sequential tasks have."""
