import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from importlib import resources
from pathlib import Path

import pytest
import yaml

import arithmos
from arithmos.engines import ENGINES

ROOT = Path(__file__).parents[1]


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def loaded_by(statement):
    return set(run(sys.executable, "-c", f"{statement}; import sys; print(*sys.modules)").split())


def packages(modules):
    return {name.partition(".")[0] for name in modules}


def test_import_loads_torch_and_numpy_only():
    ours, theirs = loaded_by("import arithmos"), loaded_by("import torch, numpy.random")
    assert packages(ours) - packages(theirs) - sys.stdlib_module_names == {"arithmos"}


def test_help_loads_neither_torch_nor_numpy():
    """Of the verbs too, unless an option lists names that are looked up, such as those of the engines."""
    for words in (["--help"], ["store", "--help"], ["store", "pack", "--help"], ["data", "mnist", "--help"]):
        script = f"import atexit, sys; atexit.register(lambda: print(*sys.modules)); sys.argv[1:] = {words}"
        shown = run(sys.executable, "-c", f"{script}; from arithmos.__main__ import main; main()")
        loaded = packages(shown.splitlines()[-1].split())
        assert "click" in loaded
        assert not loaded & {"torch", "numpy", "pandas", "pyarrow", "numba", "rich"}


def test_an_engine_is_loaded_when_it_is_asked_for():
    engines = {f"arithmos.engines.{name}" for name in ENGINES}
    assert not engines & loaded_by("import arithmos.bench")
    assert engines & loaded_by("from arithmos.engines import ENGINES; ENGINES['torch']()") == {"arithmos.engines.torch"}


def test_a_fit_in_closed_form_needs_no_torch():
    """Half of the time to the first candidate would be its import; sympy and charts come after the search, too."""
    before = loaded_by("from arithmos.regression.from_csv import fit_csv")
    assert "sklearn" in before
    assert not packages(before) & {"torch", "sympy", "altair"}
    fit = "ArithmeticRegressor(random_state=0).fit(x, x[:, 0] * x[:, 1])"
    data = "import numpy as np; x = np.random.default_rng(0).uniform(1, 2, (60, 3))"
    after = loaded_by(f"{data}; from arithmos.regression import ArithmeticRegressor; print({fit}.formula_)")
    assert "sympy" in packages(after)
    assert "torch" not in packages(after)


def test_every_public_name_is_there():
    assert sorted(arithmos.__all__) == list(arithmos.__all__)
    for name in arithmos.__all__:
        assert hasattr(arithmos, name), name


def test_is_typed():
    assert resources.files("arithmos").joinpath("py.typed").is_file()


def test_version_is_in_one_place():
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    source = ROOT / pyproject["tool"]["hatch"]["version"]["path"]
    assert "version" not in pyproject["project"]
    assert f'__version__ = "{arithmos.__version__}"' in source.read_text()


def test_citation_names_the_paper():
    [paper] = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["references"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert paper["authors"][0]["family-names"] == "Madsen"
    for value in (paper["title"], paper["url"], str(paper["year"])):
        assert f"{{{value}}}" in readme.partition("@inproceedings")[2]


@pytest.mark.slow
def test_builds_what_installs_in_an_empty_environment(tmp_path):
    run(sys.executable, "-m", "build", "--outdir", tmp_path / "dist", ROOT)
    [wheel] = (tmp_path / "dist").glob("*.whl")
    [sdist] = (tmp_path / "dist").glob("*.tar.gz")
    assert wheel.stat().st_size < 5 * 2**20
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
    assert "arithmos/py.typed" in zipfile.ZipFile(wheel).namelist()
    with tarfile.open(sdist) as files:
        packed = {name.partition("/")[2] for name in files.getnames()}
    assert {
        "README.md",
        "docs/nmu.svg",
        "examples/ten_parameters.py",
        "tests/test_package.py",
        "tools/examples.py",
    } <= packed

    venv.create(tmp_path / "empty", with_pip=True)
    python = tmp_path / "empty" / "bin" / "python"
    use = "import arithmos, torch; arithmos.nn.NMU(2, 1)(torch.ones(3, 2)); print(arithmos.__version__)"
    for package in (wheel, sdist):
        run(python, "-m", "pip", "install", "-c", ROOT / "constraints.txt", package)
        assert run(python, "-W", "error", "-c", use, cwd=tmp_path).strip() == arithmos.__version__
        run(python, "-m", "pip", "uninstall", "--yes", "arithmos")
