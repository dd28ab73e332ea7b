import json
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from arithmos.cli import main
from arithmos.regression.from_csv import fit_csv
from arithmos.report.charts.files import save
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


def test_command_leaves_out_formulas_of_another_unit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = arithmos(
        "fit", write(tmp_path), "--target", "momentum", "--units", "mass=kg, speed=m/s, momentum=N s", "--json"
    )
    assert json.loads(done.stdout)["formulas"][-1]["formula"] == "mass*speed"
    done = arithmos(
        "fit", write(tmp_path), "--target", "momentum", "--units", "mass=kg, speed=m/s, momentum=K", "--json"
    )
    assert json.loads(done.stdout)["formulas"][-1]["formula"] != "mass*speed"


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


def test_picture_has_three_panels_per_target(tmp_path):
    fit = fit_csv(write(tmp_path), ["momentum", "noise"], **QUICK)
    chart = json.loads(save(draw(fit), tmp_path / "fit.json").read_text())
    assert [len(row["hconcat"]) for row in chart["vconcat"]] == [3, 3]
    assert chart["title"]["subtitle"].startswith("verdict: ")


def test_command_prints_the_formula_and_draws_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = arithmos("fit", write(tmp_path), "--target", "momentum", "--jobs", 1)
    assert done.exit_code == 0
    assert done.stdout.splitlines()[0] == "momentum = mass*speed"
    assert "R²                1.000000" in done.stdout
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
        (["--target", "momentum", "--complexity", "0"], "'--complexity': 0 is not in the range x>=1"),
        (["--target", "momentum", "--export", "formula.doc"], "path must end in one of"),
        (["--target", "momentum", "--units", "mass=3 kg"], "a unit must be written like kg*m/s^2, got '3 kg'"),
        (
            ["--target", "momentum", "--units", "mas=kg"],
            "units has 'mas', which is none of mass, speed, noise, momentum",
        ),
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


def test_json_has_formulas_cells_and_certificates(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = arithmos("fit", write(tmp_path), "--target", "momentum", "--json")
    found = json.loads(done.stdout)
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]
    [chosen] = [one for one in found["formulas"] if one["chosen"]]
    assert (chosen["formula"], chosen["excel"], chosen["complexity"]) == ("mass*speed", "=A2*B2", 2)
    assert found["columns"] == {"mass": "A2", "speed": "B2", "noise": "C2"}
    assert found["certificates"][0]["verdict"] == "exact"
    assert found["certificates"][0]["r2"] == 1
    assert found["left_out"] == ["column 'city', which is 'Oslo' in every row"]


def test_smaller_formulas_by_complexity_and_exports(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = arithmos(
        "fit", write(tmp_path), "--target", "momentum", "--complexity", 1, "--export", "a.txt", "-o", "a.svg"
    )
    assert done.exit_code == 0
    assert "verdict           not found" in done.stdout
    assert done.stdout.splitlines()[-2:] == ["a.txt", "a.svg"]
    assert (tmp_path / "a.txt").read_text().startswith("=")


def test_cells_are_those_of_the_file(tmp_path):
    """Columns that are left out keep their place."""
    file = write(tmp_path)
    frame = pd.read_csv(file)
    frame.insert(0, "city too", frame.pop("city"))
    frame.to_csv(file, index=False)
    fit = fit_csv(file, "momentum", **QUICK)
    assert fit.cells == ["B2", "C2", "D2"]
    assert fit.export(tmp_path / "formula.txt").read_text().startswith("=B2*C2\n\ny1 = mass*speed\nB2 is mass, ")


HOSTILE = [
    "__import__('os').system('touch ran')",
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    '*/ system("touch ran"); /*',
    "=HYPERLINK(1)",
    "{{ 7 * 7 }}",
]


def test_hostile_names_are_text_everywhere(tmp_path, monkeypatch):
    """The page has the elements of one with harmless names, and nothing is run."""
    monkeypatch.chdir(tmp_path)
    x = np.random.default_rng(0).uniform(1, 2, (80, len(HOSTILE)))
    pages = []
    for names in ([f"name {number}" for number in range(len(HOSTILE))], HOSTILE):
        pd.DataFrame(x, columns=names).assign(y=x.prod(1)).to_csv("named.csv", index=False)
        done = arithmos("fit", "named.csv", "--target", "y", "--export", "a.py", "--export", "a.c", "-o", "a.html")
        assert done.exit_code == 0
        pages.append(elements((tmp_path / "a.html").read_text(encoding="utf-8")))
    assert pages[0][0] == pages[1][0]
    assert all(name in pages[1][1] for name in HOSTILE)
    values = {}
    exec(compile((tmp_path / "a.py").read_text(encoding="utf-8"), "a.py", "exec"), values)
    assert values["formula"]([2.0] * len(HOSTILE)) == [2.0 ** len(HOSTILE)]
    assert not (tmp_path / "ran").exists()


def elements(page):
    """The elements of a page with the names of their attributes, and the text outside scripts."""
    found, text = [], []

    class Parser(HTMLParser):
        def handle_starttag(self, tag, attributes):
            found.append((tag, *(key for key, _ in attributes)))

        def handle_data(self, data):
            if found and found[-1][0] not in ("script", "style"):
                text.append(data)

    Parser().feed(page)
    return found, "".join(text)
