import runpy
import sys
from pathlib import Path

from click.testing import CliRunner

from arithmos.cli import main
from arithmos.spec import load_unit

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_experiment_files(tmp_path):
    files = sorted(EXAMPLES.glob("*.toml"))
    assert files
    for file in files:
        short = [str(file), "--seeds", "1", "--iterations", "10"]
        store = ["--store", str(tmp_path / file.stem)]
        done = CliRunner().invoke(main, ["run", *short, "--engine", "torch", *store], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        rows = CliRunner().invoke(main, ["table", *short, *store]).stdout.splitlines()
        assert sum("  torch  " in row for row in rows) == 12


def test_ten_parameters(capsys):
    main = runpy.run_path(str(EXAMPLES / "ten_parameters.py"))["main"]
    assert main(steps=20) > 0
    assert "mean squared error for inputs from [2, 6]" in capsys.readouterr().out


def test_own_unit(capsys):
    # A unit is known by the file of its class, so its module has to be one.
    unit = load_unit(f"{EXAMPLES / 'own_unit.py'}:DividingNMU")
    table = sys.modules[unit.module.__module__].main(seeds=2, iterations=50)
    assert [*table["n"]] == [2, 2]
    assert "DividingNMU" in capsys.readouterr().out


def test_nmu_behind_mlp(capsys):
    assert runpy.run_path(str(EXAMPLES / "nmu_behind_mlp.py"))["main"](steps=20) > 0
    assert "relative error of the product of six dials" in capsys.readouterr().out


def test_fit_csv(capsys, tmp_path):
    fit = runpy.run_path(str(EXAMPLES / "fit_csv.py"))["main"](tmp_path)
    assert "profit = buyers*(-cost + price)" in capsys.readouterr().out
    assert fit.model.certificate_.verdict == "noise"
    assert (tmp_path / "shop.html").exists()
