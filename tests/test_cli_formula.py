import importlib.util
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from tests.factories import make_run, make_spec

from arithmos.cli import main
from arithmos.export import load_safetensors, stored_network
from arithmos.judging.thin import thin
from arithmos.store import Store
from arithmos.tasks import TEN_PARAMETERS, Rows

TEN = make_spec(task=TEN_PARAMETERS)
ALMOST = np.array([1, 0.999, 1, 1, 1, 1, 0, 0, 1, 0.995], np.float32)
FORMULA = "(x1 + x2)*(x1 + x2 + x3 + x4)"


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    """A run that is right, by two engines, one that is wrong, and one whose weights are gone."""
    monkeypatch.chdir(tmp_path)
    wrong = np.array([1, 1, 1, 1, 1, 1, 0, 0, 1, 0.6], np.float32)
    made = [make_run(TEN, 0, "cpu", best_weights=ALMOST), make_run(TEN, 1, best_weights=wrong)]
    Store("runs").append([*made, make_run(TEN, 0, best_weights=ALMOST)])
    thin(Store("runs"), "thin", keep=0)


def arithmos(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)


def test_show_says_whether_a_run_is_exact():
    assert "the network of the best record is the task's formula" in arithmos("show", TEN.id, 0).stdout
    page = arithmos("show", TEN.id, 1, "--store", "thin").stdout
    assert "This store does not keep the weights of this run." in page
    assert "This store does not keep the learning curve of this run." in page
    listed = arithmos("show", TEN.id, "--store", "thin").stdout
    assert [line.split()[3] for line in listed.splitlines() if " torch " in line or " cpu " in line] == [
        "yes",
        "yes",
        "yes",
    ]


def test_show_formula():
    pages = arithmos("show", TEN.id, 0, "--formula").stdout.split("\n\n")
    assert len(pages) == 2
    assert pages[0].splitlines() == [
        f"y = {FORMULA}",
        "target (x1 + x2 + x3 + x4)*(x1 + x2): with all weights rounded, the network is that",
        "2 numbers rounded, by at most 0.005: layer 2, NMU, weight[0, 1] is 0.995, rounded to 1",
    ]
    page = arithmos("show", TEN.id, 1, "--formula").stdout
    assert "not within 0.01 of an exact number: layer 2, NMU, weight[0, 1]" in page
    assert arithmos("show", TEN.id, 1, "--formula", "--snap", 0.5).stdout.startswith(f"y = {FORMULA}\n")


def test_export_to_safetensors():
    assert arithmos("export", TEN.id, 1, "--to", "network.safetensors").stdout == "network.safetensors\n"
    network, about = load_safetensors("network.safetensors")
    assert (about["spec"], about["seed"], about["engine"]) == (TEN.json(), "1", "torch")
    assert network[1].weight.flatten().tolist() == pytest.approx([1, 0.6])


def test_export_says_that_a_run_is_not_solved():
    assert arithmos("export", TEN.id, 0, "--to", "ten.py", "--engine", "cpu").stderr == ""
    done = arithmos("export", TEN.id, 1, "--to", "ten.py")
    assert done.exit_code == 0
    assert done.stderr.startswith("arithmos: the run did not solve its task: its test error is ")
    assert done.stderr.endswith(
        "not below 1e-05 (released) and 2e-05 (corrected); with rounded weights it would be the formula\n"
    )


def test_export_of_a_formula_by_one_of_two_engines():
    assert arithmos("export", TEN.id, 0, "--to", "ten.py", "--engine", "cpu").exit_code == 0
    spec = importlib.util.spec_from_file_location("ten", "ten.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.formula([1, 2, 3, 4]) == [30]
    assert arithmos("export", TEN.id, 1, "--to", "ten.txt", "--as", "c").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["show", TEN.id, "--formula"], "seed must be given, got none"),
        (["show", TEN.id, 7, "--formula"], "runs has no run of spec"),
        (["show", TEN.id, 1, "--formula", "--store", "thin"], "thin does not keep the weights of the run of spec"),
        (["show", TEN.id, 1, "--formula", "--snap", 0.7], "0.7 is not in the range"),
        (
            ["export", TEN.id, 0, "--to", "ten.c"],
            "one of those that made this run, cpu, torch, got none",
        ),
        (["export", TEN.id, 1, "--to", "ten.doc"], "path must end in one of .safetensors, .pt2, .onnx, .py, .c"),
        (["export", TEN.id, 1, "--to", "ten.c", "--as", "rust"], "format be one of safetensors, pt2"),
        (["export", TEN.id, 1], "Missing option '--to'"),
        (["export", TEN.id, 1, "--to", "nowhere/ten.c"], "No such file or directory"),
        (["store", "thin", "--into", "runs"], "into must be another store"),
        (["store", "thin", "--into", "thin", "--store", "nowhere"], "there is no folder 'nowhere'"),
    ],
)
def test_what_was_asked_wrongly(arguments, complaint):
    done = arithmos(*arguments)
    assert done.exit_code in (1, 2)
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1


def test_what_is_not_installed_is_named(monkeypatch):
    for package, ending, extra in (
        ("safetensors", "safetensors", "formula"),
        ("onnx", "onnx", "onnx"),
    ):
        monkeypatch.setitem(sys.modules, f"{package}.torch", None)
        monkeypatch.setitem(sys.modules, package, None)
        done = arithmos("export", TEN.id, 1, "--to", f"network.{ending}")
        assert done.exit_code == 2
        assert f'is not installed; install it with pip install "arithmos[{extra}]"' in done.stderr


def test_rows_have_a_formula_without_a_target():
    spec = make_spec(task=Rows(np.ones((9, 4)), np.ones(9)), model="NAU")
    store = Store("runs")
    store.append([make_run(spec, 0, best_weights=ALMOST)])
    assert str(stored_network(store, spec.id, 0).expression()) == "2*x1 + 2*x2 + x3 + x4"
    assert "target" not in arithmos("show", spec.id, 0, "--formula").stdout


def test_store_thin():
    done = arithmos("store", "thin", "--into", "small", "--keep", "1")
    assert done.stdout.startswith("3 runs of 1 specs in small: 1 files, 0.0 MB")
    assert Store("small").load(columns=["best_weights"])["best_weights"].notna().sum() == 3
