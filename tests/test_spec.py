import dataclasses
import json
import linecache
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from arithmos.engines import Job
from arithmos.engines.cpu import CpuEngine
from arithmos.engines.torch import TorchEngine
from arithmos.nn import NAU, UNITS, Unit
from arithmos.optim import SparsitySchedule
from arithmos.spec import MODELS, Adam, InputRegularizer, Layer, Model, Spec, as_unit, model
from arithmos.tasks import TEN_PARAMETERS, Arithmetic, DigitSequences, Rows

SPEC = Spec(task=TEN_PARAMETERS, model=MODELS["NMU"], iterations=200_000)

OWN = """
import torch
from torch import nn


class Mine(nn.Module):
    def __init__(self, in_features, out_features, *, device=None, dtype=None):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features, device=device, dtype=dtype))
        nn.init.uniform_(self.weight)

    def forward(self, x):
        return x @ self.weight.T
"""


def test_id_is_stable():
    # Stored runs are found by this name: it may change only with a version of task or units.
    assert SPEC.id == "76a4d084edf660e9"
    assert json.loads(SPEC.json())["task"]["version"] == 1
    assert [layer["version"] for layer in json.loads(SPEC.json())["layers"]] == ["1", "1"]


DIGITS = {"operation": "mul", "test_lengths": (2, 10**6), "digits": (1, 2), "images": 10**8, "validation_size": 10**7}


@pytest.mark.parametrize(
    ("task", "changes", "message"),
    [
        (TEN_PARAMETERS, {"hidden_size": 10**9}, "batch_size or hidden_size must be smaller: a run would need 551 GiB"),
        (
            TEN_PARAMETERS,
            {"hidden_size": 10**9, "batch_size": 1},
            "hidden_size must be smaller: a run would need 78 GiB",
        ),
        (TEN_PARAMETERS, {"batch_size": 10**9}, "batch_size or input_size must be smaller: a run would need 26 GiB"),
        (Arithmetic(operation="mul", input_size=10**9), {}, "input_size must be smaller: a run would need 149,"),
        (DigitSequences(length=10**6, **DIGITS), {}, "batch_size or length must be smaller: a run would need 374 GiB"),
        (
            DigitSequences(length=2, **DIGITS),
            {"iterations": 10**9, "evaluate_every": 1},
            "iterations / evaluate_every must be smaller: a run would need 19 GiB",
        ),
    ],
)
def test_a_run_too_large_for_memory_is_refused(task, changes, message):
    with pytest.raises(ValueError, match=f"^{message}.* of memory or more, the limit is 8 GiB$"):
        Spec(task=task, model=Model("own", (Layer("NMU"),) * (2 if isinstance(task, Arithmetic) else 1)), **changes)


def test_id_does_not_know_how_a_number_was_written():
    task = dataclasses.replace(TEN_PARAMETERS, interpolation=((1, 2),))
    schedule = SparsitySchedule(10, 1e6, 2e6)
    same = dataclasses.replace(SPEC, task=task, model=dataclasses.replace(SPEC.model, schedule=schedule))
    assert same.id == SPEC.id


def test_id_knows_everything_but_names():
    renamed = dataclasses.replace(SPEC, model=dataclasses.replace(SPEC.model, name="x", label="y"))
    assert renamed.id == SPEC.id
    changed = [
        {"hidden_size": 3},
        {"iterations": 1},
        {"batch_size": 64},
        {"evaluate_every": 10},
        {"optimizer": Adam(lr=0.01)},
        {"model": MODELS["NAU"]},
        {"model": MODELS["NMU"].with_options(project=False)},
        {"task": Arithmetic(operation="mul", input_size=4)},
        {"task": dataclasses.replace(TEN_PARAMETERS, extrapolation=((2.0, 7.0),))},
        {"task": Rows(np.ones((9, 4)), np.ones(9))},
    ]
    assert len({dataclasses.replace(SPEC, **change).id for change in changed} | {SPEC.id}) == len(changed) + 1


