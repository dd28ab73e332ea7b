import ast
import copy
import ctypes
import importlib.util
import json
import shutil
import subprocess
import sys

import numpy as np
import onnxruntime
import pytest
import sympy
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.formula.layers import EVERY, chosen, filled, network
from torch import nn

from arithmos._files import write_whole
from arithmos.engines.weights import kept_weights
from arithmos.export import FORMATS, LANGUAGES, load_safetensors, rebuild, save, source, tensors
from arithmos.formula import Expression, expression
from arithmos.nn import NALU, NAU, NMU, GatedNAUNMU, LinearReLU, Recurrent

X = np.random.default_rng(0).uniform(-3, 3, (64, 5))


def error(found, expected):
    """Of what is computed, or of 1 if that is more."""
    return (np.abs(np.asarray(found, np.float64) - expected) / np.maximum(1, np.abs(expected))).max()


def same(found, expected):
    assert error(found, expected) < 1e-6


def same_in_single_precision(found, model):
    """No further from double precision than twice what single precision is: exp-log layers magnify it."""
    exact = of(model)
    assert error(found, exact) < 2 * error(of(copy.deepcopy(model).float()), exact) + 1e-6


def of(model, x=X):
    with torch.no_grad():
        return model(torch.from_numpy(x).to(next(model.parameters()).dtype)).double().numpy()


