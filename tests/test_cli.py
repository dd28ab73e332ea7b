import ast
import errno
import inspect
import json
import os
import signal
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.factories import make_run

from arithmos import __version__, bench
from arithmos.cli import completion, main
from arithmos.cli.kept import files, kept, machine
from arithmos.engines import ENGINES
from arithmos.papers import EXPERIMENTS, FIGURES
from arithmos.store import PACKED_BYTES, PACKED_FILES, Store

OWN_UNIT = """
import torch
from torch import nn


class Own(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(out_features, in_features))

    def forward(self, x):
        return (self.weight * x.unsqueeze(-2) + 1 - self.weight).prod(-1)


class Wrong(Own):
    def forward(self, x):
        return x


class Narrow(Own):
    def __init__(self, features):
        super().__init__(features, 1)
"""

SHORT = ["--engine", "torch", "--models", "NMU", "--iterations", "20", "--seeds", "2"]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Every command runs in an empty folder."""
    monkeypatch.chdir(tmp_path)


def arithmos(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)


def complaint(*arguments, status):
    """What a command says on stderr, which is one line, before it ends with this status."""
    done = arithmos(*arguments)
    assert done.exit_code == status, done.output
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert done.stdout == ""
    return lines[0]


def every_command(group=main, path=()):
    yield path, group
    for name, command in getattr(group, "commands", {}).items():
        yield from every_command(command, (*path, name))


def test_golden_help(golden):
    golden("help.txt", arithmos("--help").stdout)


@pytest.mark.parametrize("path", [path for path, _ in every_command()], ids=" ".join)
def test_every_help_has_an_example(path):
    done = arithmos(*path, "--help")
    assert done.exit_code == 0
    examples = done.stdout.partition("Examples:\n")[2].splitlines()
    assert examples
    assert all(line.strip().startswith(" ".join(["arithmos", *path])) for line in examples)


def test_every_command_is_short():
    """It parses and calls: fewer than fifteen lines below its docstring."""
    for path, command in every_command():
        [function] = ast.parse(textwrap.dedent(inspect.getsource(command.callback))).body
        lines = function.end_lineno - function.body[0].end_lineno
        assert lines < 15, f"{' '.join(path)} has {lines} lines"


def test_help_of_pack_has_the_defaults_of_the_store():
    text = " ".join(arithmos("store", "pack", "--help").stdout.split())
    assert f"[default: {PACKED_BYTES // 2**20} MiB]" in text
    assert f"[default: {PACKED_FILES}]" in text


def test_no_command_is_a_question_for_help():
    assert arithmos().stdout == arithmos("--help").stdout
    assert arithmos("store").stdout == arithmos("store", "--help").stdout


def test_version():
    assert __version__ in arithmos("--version").stdout


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["tabel"], "no command 'tabel'; did you mean 'table'?"),
        (["store", "pakc"], "no command 'pakc'; did you mean 'pack'?"),
        (["run", "--modle", "NMU"], "--models"),
        (["run"], "Missing argument"),
        (["run", "tabel-1"], "unknown experiment 'tabel-1'; did you mean 'table-1'?"),
        (["table", "tabel-1"], "unknown experiment 'tabel-1'; did you mean 'table-1'?"),
        (["show", "tabel-1"], "unknown experiment 'tabel-1'; did you mean 'table-1'?"),
        (["show", "0" * 16], "neither in runs nor in the catalogue"),
        (["show", "0" * 16, "3"], "no run of spec '0000000000000000' with seed 3"),
        (["run", "table-1", "--models", "NMUU"], "unknown model 'NMUU'; did you mean 'NMU'?"),
        (["run", "table-1", "--models", "NAU>NMUU"], "unknown unit 'NMUU'; did you mean 'NMU'?"),
        (["run", "table-2", "--ops", "mull"], "table-2 has no operation 'mull'; did you mean 'mul'?"),
        (["run", "table-1", "--ops", "add"], "table-1 has no operation 'add'; it has mul"),
        (["run", "table-1", "--seeds", "0"], "seeds must be a whole number from 1 to 1,000,000, got 0"),
        (["run", "table-1", "--seeds", "many"], "'many' is not a valid integer"),
        (["run", "table-1", "--iterations", "0"], "iterations must be a whole number from 1 to 2^32 - 1, got 0"),
        (["run", "table-1", "--jobs", "0"], "--jobs"),
        (["run", "table-1", "--engine", "gpu"], "auto"),
        (["run", "table-1", "--budget", "9"], "'9' is not a duration; write 90s, 9m or 1h30m"),
        (["run", "table-1", "--budget", ""], "'' is not a duration"),
        (["run", "table-1", "--budget", "1.2.3h"], "'1.2.3h' is not a duration"),
        (["table", "table-1", "--format", "xml"], "markdown"),
        (["table", "table-1", "--criterion", "strict"], "corrected"),
        (["run", "table-1", "--models", "NAU>none.py:Own"], "there is no file 'none.py'"),
        (["run", "loss-surface"], "loss-surface has no runs; `arithmos figure loss-surface` draws it"),
        (["run", "none.toml"], "there is no experiment file 'none.toml'"),
        (["figure", "none.toml"], "there is no experiment file 'none.toml'"),
        (["figure", "loss-surfaces"], "unknown figure 'loss-surfaces'; did you mean 'loss-surface'?"),
        (["figure", "table-1", "-o", "table.gif"], "path must end in .html, .svg, .png, .pdf, .json, got 'table.gif'"),
        (["figure", "table-1", "-o", "nowhere/table.svg"], "nowhere/table.svg"),
        (["report", "--paper", "nowhere", "-o", "missing/x.html"], "No such file or directory: missing/x.html"),
        (["table", "table-1", "--store", "nowhere"], "there is no folder 'nowhere'; `arithmos run` creates one"),
        (["verdict", "--store", "nowhere"], "there is no folder 'nowhere'"),
        (["store", "check", "--store", "nowhere"], "there is no folder 'nowhere'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_asked_wrongly_is_answered_in_a_line(arguments, hint):
    line = complaint(*arguments, status=2)
    assert line.startswith("arithmos: ")
    assert hint in line


@pytest.mark.parametrize(
    ("attribute", "hint"),
    [
        ("Other", "'Other' must be an nn.Module class or Unit in"),
        ("Wrong", "NAU>own.py:Wrong: its output has the shape (128, 2); it must be (128, 1)"),
        ("Narrow", "NAU>own.py:Narrow: TypeError: Narrow.__init__() takes 2 positional arguments but 3 were given"),
    ],
)
def test_an_own_unit_that_cannot_run(attribute, hint):
    Path("own.py").write_text(OWN_UNIT)
    Path("own.toml").write_text(f'models = "NAU>own.py:{attribute}"\ntask.operation = "mul"')
    assert hint in complaint("run", "table-1", "--models", f"NAU>own.py:{attribute}", status=2)
    assert hint in complaint("run", "own.toml", status=2)


def test_an_own_file_that_does_not_load():
    Path("broken.py").write_text("import nothing_of_this_name\n")
    assert "does not load: ModuleNotFoundError" in complaint("run", "table-1", "--models", "broken.py:A", status=2)


LOOKING = [
    ["show", "own.toml"],
    ["show", "own.toml", "--toml"],
    ["table", "own.toml"],
    ["figure", "own.toml", "-o", "own.json"],
    ["figure", "gate.toml", "-o", "gate.json"],
    ["figure", "digits.toml", "-o", "digits.json"],
    ["show", "digits.toml"],
    ["verdict", "own.toml"],
    ["judges", "own.toml"],
    ["table", "table-2", "--models", "NAU>own.py:Own", "--ops", "mul"],
    ["figure", "hidden-size", "--models", "NAU>own.py:Own", "-o", "hidden.json"],
    ["figure", "mnist-product", "--models", "own.py:Own", "-o", "sequences.json"],
]


@pytest.mark.parametrize("arguments", LOOKING, ids=" ".join)
def test_looking_does_not_run_a_users_file(arguments):
    Path("own.py").write_text("open('ran', 'w').close()\n" + OWN_UNIT)
    Path("own.toml").write_text("models = ['NMU', 'NAU>own.py:Own']\nhidden_size = [2, 3]\ntask.operation = 'mul'")
    Path("gate.toml").write_text("models = ['NALU', 'NAU>own.py:Own']\ntask.operation = 'mul'")
    Path("digits.toml").write_text(
        "models = {layers = 'own.py:Own', inputs = {strength = 1.0}}\n[task]\noperation = 'mul'\nlength = 2\n"
        "digits = [1, 2, 3]\ntest_lengths = [2]\nimages = 500"
    )
    done = arithmos(*arguments)
    assert done.exit_code == 0, done.output
    assert not Path("ran").exists()


def test_running_runs_a_users_file_before_anything_else():
    Path("own.py").write_text("open('ran', 'w').close()\n" + OWN_UNIT)
    Path("own.toml").write_text("models = ['NMU', 'NAU>own.py:Own']\ntask.operation = 'mul'")
    assert arithmos("run", "own.toml", "--dry-run").exit_code == 0
    assert Path("ran").exists()
    Path("own.toml").write_text("models = ['NMU', 'NAU>own.py:Missing']\ntask.operation = 'mul'")
    for more in ([], ["--dry-run"]):
        assert "'Missing' must be an nn.Module class or Unit in" in complaint("run", "own.toml", *more, status=2)
    assert not Path("runs").exists()


def test_a_store_below_a_file():
    Path("file").touch()
    assert "choose a folder" in complaint("run", "table-1", *SHORT, "--store", "file", status=1)
    assert "choose a folder" in complaint("run", "table-1", *SHORT, "--store", "file/runs", status=1)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_store(tmp_path):
    (tmp_path / "runs").mkdir(mode=0o500)
    assert "cannot write to the store (Permission denied)" in complaint("run", "table-1", *SHORT, status=1)


def test_a_full_store(monkeypatch):
    def full(descriptor, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("arithmos.store._part.os.write", full)
    line = complaint("run", "table-1", *SHORT, status=1)
    assert "cannot write to the store (No space left on device); free some space there and start again" in line


def test_an_engine_that_is_not_there(monkeypatch):
    def missing():
        raise ImportError("the cuda engine needs cuda-core")

    monkeypatch.setitem(ENGINES, "cuda", missing)
    line = complaint("run", "table-1", "--engine", "cuda", status=2)
    assert "engine 'cuda' cannot run this: the cuda engine needs cuda-core" in line


def test_an_engine_that_refuses():
    summed = "class Summed(Own):\n    def forward(self, x):\n        return super().forward(x.cumsum(-1))\n"
    Path("own.py").write_text(OWN_UNIT + "\n\n" + summed)
    line = complaint("run", "table-1", "--engine", "cpu", "--models", "NAU>own.py:Summed", status=2)
    assert "engine 'cpu' cannot run this" in line
    assert "cumsum" in line


def test_a_run_its_table_and_its_resumption():
    done = arithmos("run", "table-1", *SHORT)
    assert done.exit_code == 0, done.output
    assert "×   NMU    torch   2     0% +66% −0%" in done.stdout
    assert "Made 2 runs in" in done.stdout
    assert len(Store("runs")) == 2
    again = arithmos("run", "table-1", *SHORT)
    assert again.stdout.splitlines()[-1] == "Nothing to do: all 2 runs are in runs."
    more = arithmos("run", "table-1", *SHORT[:-1], "3")
    assert "Made 1 runs in" in more.stdout
    assert len(Store("runs")) == 3


OWN_EXPERIMENT = """
title = "Wider"
seeds = 2
models = ["NMU", "NAU>own.py:Own"]
hidden_size = [2, 3]
iterations = 10
task = { operation = "mul", input_size = 4, fixed = [[0, 4], [0, 2]] }
"""


def test_an_experiment_file(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "own.py").write_text(OWN_UNIT)
    file = tmp_path / "mine" / "wider.toml"
    file.write_text(OWN_EXPERIMENT)
    assert "8 of 8 runs to make" in arithmos("run", "mine/wider.toml", "--dry-run").stdout
    assert "Made 8 runs in" in arithmos("run", "mine/wider.toml", "--engine", "torch").stdout
    assert "Nothing to do" in arithmos("run", file).stdout
    rows = json.loads(arithmos("table", "mine/wider.toml", "--format", "json").stdout)
    assert [(row["label"], row["hidden_size"], row["n"]) for row in rows] == [
        *[("NMU", size, 2) for size in (2, 3)],
        *[("NAU>Own", size, 2) for size in (2, 3)],
    ]
    Path("none").mkdir()
    assert "arithmos run mine/wider.toml" in arithmos("table", "mine/wider.toml", "--store", "none").stdout
    assert arithmos("figure", "mine/wider.toml", "--format", "json").stdout == "wider.json\n"
    assert json.loads(Path("wider.json").read_text())["title"]["text"] == "Wider"
    assert "Wider" in arithmos("show", "mine/wider.toml").stdout
    assert "Nothing is published" in arithmos("verdict", "mine/wider.toml").stdout


def test_an_experiment_as_a_file():
    Path("again.toml").write_text(arithmos("show", "table-2", "--toml").stdout)
    assert arithmos("show", "again.toml").stdout == arithmos("show", "table-2").stdout


def test_an_own_unit_from_outside_the_package(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "own.py").write_text(OWN_UNIT)
    model = ["--models", "NAU>mine/own.py:Own", "--models", "NMU,NAU>NAU"]
    options = [*model, "--ops", "mul", "--iterations", "10", "--seeds", "1", "--engine", "torch"]
    done = arithmos("run", "table-2", *options)
    assert done.exit_code == 0, done.output
    rows = json.loads(arithmos("table", "table-2", *options[:-2], "--format", "json").stdout)
    assert [(row["model"], row["label"], row["n"]) for row in rows] == [
        ("NAU>mine/own.py:Own", "NAU>Own", 1),
        ("NMU", "NMU", 1),
        ("NAU", "NAU", 1),
    ]


def test_a_dry_run_runs_nothing():
    done = arithmos("run", "table-1", "table-2", "--engine", "torch", "--dry-run")
    lines = done.stdout.splitlines()
    assert lines[0] == "1400 of 1400 runs to make, 0 stored"
    assert lines[4].split()[:3] == ["torch", "1400", "5.6·10⁹"]
    assert not Path("runs").exists()
    store_runs("table-1", n=100)
    assert "1100 of 1400 runs to make, 300 stored" in arithmos("run", "table-1", "table-2", "--dry-run").stdout
    assert arithmos("run", "table-1", "--dry-run").stdout == "0 of 300 runs to make, 300 stored\n"


def store_runs(name, n, **changes):
    Store("runs").append(make_run(spec, seed, **changes) for spec in EXPERIMENTS[name].specs for seed in range(n))


def test_table_as_json():
    store_runs("table-1", n=4)
    rows = json.loads(arithmos("table", "table-1", "--format", "json").stdout)
    assert [(row["operation"], row["model"], row["n"], row["k"], row["success_rate"]) for row in rows] == [
        ("mul", "NACMul", 4, 2, 0.5),
        ("mul", "NALU", 4, 2, 0.5),
        ("mul", "NMU", 4, 2, 0.5),
    ]
    assert [row["published_k"] for row in rows] == [13, 26, 94]


def test_table_of_an_empty_store_says_how_to_fill_it():
    assert "arithmos run table-1" in arithmos("table", "table-1").stdout


def test_list():
    store_runs("table-1", n=100)
    rows = json.loads(arithmos("list", "--format", "json").stdout)
    without_runs = [name for name in FIGURES if name not in EXPERIMENTS]
    assert [row["name"] for row in rows] == [*EXPERIMENTS, *without_runs]
    assert (rows[0]["runs"], rows[0]["stored"], rows[0]["seconds"]) == (300, 300, 0)
    assert (rows[1]["runs"], rows[1]["stored"]) == (1100, 0)
    assert rows[1]["seconds"] > 0
    shown = arithmos("list").stdout.splitlines()
    assert shown[4].split()[-1] == "done"


def test_figure():
    store_runs("table-1", n=4)
    assert arithmos("figure", "table-1", "--models", "NMU", "--format", "svg").stdout == "table-1.svg\n"
    assert Path("table-1.svg").read_text().startswith("<svg")
    assert arithmos("figure", "expectation-error", "-o", "error.json").stdout == "error.json\n"
    assert json.loads(Path("error.json").read_text())["title"].startswith("Difference")


def test_figure_without_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    monkeypatch.delitem(sys.modules, "arithmos.report.charts.files", raising=False)
    assert 'altair is not installed; install it with pip install "arithmos[report]"' in complaint(
        "figure", "table-1", status=2
    )


def test_models():
    rows = json.loads(arithmos("models", "--format", "json").stdout)
    nmu = next(row for row in rows if row["model"] == "NMU")
    assert nmu["layers"] == "NAU>NMU"
    assert nmu["regularizer"] == "10 from 1,000,000 to 2,000,000"
    assert nmu["engines"].endswith("torch")


def test_show():
    spec = EXPERIMENTS["table-1"].specs[2]
    assert spec.id in arithmos("show", "table-1").stdout
    store_runs("table-1", n=2)
    assert f"2 runs of {spec.id} in runs" in arithmos("show", spec.id).stdout
    assert "layer 2, NMU, weight [1 × 2]" in arithmos("show", spec.id, "1").stdout


def test_the_kernel_of_a_spec():
    spec = EXPERIMENTS["table-1"].specs[2]
    source = arithmos("show", spec.id, "--kernel", "cpu").stdout
    ast.parse(source)
    assert "def kernel(" in source
    kernel = arithmos("show", spec.id, "--kernel", "cuda").stdout
    assert "// Layer 1, NMU." in kernel
    assert '#include "kernel.cu"' in kernel
    assert "is not in the catalogue" in complaint("show", "0" * 16, "--kernel", "cpu", status=2)


def test_specs_and_runs_as_json():
    spec = EXPERIMENTS["table-1"].specs[2]
    store_runs("table-1", n=2)
    shown = json.loads(arithmos("show", spec.id, "--json").stdout)
    assert shown["spec"] == json.loads(spec.json())
    assert [run["seed"] for run in shown["runs"]] == [0, 1]
    [run] = json.loads(arithmos("show", spec.id, "1", "--json").stdout)
    assert (run["seed"], run["spec"], len(run["best_weights"])) == (1, shown["spec"], 10)


def test_a_campaign_as_json_and_its_conclusion_on_stderr():
    done = arithmos("run", "table-1", *SHORT, "--json")
    [row] = json.loads(done.stdout)
    assert (row["experiment"], row["model"], row["n"]) == ("table-1", "NMU", 2)
    assert "all 2 are in runs" in done.stderr


def test_an_empty_table_names_the_command_that_fills_it():
    said = arithmos("table", "table-2", "--models", "NMU,NAU", "--ops", "mul", "--seeds", "3").stdout
    assert "Make them with: arithmos run table-2 --models NMU,NAU --ops mul --seeds 3" in said


def test_store_info_merge_pack_and_check():
    for n in (1, 2, 3):
        store_runs("table-1", n=n)
    assert "9 runs of 3 specs in runs: 3 files" in arithmos("store", "info").stdout
    assert "Added 9 runs; other now holds 9." in arithmos("store", "merge", "runs", "--store", "other").stdout
    assert arithmos("store", "pack").stdout == "Packed 3 files into 1.\n"
    assert arithmos("store", "check").stdout == "9 sound runs, 0 damaged files\n"
    assert "max_bytes must hold the largest run" in complaint("store", "pack", "--max-bytes", "9", status=2)
    assert "there is no store to merge: none" in complaint("store", "merge", "none", status=1)


@pytest.mark.filterwarnings("default")
def test_a_damaged_file_is_named():
    store_runs("table-1", n=1)
    store_runs("table-1", n=2)
    part = next(Path("runs").glob("part-*"))
    part.write_bytes(part.read_bytes()[:-1])
    done = arithmos("store", "check")
    assert done.exit_code == 1
    assert f"set aside: {part.name}: damaged" in done.stdout
    shown = arithmos("table", "table-1")
    assert shown.exit_code == 0
    assert part.name in shown.stderr
    assert "Traceback" not in shown.stderr


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("9m", 540), ("1h30m", 5400), ("1.5h", 5400), ("0s", 0)])
def test_budget(monkeypatch, text, seconds):
    given = {}

    def run(parts, **options):
        given.update(options)
        return bench.Outcome(runs=300, stored=10, finished=20, stopped="out of time", elapsed_s=seconds)

    monkeypatch.setattr(bench, "run", run)
    done = arithmos("run", "table-1", "--budget", text)
    assert given["budget_s"] == seconds
    assert done.exit_code == 0
    assert "Out of time: 30 of 300 runs are in runs, 270 left. Unfinished runs were saved." in done.stdout
    assert done.stdout.splitlines()[-1] == f"  arithmos run table-1 --budget {text}"


def test_an_interrupt_says_how_to_resume(monkeypatch):
    outcome = bench.Outcome(runs=300, stored=10, finished=20, stopped="interrupted", elapsed_s=1)
    monkeypatch.setattr(bench, "run", lambda parts, **options: outcome)
    done = arithmos("run", "table-1", "--models", "NAU>NMU")
    assert done.exit_code == 130
    assert done.stdout.splitlines()[-1] == "  arithmos run table-1 --models 'NAU>NMU'"


def test_an_impatient_interrupt(monkeypatch):
    def interrupted(parts, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(bench, "run", interrupted)
    assert complaint("run", "table-1", status=130) == "arithmos: interrupted"


def test_ctrl_c_keeps_what_is_under_way():
    talkative = "from arithmos import progress; progress.EVERY_S = 0; from arithmos.__main__ import main; main()"
    command = [sys.executable, "-c", talkative, "run", "table-1", "--engine", "torch", "--models", "NMU"]
    options = ["--seeds", "2", "--iterations", "40000"]
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert any("iterations/s" in line for line in process.stderr), "it ended before its first step"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert "Traceback" not in err, err
    assert process.returncode == 130, err
    assert "Interrupted: 0 of 2 runs are in runs, 2 left" in out
    assert len(Store("runs").suspended) == 2


def test_the_extra_bench_is_enough():
    """To run and to judge; a machine that trains need not be able to draw."""
    others = ["altair", "dask", "distributed", "jinja2", "pooch", "safetensors", "sklearn", "vl_convert"]
    script = f"import sys; sys.modules.update(dict.fromkeys({others})); from arithmos.__main__ import main; main()"
    for verb in (["list"], ["run", "table-1", "--models", "NMU", "--seeds", "1", "--iterations", "10"], ["verdict"]):
        done = subprocess.run([sys.executable, "-c", script, *verb], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_python_m_without_the_bench_extra():
    script = "import sys; sys.modules['click'] = None; from arithmos.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("arithmos: the command line needs click, which is not installed; install it with pip")


def completed(monkeypatch, line):
    """What the shell is offered for a line, by a process of its own, so that what it loads can be seen."""
    words = line.split(" ")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    monkeypatch.setenv("_ARITHMOS_COMPLETE", "bash_complete")
    script = "import sys; from arithmos.__main__ import main\ntry: main()\nfinally: print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    *offers, loaded = done.stdout.splitlines()
    return [offer.removeprefix("plain,") for offer in offers], loaded == "True"


LARGE = ("torch", "numpy", "pandas", "numba", "scipy", "sympy", "rich")


def loaded_by(*arguments, status=0):
    """What a process of its own prints for a command, and which of the large packages it loads."""
    script = (
        "import sys; from arithmos.__main__ import main\n"
        f"try: main()\nfinally: print(*(name for name in {LARGE} if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    *lines, modules = done.stdout.splitlines()
    return lines, modules


@pytest.mark.parametrize(
    ("status", "command"),
    [
        (0, "--help"),
        (0, "--version"),
        (0, "run --help"),
        (0, "rank --help"),
        (2, "run table-1 --modle NMU"),
        (2, "run table-1 --engine cup"),
        (2, "table table-1 --format pdf"),
        (2, "rank --rule none"),
        (2, "lisst"),
        (2, "run"),
    ],
)
def test_help_and_wrong_options_load_nothing_large(command, status):
    assert loaded_by(*command.split(), status=status)[1] == ""


def test_a_list_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "cache"))
    made = arithmos("list").output.splitlines()
    assert any("table-1" in line for line in made)
    assert loaded_by("list") == (made, "")


def test_an_answer_is_kept_until_its_store_changes(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "cache"))
    made = iter(range(10))

    def answer(*depends_on):
        return kept("list", lambda: next(made), [files(Path("runs")), machine(), *depends_on])

    assert [answer(), answer(), answer("json"), answer()] == [0, 0, 1, 2]
    Store("runs").append([make_run()])
    assert [answer(), answer()] == [3, 3]


def test_an_answer_with_warnings_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "cache"))

    def make():
        warnings.warn("a file is damaged", stacklevel=1)
        return "a list"

    for _ in range(2):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            assert kept("list", make) == "a list"
        assert [str(one.message) for one in said] == ["a file is damaged"]


def test_shell_completion_of_names(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert completed(monkeypatch, "arithmos run table-") == (["table-1", "table-2"], True)
    assert completed(monkeypatch, "arithmos table table-") == (["table-1", "table-2"], False)  # the names are kept
    offers, loaded = completed(monkeypatch, "arithmos run table-1 --models NMU,NAC")
    assert not loaded
    assert "NMU,NACMul" in offers
    (tmp_path / "cache" / "arithmos" / "names.json").write_text("nonsense")
    assert [offer.value for offer in completion.experiments(None, None, "table-")] == ["table-1", "table-2"]
