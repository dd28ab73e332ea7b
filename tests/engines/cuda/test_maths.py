"""Functions of the kernel against NumPy, on the host."""

import ctypes
import dataclasses

import numpy as np
from tests.engines.cuda.shim import HOPPER, HostDevice

from arithmos.engines.cuda.plan import make_plan
from arithmos.spec import MODELS, Spec
from arithmos.tasks import Arithmetic

LOGS = """
extern "C" void logs(const float* x, float* y, int count) {
    NearLog table[32];
    for (int k = 0; k < 32; ++k) table[k] = near_log_entry(k);
    for (int k = 0; k < count; ++k) y[k] = near_log(table, x[k]);
}
"""


def test_logarithms_of_numbers_from_1_to_4():
    plan = make_plan(Spec(task=Arithmetic(operation="mul"), model=MODELS["NALU"]), HOPPER)
    assert "near_log" in plan.source
    code = HostDevice().compile(dataclasses.replace(plan, source=plan.source + LOGS))
    x = np.concatenate([np.linspace(1, 4, 300_001)[:-1], 1 + np.geomspace(1e-7, 1e-2, 10_000)]).astype(np.float32)
    found = np.empty_like(x)
    pointers = [array.ctypes.data_as(ctypes.POINTER(ctypes.c_float)) for array in (x, found)]
    ctypes.CDLL(code.decode()).logs(*pointers, len(x))
    exact = np.log(x.astype(np.float64))
    errors = np.abs(found - exact) / np.spacing(exact.astype(np.float32))
    assert errors.max() < 2
    assert errors.mean() < 0.4


def test_logarithms_are_general_where_inputs_are():
    task = Arithmetic(operation="mul", interpolation=((0.5, 2.0),))
    source = make_plan(Spec(task=task, model=MODELS["NALU"]), HOPPER).source
    assert "constexpr bool LOGS = false;" in source
