import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from arithmos.cli import main
from arithmos.regression.from_csv import fit_csv
from arithmos.report.charts.draw import save
from arithmos.report.charts.fit import draw

QUICK = {"random_state": 0, "n_jobs": 1}


def write(folder, rows=200):
    x = np.random.default_rng(0).uniform(1, 2, (rows, 3))
    frame = pd.DataFrame(x, columns=["mass", "speed", "noise"])
    frame["momentum"] = frame["mass"] * frame["speed"]
    frame["city"] = "Oslo"
    frame.to_csv(folder / "data.csv", index=False)
    return folder / "data.csv"


def arithmos(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)


def test_sets_the_far_rows_aside(tmp_path):
    fit = fit_csv(write(tmp_path), "momentum", **QUICK)
    assert fit.far.sum() == 20
    assert fit.distance[fit.far].min() >= fit.distance[~fit.far].max()
    assert fit.far_residual < 1e-12
    assert str(fit).startswith("momentum = mass*speed\n\nverdict           exact")
    assert "on the 20 rows furthest from the center" in str(fit)


def test_of_few_rows_none_is_set_aside(tmp_path):
    fit = fit_csv(write(tmp_path, rows=30), "momentum", **QUICK)
    assert not fit.far.any()
    assert np.isnan(fit.far_residual)
    assert "set aside" not in str(fit)


def test_far_rows_are_not_learned_from(tmp_path):
    file = write(tmp_path)
    frame = pd.read_csv(file)
    distance = ((frame[["mass", "speed", "noise"]] - frame[["mass", "speed", "noise"]].mean()) ** 2).sum(axis=1)
    frame.loc[distance.idxmax(), "momentum"] = 1e6
    frame.to_csv(file, index=False)
    fit = fit_csv(file, "momentum", **QUICK)
    assert fit.model.certificate_.exact
    assert fit.far_residual > 0.9


def test_a_million_rows(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(1, 2, (1_000_000, 2)).round(3), columns=["a", "b"])
    frame["y"] = (frame["a"] * frame["b"]).round(6)
    frame.to_csv(tmp_path / "data.csv", index=False)
    fit = fit_csv(tmp_path / "data.csv", "y", **QUICK)
    assert str(fit.model.formula_) == "a*b"
    assert fit.model.certificate_.exact
    assert len(draw(fit).to_dict()["datasets"]) < 10


def test_picture_has_two_panels_a_target(tmp_path):
    fit = fit_csv(write(tmp_path), ["momentum", "noise"], **QUICK)
    chart = json.loads(save(draw(fit), tmp_path / "fit.json").read_text())
    assert [len(row["hconcat"]) for row in chart["vconcat"]] == [2, 2]
    assert chart["title"]["subtitle"].startswith("verdict: ")


def test_command_prints_the_formula_and_draws_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = arithmos("fit", write(tmp_path), "--target", "momentum", "--jobs", 1)
    assert done.exit_code == 0
    assert done.stdout.splitlines()[0] == "momentum = mass*speed"
    assert done.stdout.splitlines()[-1] == "data-fit.html"
    assert "left out: column 'city', which is 'Oslo' in every row" in done.stderr
    assert (tmp_path / "data-fit.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "momentun"], "did you mean 'momentum'?"),
        (["--target", "city"], "column 'city' is 'Oslo' in every row"),
        ([], "Missing option '--target'"),
        (["--target", "momentum", "--budget", "soon"], "'soon' is not a duration"),
        (["--target", "momentum", "-o", "fit.bmp"], "path must end in"),
    ],
)
def test_command_says_in_a_line_what_is_wrong(tmp_path, arguments, message):
    done = arithmos("fit", write(tmp_path, 20), *arguments)
    assert done.exit_code == 2
    assert message in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("name", ["mass\x1b[2J", "mass\x9b2J", "m\u202eass", "mass\0"])
def test_names_that_a_terminal_would_obey_are_refused(tmp_path, name):
    file = write(tmp_path, 20)
    file.write_text(file.read_text().replace("mass", name))
    done = arithmos("fit", file, "--target", "momentum", "-o", tmp_path / "fit.svg", "--jobs", 1)
    assert done.exit_code == 2
    assert "data.csv must have printable column names; column 1 is named 'm" in done.stderr
    assert all(line.isprintable() for line in done.output.splitlines())


def test_values_in_messages_are_escaped(tmp_path):
    file = write(tmp_path, 20)
    file.write_text(file.read_text().replace("Oslo", "\x1b[31mOslo"))
    done = arithmos("fit", file, "--target", "city\x1b[31m")
    assert done.exit_code == 2
    assert done.stderr.replace("\n", "").isprintable()


def test_command_names_a_file_that_is_not_there():
    done = arithmos("fit", "none.csv", "--target", "y")
    assert done.exit_code == 2
    assert "none.csv" in done.stderr
