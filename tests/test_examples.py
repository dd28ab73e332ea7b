import runpy
from pathlib import Path

from click.testing import CliRunner

from arithmos.cli import main

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