@given(st.sampled_from(sorted(MODELS)), st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_the_initial_weights_of_every_model_are_those_of_their_seed(name, inputs, hidden, seed):
    task = Arithmetic(operation="add", input_size=inputs, fixed=((0, 1),))
    spec = Spec(task=task, model=MODELS[name], hidden_size=hidden)
    network = spec.network(seed)
    again = spec.network(seed)
    for a, b in zip(network.parameters(), again.parameters(), strict=True):
        assert torch.equal(a, b)


def test_weights_start_as_the_second_filling_of_a_seeded_generator():
    generator = torch.Generator().manual_seed(3)
    torch.empty(2, 4).uniform_(-0.5, 0.5, generator=generator)
    torch.empty(1, 2).uniform_(0.25, 0.75, generator=generator)
    first = torch.empty(2, 4).uniform_(-0.5, 0.5, generator=generator)
    second = torch.empty(1, 2).uniform_(0.25, 0.75, generator=generator)
    network = SPEC.network(3)
    assert torch.equal(network[0].weight, first)
    assert torch.equal(network[1].weight, second)


def test_models_are_the_published_ones():
    assert [layer.unit for layer in MODELS["NACMulNMU"].layers] == ["NAU", "NACMulNMU"]
    assert [layer.unit for layer in MODELS["ReLU"].layers] == ["LinearReLU", "Linear"]


def test_a_spec_keeps_the_former_name_of_a_unit():
    """Which stored runs are known by; both names make the same layer."""
    assert Layer("ReLU") == Layer("LinearReLU")
    assert model("ReLU>Linear") == model("LinearReLU>Linear") == MODELS["ReLU"]
    plain = Layer("LinearReLU").plain()
    assert plain["unit"] == "ReLU"
    assert Layer.from_plain(plain) == Layer("LinearReLU")
    assert MODELS["NAU"].schedule.strength == 0.01
    assert (MODELS["NMU"].schedule.start, MODELS["NMU"].schedule.end) == (1_000_000, 2_000_000)
    assert all(layer.unit in UNITS for known in MODELS.values() for layer in known.layers)


def test_options_reach_the_layers():
    layer = MODELS["NMU"].with_options(project=False).layers[1].build(4, 2)
    assert (layer.project, layer.clip, layer.bounds()) == (False, True, {})


def test_model_by_layers():
    assert model("NAU>NMU") == MODELS["NMU"]
    assert model("NAU > NMU") == MODELS["NMU"]
    assert [layer.unit for layer in model("NACAdd>NMU").layers] == ["NACAdd", "NMU"]
    with pytest.raises(KeyError, match="unknown unit 'NMUU'; did you mean 'NMU'"):
        model("NAU>NMUU")
    with pytest.raises(KeyError, match="unknown model 'NMW'; did you mean 'NMU'"):
        model("NMW")


def test_a_users_file_is_known_by_its_digest_not_its_place(tmp_path):
    paths = [tmp_path / place / "own.py" for place in ("a", "b")]
    for path in paths:
        path.parent.mkdir()
        path.write_text(OWN)
    specs = [dataclasses.replace(SPEC, model=model(f"NAU>{path}:Mine")) for path in paths]
    assert specs[0].id == specs[1].id
    torch.testing.assert_close(specs[0].network(5)[1].weight, specs[1].network(5)[1].weight)
    assert not torch.equal(specs[0].network(5)[1].weight, specs[0].network(6)[1].weight)
    paths[1].write_text(OWN + "\n\n")
    assert dataclasses.replace(SPEC, model=model(f"NAU>{paths[1]}:Mine")).id != specs[0].id
    with pytest.raises(ValueError, match=r"'Missing' must be an nn.Module class or Unit .*it has \['Mine'\]"):
        dataclasses.replace(SPEC, model=model(f"NAU>{paths[0]}:Missing")).load()
    with pytest.raises(FileNotFoundError, match="there is no file"):
        model(f"NAU>{tmp_path}/none.py:Mine")


OWN_ID = "5e13730127b32909"
"""As version 0.1 had it, which ran the file."""


def test_a_users_file_is_not_run_to_know_a_spec(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text("open('ran', 'w').close()\n" + OWN)
    spec = dataclasses.replace(SPEC, model=model("NAU>own.py:Mine"))
    twin = pickle.loads(pickle.dumps(spec))
    assert [(layer.name, layer.label) for layer in spec.model.layers] == [("NAU", "NAU"), ("own.py:Mine", "Mine")]
    assert (spec.id, twin.id, twin == spec) == (OWN_ID, OWN_ID, True)
    assert not Path("ran").exists()
    spec.load()
    assert Path("ran").exists()
    assert spec.id == OWN_ID


def test_what_only_a_loaded_unit_tells_is_checked_when_it_is_loaded(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    task = DigitSequences(operation="mul", length=2, test_lengths=(2,), digits=(1, 2), images=500, validation_size=50)
    own = Model("own", (Layer(f"{tmp_path}/own.py:Mine"),), inputs=InputRegularizer(1.0))
    spec = Spec(task=task, model=own)
    with pytest.raises(ValueError, match="the inputs of 'own' have no regularizer; strength must be 0"):
        spec.load()


def test_a_file_that_is_no_text(tmp_path):
    (tmp_path / "own.py").write_bytes(b"\xff")
    with pytest.raises(ValueError, match="is not text in UTF-8"):
        model(f"{tmp_path}/own.py:Mine")


WIDE = """
import torch


class Wide(torch.nn.Linear):
    width = 1
"""


def test_an_edited_file_is_another_unit(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(WIDE)
    before = Layer("own.py:Wide")
    Path("own.py").write_text(WIDE.replace("1", "2"))  # as long as it was, and within the same second
    after = Layer("own.py:Wide")
    assert [layer.build(1, 1).width for layer in (before, after)] == [1, 2]
    Path("own.py").write_text(WIDE)
    assert before.version == Layer("own.py:Wide").version != after.version


def test_files_of_one_name_in_two_folders(tmp_path, monkeypatch):
    widths = []
    for place in ("1", "2"):
        (tmp_path / place).mkdir()
        monkeypatch.chdir(tmp_path / place)
        Path("own.py").write_text(WIDE.replace("1", place))
        widths.append(Layer("own.py:Wide").build(1, 1).width)
    assert widths == [1, 2]


def test_a_layer_travels_without_the_users_file(tmp_path):
    (tmp_path / "own.py").write_text(WIDE)
    layer = Layer(f"{tmp_path}/own.py:Wide")
    packed = pickle.dumps(layer)
    (tmp_path / "own.py").unlink()
    twin = pickle.loads(packed)
    assert (twin, twin.version) == (layer, layer.version)
    assert twin.build(1, 1).width == layer.build(1, 1).width
    assert b"arithmos_user" not in packed


def test_a_unit_in_a_cell_is_known_by_the_cell():
    def version(cell):
        file = f"<cell {hash(cell)}>"
        linecache.cache[file] = (len(cell), None, cell.splitlines(keepends=True), file)
        names = {"__name__": "a notebook"}
        exec(compile(cell, file, "exec"), names)
        return Layer(as_unit(names["Mine"])).version

    assert version(OWN) == version(OWN) != version(OWN + "\n")
    bare = "from arithmos.nn import NAU\nclass Mine(NAU): pass\n"
    with pytest.raises(ValueError, match=r"unit 'Mine': its source, .* was not found; define it in a file"):
        version(bare)


def test_a_users_file_may_build_layers(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(f"from arithmos.spec import Layer\nLayer('NMU').blank(2, 1)\n{OWN}")
    spec = dataclasses.replace(SPEC, model=model(f"NAU>{path}:Mine"))
    assert len(spec.network(0)) == 2
    assert Layer(f"{path}:Mine").blank(2, 1).weight.shape == (1, 2)


def test_a_users_class_is_a_unit():
    class Mine(NAU):
        pass

    unit = as_unit(Mine)
    assert (unit.module, unit.name) == (Mine, "Mine")
    spec = dataclasses.replace(SPEC, model=Model("mine", (Layer("NAU"), Layer(unit))))
    assert spec.id != SPEC.id
    assert spec.sizes == (4, 2, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"iterations": -1}, r"iterations must be a whole number from 0 to 2\^32 - 1, got -1"),
        ({"hidden_size": 0}, "hidden_size must be a whole number from 1"),
        ({"batch_size": 1.5}, "batch_size must be a whole number from 1 .*got 1.5"),
        ({"evaluate_every": True}, "evaluate_every must be a whole number from 1 .*got True"),
        ({"iterations": 10**5000}, "iterations must be .*got a whole number of more than 4300 digits"),
        ({"task": "mul"}, "task must be a task of arithmos.tasks, got 'mul'"),
        ({"model": "NMU"}, "model must be a Model, got 'NMU'"),
    ],
)
def test_impossible_specs_are_refused_by_name(change, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(SPEC, **change)


def test_numbers_of_numpy_are_plain_numbers():
    task = dataclasses.replace(TEN_PARAMETERS, input_size=np.int64(4), interpolation=[np.array([1, 2]).tolist()])
    assert dataclasses.replace(SPEC, task=task, hidden_size=np.int32(2)).id == SPEC.id


@pytest.mark.parametrize(
    ("unit", "options", "message"),
    [
        ("NMUU", (), "unknown unit 'NMUU'; did you mean 'NMU'"),
        (3, (), "unit must be a line of printable text, got 3"),
        ("NMU", (("int", "paper"),), "an option of NMU must be one of init, project, clip, got 'int'; did you mean"),
        ("NMU", (("clip", "no"),), "option 'clip' of NMU must be like True, got 'no'"),
        ("NMU", "init", "options must be a list of pairs, got 'init'"),
        (as_unit(NAU), (("x", np.nan),), "option 'x' must be a finite number, got nan"),
        ("none.py:Own", (), "unit 'none.py:Own': there is no file 'none.py'"),
    ],
)
def test_impossible_layers_are_refused_by_name(unit, options, message):
    with pytest.raises((ValueError, KeyError, FileNotFoundError), match=message):
        Layer(unit, options)


def test_options_that_a_size_cannot_have_are_refused_with_the_spec():
    own = Model("own", (Layer("NACAdd"), Layer("NACMul", (("init", "paper"),))))
    with pytest.raises(ValueError, match=r"a layer NACMul of 2 inputs and 1 outputs cannot have options .*paper"):
        dataclasses.replace(SPEC, model=own)
    assert dataclasses.replace(SPEC, model=own, hidden_size=4).id
    with pytest.raises(ValueError, match=r"init must be 'default' or 'paper' or 'unit' or .*, got 'papr'"):
        dataclasses.replace(SPEC, model=Model("own", (Layer("NMU", (("init", "papr"),)),)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eps": 1e-60}, r"eps must be from 1\.2e-38 to 3\.4e\+38, the range of float32, got 1e-60"),
        ({"eps": 1e39}, r"eps must be from 1\.2e-38 to 3\.4e\+38, the range of float32, got 1e\+39"),
        ({"lr": 1e39}, r"lr must be from 1\.2e-38 to 3\.4e\+38, the range of float32, got 1e\+39"),
        ({"lr": 1e-60}, r"lr must be from 1\.2e-38 to 3\.4e\+38, the range of float32, got 1e-60"),
        ({"lr": 1e38}, r"lr must be at most 3\.4e\+37 with beta1 0\.9, got 1e\+38"),
    ],
)
def test_numbers_that_float32_does_not_hold_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Adam(**options)


def written_otherwise(spec):
    """The same spec, with -0.0 for 0.0 and integers for floats."""
    change = {"overlap_ratio": -0.0, "interpolation": ((-0.0, 2),), "extrapolation": ((2, 6),)}
    own = dataclasses.replace(spec.model, schedule=SparsitySchedule(-0.0, -0.0, 1), inputs=InputRegularizer(-0.0))
    adam = Adam(lr=1, beta1=-0.0, beta2=0)
    return dataclasses.replace(spec, task=dataclasses.replace(spec.task, **change), model=own, optimizer=adam)


def test_equal_specs_have_one_id():
    task = Arithmetic(operation="mul", overlap_ratio=0.0, interpolation=((0.0, 2.0),), extrapolation=((2.0, 6.0),))
    own = dataclasses.replace(MODELS["NMU"], schedule=SparsitySchedule(0.0, 0.0, 1.0), inputs=InputRegularizer(0.0))
    spec = Spec(task=task, model=own, optimizer=Adam(lr=1.0, beta1=0.0, beta2=0.0))
    assert written_otherwise(spec) == spec
    assert written_otherwise(spec).json() == spec.json()


@pytest.mark.parametrize(("one", "other"), [(0.0, -0.0), (1.0, 1)])
def test_equal_specs_on_digits_have_one_id(one, other):
    digits = DigitSequences(operation="mul", length=2, test_lengths=(1, 2), digits=(1, 2), images=100, initial=one)
    spec = Spec(task=digits, model=Model("NMU", (Layer("NMU"),), inputs=InputRegularizer(one)))
    own = dataclasses.replace(spec.model, inputs=InputRegularizer(other))
    again = dataclasses.replace(spec, task=dataclasses.replace(digits, initial=other), model=own)
    assert again == spec
    assert again.json() == spec.json()


def test_equal_options_have_one_id():
    layers = [Layer(Unit(NAU, name="NAU2", label=""), (("x", x),)) for x in (0.0, -0.0)]
    assert [str(layer.options) for layer in layers] == ["(('x', 0.0),)"] * 2


@pytest.mark.parametrize("unit", ["NACAdd", "NACMul", "NALU", "NALUSeparate"])
def test_initial_weights_of_the_paper_can_be_run(unit):
    """There are none for a layer of one input and one output, which was once built to ask for its form."""
    options = Layer(unit, (("init", "paper"),))
    spec = Spec(task=TEN_PARAMETERS, model=Model("own", (options, Layer("NAU"))), hidden_size=2, iterations=10)
    for engine in (CpuEngine(1), TorchEngine()):
        assert engine.refuses(spec) is None
        [run] = engine.run([Job(spec, (0,))])
        assert run.records == 1


def test_a_model_with_a_unit_in_it_has_a_hash():
    one, other = (Model("own", (Layer(Unit(NAU, name="Mine", label="Mine", options={"init": "paper"})),)) for _ in "ab")
    assert {one: 1}[other] == 1


def test_impossible_optimizers_and_models_are_refused_by_name():
    with pytest.raises(ValueError, match="lr must be above 0, got 0"):
        Adam(lr=0)
    with pytest.raises(ValueError, match="beta2 must be at least 0 and below 1, got 1"):
        Adam(beta2=1)
    with pytest.raises(ValueError, match="layers of model 'x' must be at least one, got none"):
        Model("x", ())