def imported(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.formula


@pytest.mark.parametrize("name", EVERY)
def test_safetensors(name, tmp_path):
    made = network(name)
    save(made, tmp_path / "network.safetensors", about={"spec": "{}"})
    found, about = load_safetensors(tmp_path / "network.safetensors")
    assert repr(found) == repr(made)
    assert about["spec"] == "{}"
    np.testing.assert_array_equal(of(found), of(made))
    assert b"pickle" not in (tmp_path / "network.safetensors").read_bytes()


def test_safetensors_keep_options_types_and_cells(tmp_path):
    inner = nn.Sequential(NALU(3, 2, shared=False), NAU(2, 2, clip=False))
    made = nn.Sequential(inner, Recurrent(NMU(3, 1), initial=2.0)).double()
    save(made, tmp_path / "network.safetensors")
    found, _ = load_safetensors(tmp_path / "network.safetensors")
    assert [type(layer).__name__ for layer in found] == ["NALU", "NAU", "Recurrent"]
    assert (found[0].shared, found[1].clip, found[2].initial) == (False, False, 2.0)
    assert all(p.dtype == torch.float64 and p.requires_grad for p in found.parameters())


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_torch_export(name, tmp_path, shapes_unchecked):
    made = network(name)
    save(made, tmp_path / "network.pt2")
    program = torch.export.load(tmp_path / "network.pt2").module()
    x = torch.from_numpy(X)
    same(program(x).detach(), of(made))
    same(program(x[:7]).detach(), of(made)[:7])


@pytest.mark.parametrize(
    "name", ["NALU", *[pytest.param(name, marks=pytest.mark.slow) for name in EVERY if name != "NALU"]]
)
def test_onnx(name, tmp_path, shapes_unchecked):
    made = network(name)
    save(made, tmp_path / "network.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "network.onnx")
    for x in (X, X[:7]):
        [found] = session.run(["y"], {"x": x})
        same(found, of(made, x))


@pytest.mark.parametrize("snap", [0.0, 0.3])
@pytest.mark.parametrize("name", EVERY)
def test_python_and_numpy(name, snap, tmp_path):
    made = network(name)
    expected = of(made) if snap == 0 else expression(made, snap=snap).numpy()(X)
    function = imported(save(made, tmp_path / "plain.py", snap=snap))
    same([function(row.tolist()) for row in X], expected)
    function = imported(save(made, tmp_path / "arrays.py", "numpy", snap=snap))
    same(function(X), expected)
    assert function(X[0]).shape == (2,)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.parametrize("snap", [0.0, 0.3])
def test_c(snap, tmp_path):
    """All models in one library, since a compiler takes its time to start."""
    made = [network(name) for name in EVERY]
    found = [expression(model, snap=snap) for model in made]
    files = [tmp_path / f"{number}.c" for number in range(len(made))]
    for number, file in enumerate(files):
        file.write_text(source(found[number], "c", f"f{number}"))
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]
    subprocess.run(["cc", *strict, "-o", tmp_path / "library.so", *files, "-lm"], check=True)
    library = ctypes.CDLL(str(tmp_path / "library.so"))
    for number, model in enumerate(made):
        expected = of(model) if snap == 0 else found[number].numpy()(X)
        y = np.empty_like(expected)
        for row, out in zip(X, y, strict=True):
            getattr(library, f"f{number}")(*(ctypes.c_void_p(array.ctypes.data) for array in (row, out)))
        same(y, expected)


@pytest.mark.parametrize("name", EVERY)
def test_a_network_is_rebuilt_from_its_effective_weights(name):
    layers = chosen(name).layers
    made = network(name)
    flat = torch.cat([p.detach().flatten() for p in made.parameters()]).float().numpy()
    weights = kept_weights(layers, (5, 3, 2), flat)
    same_in_single_precision(of(rebuild(layers, (5, 3, 2), weights)), made)


def test_saturated_weights_are_rebuilt():
    for name, weights in (("NACAdd", [1.0, -1.0, 0.0, 1.0]), ("NACMulSigma", [1.0, 0.0, 0.5, 1e-30])):
        layer = chosen(f"{name}").layers[-1]
        [made] = rebuild([layer], (4, 1), weights)
        np.testing.assert_allclose(made.weights()["weight"].detach().numpy(), [weights], atol=1e-7)
        assert all(torch.isfinite(p).all() for p in made.parameters())


def test_gates_do_not_overflow():
    made = filled(GatedNAUNMU(2, 1), [[1.0, 1.0]], [[1.0, 1.0]], [[500.0, 500.0]])
    found = {}
    exec(source(expression(made)), found)
    assert found["formula"]([2.0, 3.0]) == [5.0]
    assert found["formula"]([-2.0, -3.0]) == [6.0]


def test_what_is_written_is_readable():
    made = nn.Sequential(filled(NAU(3, 2), [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), filled(NMU(2, 1), [[1.0, 1.0]]))
    found = expression(made, names=["a", "b", "the rest"])
    written = source(found, "c", "area")
    assert written.splitlines()[0] == "// y1 = the rest*(a + b)"
    assert "x[2] is the rest; written by arithmos" in written
    assert written.splitlines()[-3:] == [
        "void area(const double x[3], double y[1]) {",
        "    y[0] = x[2]*(x[0] + x[1]);",
        "}",
    ]


def test_unknown_layers_endings_and_languages_are_refused(tmp_path):
    with pytest.raises(TypeError, match=r"layer 2 must be a unit of arithmos.nn, got Dropout"):
        save(nn.Sequential(NAU(2, 2), nn.Dropout()), tmp_path / "network.safetensors")
    with pytest.raises(
        ValueError, match=r"path must end in one of \.safetensors, \.pt2, \.onnx, \.py, \.c, \.tex, \.txt"
    ):
        save(NAU(2, 2), tmp_path / "network.doc")
    with pytest.raises(
        ValueError, match="language must be 'python' or 'numpy' or 'sympy' or 'c' or 'latex', got 'rust'"
    ):
        source(expression(NAU(2, 2)), "rust")
    with pytest.raises(ValueError, match="name must be the name of a function, got 'a b'"):
        source(expression(NAU(2, 2)), name="a b")
    assert set(LANGUAGES) < set(FORMATS)


def test_foreign_files_are_refused(tmp_path):
    from safetensors.torch import save_file

    path = tmp_path / "network.safetensors"
    path.write_bytes(b"nothing of that kind")
    with pytest.raises(ValueError, match="is not a safetensors file"):
        load_safetensors(path)
    save_file({"w": torch.ones(2)}, path)
    with pytest.raises(ValueError, match="it was not saved by arithmos"):
        load_safetensors(path)
    entry = {"unit": "NAU", "version": 99, "options": {"in_features": 1, "out_features": 1}}
    save_file({"0.weight": torch.ones(1, 1)}, path, {"arithmos.network": json.dumps([entry])})
    with pytest.raises(ValueError, match="this version of arithmos has no unit 'NAU' of version 99"):
        load_safetensors(path)
    with pytest.raises(FileNotFoundError):
        load_safetensors(tmp_path / "nowhere.safetensors")


def test_a_large_header_is_refused_before_it_is_read(tmp_path, monkeypatch):
    from safetensors.torch import save_file

    entry = {"unit": "NAU", "version": 1, "options": {"in_features": 1, "out_features": 1}}
    path = tmp_path / "network.safetensors"
    save_file({"0.weight": torch.ones(1, 1)}, path, {"arithmos.network": json.dumps([entry] * 20_000)})
    monkeypatch.setattr("safetensors.safe_open", lambda *args, **options: pytest.fail("it was read"))
    with pytest.raises(ValueError, match=r"header of '.*' must have at most 1,048,576 bytes, got 1,8\d\d,\d\d\d"):
        load_safetensors(path)


HOSTILE = {
    "encoding": r"coding:unicode_escape \nopen('ran', 'w')\n#",
    "encoding=": r"-*- coding=unicode_escape -*- \u000aopen('ran', 'w')\u000a#",
    "encoding utf-7": "coding:utf-7 +AAo-open('ran', 'w')+AAo-",
    "line": "a\nopen('ran', 'w')\n",
    "carriage return": "a\ropen('ran', 'w')\r",
    "form feed": "a\fopen('ran', 'w')\f",
    "next line": "a\x85open('ran', 'w')",
    "line separator": "a\u2028open('ran', 'w')\u2029",
    "backslash": "a\\",
    "trigraph": "a??/",
    "comment": "*/ int ran; /*",
    "include": '\n#include "ran.h"\n',
    "escape": "\x1b[31m",
    "bidi": "a\u202eb\u2066",
    "null": "a\0b",
    "astral": "a\U000e0001b",
}


def with_name(name):
    """A product and a sum of two inputs, of which the second has the name."""
    symbols = sympy.symbols("x1 x2", real=True)
    named = sympy.Symbol(name, real=True)
    outputs = tuple(output.xreplace({symbols[1]: named}) for output in (symbols[0] * symbols[1], sum(symbols)))
    return Expression(outputs, (symbols[0], named))


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("language", ["python", "numpy"])
def test_names_stay_in_the_comments_of_python(name, language, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "plain.py"
    written = source(with_name(name), language)
    write_whole(path, written)
    done = subprocess.run([sys.executable, "-c", PRINT], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.split() == ["6.0", "5.0"], done.stderr
    assert [file.name for file in tmp_path.iterdir() if file.name != "__pycache__"] == ["plain.py"]
    assert written.splitlines() == written.rstrip("\n").split("\n")
    assert all(line.isprintable() for line in written.splitlines())


PRINT = "import plain; print(*map(float, plain.formula([2.0, 3.0])))"


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.parametrize("standard", ["c99", "gnu17"])
def test_names_stay_in_the_comments_of_c(standard, tmp_path):
    for number, name in enumerate(HOSTILE.values()):
        (tmp_path / f"{number}.c").write_text(source(with_name(name), "c", f"f{number}"), encoding="utf-8")
    strict = [f"-std={standard}", "-trigraphs", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]
    files = sorted(tmp_path.glob("*.c"))
    subprocess.run(["cc", *strict, "-Wbidi-chars=any", "-o", tmp_path / "library.so", *files], check=True)
    library = ctypes.CDLL(str(tmp_path / "library.so"))
    for number in range(len(HOSTILE)):
        x, y = np.array([2.0, 3.0]), np.empty(2)
        getattr(library, f"f{number}")(*(ctypes.c_void_p(array.ctypes.data) for array in (x, y)))
        assert y.tolist() == [6.0, 5.0]


@given(st.text(min_size=1) | st.text("\\?/*#coding:=-unicode_escape+AAo \n\r\f\x85\u2028", min_size=1))
def test_any_name_stays_in_the_comments(name):
    symbol = sympy.Symbol(name, real=True)
    expression = Expression((2 * symbol,), (symbol,))
    for language in ("python", "numpy"):
        lines = source(expression, language).encode("utf-8", "backslashreplace")
        assert ast.dump(ast.parse(lines)) == ast.dump(ast.parse(source(expression_of_b(), language)))
    written, harmless = (source(of, "c").split("\n") for of in (expression, expression_of_b()))
    assert [line for line in written if not line.startswith("// ")] == [line for line in harmless if line[:2] != "//"]
    assert not any(line.endswith(("\\", "??/")) or "*/" in line for line in written)


def expression_of_b():
    b = sympy.Symbol("b", real=True)
    return Expression((2 * b,), (b,))


def test_names_in_comments_can_be_read():
    assert source(with_name("mass ÷ 2"), "c").startswith("// y1 = mass ÷ 2*x1\n// y2 = mass ÷ 2 + x1\n")
    assert r"x[1] is a\x0ab\x5c\u202e;" in source(with_name("a\nb\\\u202e"))


def test_networks_of_older_versions_load():
    """They knew units and initial values by other names."""
    options = {"in_features": 2, "out_features": 1}
    assert isinstance(tensors._build({"unit": "ReLU", "version": 1, "options": options}), LinearReLU)
    assert tensors._build({"unit": "NMU", "version": 1, "options": {**options, "init": "released"}}).init == "default"
    assert tensors._build({"unit": "NMU", "version": 1, "options": {**options, "init": "paper"}}).init == "paper"
