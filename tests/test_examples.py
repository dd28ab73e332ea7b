import runpy
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_ten_parameters(capsys):
    main = runpy.run_path(str(EXAMPLES / "ten_parameters.py"))["main"]
    assert main(steps=20) > 0
    assert "mean squared error for inputs from [2, 6]" in capsys.readouterr().out
