"""Formulas with ratios, powers, roots and constants, in every format that computes."""

import ctypes
import importlib.util
import shutil
import subprocess

import numpy as np
import onnxruntime
import pytest
import sympy
import torch

from arithmos.export import module_of, save, source
from arithmos.formula import Expression

a, b, c, d = SYMBOLS = sympy.symbols("a b c d", real=True)
FORMULAS = {
    "ratio": a * b / c,
    "of sums": (a + b) / (c + 2 * d),
    "power law": sympy.Float(1.2) * a ** sympy.Rational(3, 4) * b ** sympy.Rational(-5, 2),
    "root": sympy.sqrt(a**2 + b**2) - c,
    "relativity": a / sympy.sqrt(1 - b**2 / (10 + c) ** 2),
    "lens": 1 / (1 / a + d / b),
    "pi": a * b / (4 * sympy.pi * c * d**2),
    "rounded": sympy.Float(1.19) * a * b + sympy.Float(4.99),
    "scale": sympy.Float(6.674e-11) * a * b / c**2,
    "number": sympy.sqrt(2) * a / (3 * sympy.pi),
    "constant": sympy.Float(7.5),
}
X = np.random.default_rng(0).uniform(1, 5, (32, 4))
ALL = Expression(tuple(FORMULAS.values()), SYMBOLS)
EXPECTED = np.stack([sympy.lambdify(SYMBOLS, node)(*X.T) * np.ones(len(X)) for node in FORMULAS.values()], 1)


def same(found):
    np.testing.assert_allclose(found, EXPECTED, rtol=1e-12)


def loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.formula


def test_functions():
    same(ALL.numpy()(X))
    same(ALL.torch()(torch.from_numpy(X)).numpy())
    same(module_of(ALL)(torch.from_numpy(X)).numpy())


def test_python_numpy_and_sympy(tmp_path):
    same([loaded(save(ALL, tmp_path / "plain.py"))(row) for row in X])
    same(loaded(save(ALL, tmp_path / "arrays.py", "numpy"))(X))
    outputs = loaded(save(ALL, tmp_path / "symbols.py", "sympy"))
    same(np.stack([sympy.lambdify(SYMBOLS, node)(*X.T) * np.ones(len(X)) for node in outputs], 1))


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_c(tmp_path):
    path = save(ALL, tmp_path / "formula.c")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, "-o", tmp_path / "formula.so", path, "-lm"], check=True)
    function, y = ctypes.CDLL(str(tmp_path / "formula.so")).formula, np.empty_like(EXPECTED)
    for row, out in zip(X, y, strict=True):
        function(*(ctypes.c_void_p(array.ctypes.data) for array in (row, out)))
    same(y)


def test_c_writes_numbers_with_the_digits_they_need():
    numbers = Expression((sympy.Float(1.19) * a + sympy.Float(0.1), sympy.Float(6.674e-11) * b), (a, b))
    assert "y[0] = 1.19*x[0] + 0.1;" in source(numbers, "c")
    assert "y[1] = 6.674e-11*x[1];" in source(numbers, "c")


def test_onnx_and_pt2(tmp_path):
    session = onnxruntime.InferenceSession(save(ALL, tmp_path / "formula.onnx"))
    same(session.run(None, {"x": X})[0])
    same(torch.export.load(save(ALL, tmp_path / "formula.pt2")).module()(torch.from_numpy(X)).numpy())


def test_latex_has_the_formula_in_one_line_each(tmp_path):
    lines = save(ALL, tmp_path / "formula.tex").read_text(encoding="utf-8").splitlines()
    assert lines[-len(FORMULAS)] == r"y_{1} = \frac{a b}{c} \\"
    assert r"\sqrt{a^{2} + b^{2}}" in "\n".join(lines)
    assert all(line.startswith("%") for line in lines[: -len(FORMULAS)])


HOSTILE = [
    "__import__('os').system('touch ran')",
    "<script>ran</script>",
    '*/ system("touch ran"); /*',
    "'''\"\"\"\\",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_text_in_sympy_and_latex(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    strange = sympy.Symbol(name, real=True)
    formula = Expression((strange / b,), (strange, b))
    [found] = loaded(save(formula, tmp_path / "symbols.py", "sympy"))
    assert {symbol.name for symbol in found.free_symbols} == {name, "b"}
    written = source(formula, "latex").splitlines()
    assert all(line.startswith("% ") for line in written[:-1])
    assert written[-1].startswith(r"\frac{\mbox{")
    assert [path.name for path in tmp_path.iterdir() if path.name != "__pycache__"] == ["symbols.py"]


def test_formulas_have_no_parameters(tmp_path):
    with pytest.raises(ValueError, match="a formula has no parameters"):
        save(ALL, tmp_path / "formula.safetensors")
