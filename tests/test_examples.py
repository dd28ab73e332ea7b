"""The examples run, and print what is stored beside them, up to the numbers: scripts in short versions."""

import copy
import re
import runpy
import sys

import nbclient
import nbformat
import pytest
from click.testing import CliRunner
from tools import examples

from arithmos.cli import main
from arithmos.spec import load_unit
from arithmos.testing import check_unit

EXAMPLES = examples.EXAMPLES


def wording(text: str) -> str:
    """A text without its numbers, which differ between processors, and without its spacing, which goes with them."""
    return re.sub(r"\s+", " ", re.sub(r"[-−]?\d[\d,.]*(e[-+]\d+)?|NaN", "#", text)).strip()


def printed(name: str) -> str:
    return wording(examples.output(EXAMPLES / name))


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
    assert wording(capsys.readouterr().out) == printed("ten_parameters.py")


def test_own_unit(capsys):
    # A unit is known by the file of its class, so its module has to be one.
    unit = load_unit(f"{EXAMPLES / 'own_unit.py'}:DividingNMU")
    table = sys.modules[unit.module.__module__].main(seeds=2, iterations=50)
    assert [*table["n"]] == [2, 2]
    assert wording(capsys.readouterr().out) == printed("own_unit.py")


@pytest.mark.usefixtures("shapes_unchecked")  # torch 2.6 cannot export through the checks
def test_own_unit_passes_the_contract():
    unit = load_unit(f"{EXAMPLES / 'own_unit.py'}:DividingNMU")
    assert {*check_unit(unit).values()} == {"passed"}


def test_nmu_behind_mlp(capsys):
    assert runpy.run_path(str(EXAMPLES / "nmu_behind_mlp.py"))["main"](steps=20) > 0
    assert wording(capsys.readouterr().out) == printed("nmu_behind_mlp.py")


def test_second_order(capsys):
    assert runpy.run_path(str(EXAMPLES / "second_order.py"))["main"](inputs=100) == [True, True]
    assert wording(capsys.readouterr().out) == printed("second_order.py")


def test_fit_csv(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fit = runpy.run_path(str(EXAMPLES / "fit_csv.py"))["main"]()
    assert "profit = buyers*(-cost + price)" in (out := capsys.readouterr().out)
    assert wording(out) == printed("fit_csv.py")
    assert fit.model.certificate_.verdict == "noise"
    assert (tmp_path / "shop" / "shop.html").exists()


def shown(cell: nbformat.NotebookNode) -> tuple[str, list[set[str]]]:
    """What a cell printed and showed, and in which forms."""
    streams = [output.text for output in cell.outputs if output.output_type == "stream"]
    results = [output.data for output in cell.outputs if "data" in output]
    texts = [data["text/plain"] for data in results if "text/plain" in data]
    return wording("".join(streams + texts)), [set(data) for data in results]


@pytest.mark.parametrize("path", examples.NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run_and_show_what_is_stored(path, tmp_path):
    stored = nbformat.read(path, as_version=4)
    fresh = copy.deepcopy(stored)
    nbclient.NotebookClient(fresh, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    code = [cell for cell in stored.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == [*range(1, len(code) + 1)], "not one run from top to bottom"
    for before, after in zip(stored.cells, fresh.cells, strict=True):
        if before.cell_type == "code":
            assert shown(before) == shown(after)


def test_notebooks_are_pages_with_pictures():
    for notebook in examples.NOTEBOOKS:
        made = examples.notebook_pages(notebook)
        page = made.pop(f"examples/{notebook.stem}.md")
        assert page.startswith("# ")
        for path, picture in made.items():
            assert picture.startswith("<svg")
            assert re.search(rf"!\[.{{40,}}\]\({re.escape(path.removeprefix('examples/'))}\)", page), "alternative text"
        assert made
