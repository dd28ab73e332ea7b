"""Experiment files: what they say is what is run, and what they say wrongly is named."""

import re
from pathlib import Path

import numpy as np
import pytest

from arithmos import bench
from arithmos.papers import EXPERIMENTS, load, to_toml
from arithmos.papers.experiment import axis_value
from arithmos.papers.files.schema import markdown, tables
from arithmos.spec import MODELS, Adam, Spec
from arithmos.tasks import Arithmetic

DOCS = Path(__file__).parents[2] / "docs" / "experiment-files.md"
MINIMAL = 'models = "NMU"\ntask.operation = "mul"\n'


@pytest.fixture
def read(tmp_path):
    """Loads a text as an experiment file."""

    def read(text):
        path = tmp_path / "own.toml"
        path.write_text(text, encoding="utf-8")
        return load(path)

    return read


def cells(experiment):
    return [(spec.task.operation, spec.model.name) for spec in experiment.specs]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_of_the_catalogue_is_the_same_as_a_file(name, read):
    experiment = EXPERIMENTS[name]
    back = read(to_toml(experiment))
    assert [spec.id for spec in back.specs] == [spec.id for spec in experiment.specs]
    for field in ("title", "seeds", "axis"):
        assert getattr(back, field) == getattr(experiment, field)
    for mine, theirs in zip(back.specs, experiment.specs, strict=True):
        assert (mine.model.name, mine.model.label) == (theirs.model.name, theirs.model.label)


def test_little_is_needed(read):
    experiment = read(MINIMAL)
    assert experiment.specs == (Spec(task=Arithmetic(operation="mul"), model=MODELS["NMU"]),)
    assert (experiment.title, experiment.seeds, experiment.axis) == ("own", 100, "")


def test_every_key_arrives(read):
    experiment = read(
        """
        title = "All of them"
        seeds = 7
        axis = "batch_size"
        hidden_size = 3
        iterations = 1e4
        batch_size = [32, 64]
        evaluate_every = 100
        models = "NALU"
        [task]
        operation = "add"
        input_size = 12
        subset_ratio = 0.5
        overlap_ratio = 0.25
        subset_count = 1
        interpolation = [0, 1]
        extrapolation = [[-2, -1], [1, 2]]
        [optimizer]
        lr = 1
        beta1 = 0.5
        beta2 = 0.75
        eps = 1e-6
        """
    )
    task = Arithmetic(
        operation="add",
        input_size=12,
        subset_ratio=0.5,
        overlap_ratio=0.25,
        subset_count=1,
        interpolation=((0, 1),),
        extrapolation=((-2, -1), (1, 2)),
    )
    adam = Adam(1, 0.5, 0.75, 1e-6)
    common = {"task": task, "model": MODELS["NALU"], "optimizer": adam, "hidden_size": 3, "evaluate_every": 100}
    assert experiment.specs == tuple(Spec(iterations=10_000, batch_size=size, **common) for size in (32, 64))
    assert (experiment.title, experiment.seeds, experiment.axis) == ("All of them", 7, "batch_size")


def test_models_by_name_layers_and_table(read):
    experiment = read(
        """
        task.operation = "mul"
        models = [
            "NMU",
            "NACAdd>NMU",
            { name = "NALU", label = "the NALU" },
            { layers = ["NAU", { unit = "NMU", init = "paper" }] },
            { name = "Late", layers = "NAU>NAU", schedule = { end = 1e6 } },
        ]
        """
    )
    nmu, other, nalu, quarter, late = (spec.model for spec in experiment.specs)
    assert nmu == MODELS["NMU"]
    assert (other.name, other.label, other.schedule) == ("NACAdd>NMU", "NAC₊>NMU", MODELS["NMU"].schedule)
    assert (nalu, nalu.label) == (MODELS["NALU"], "the NALU")
    assert (quarter.name, quarter.layers[1].options) == ("NAU>NMU", (("init", "paper"),))
    assert (late.label, late.schedule.strength, late.schedule.end) == ("Late", 0.01, 1e6)


def test_lists_are_a_product_and_the_axis_goes_fastest(read):
    experiment = read(MINIMAL + 'axis = "hidden_size"\nhidden_size = [2, 3]\noptimizer.lr = [0.1, 0.01]\n')
    assert [(spec.model.name, spec.hidden_size, spec.optimizer.lr) for spec in experiment.specs] == [
        ("NMU lr=0.1", 2, 0.1),
        ("NMU lr=0.1", 3, 0.1),
        ("NMU lr=0.01", 2, 0.01),
        ("NMU lr=0.01", 3, 0.01),
    ]
    assert experiment.specs[0].model.label == "NMU, lr 0.1"


def test_operations_are_told_apart_in_a_figure(read):
    text = 'models = ["NMU", "NAU"]\ntask.operation = ["mul", "add"]\n'
    assert cells(read(text)) == [("mul", "NMU"), ("mul", "NAU"), ("add", "NMU"), ("add", "NAU")]
    names = [spec.model.name for spec in read(text + "hidden_size = [2, 3]\n").specs]
    assert names[::2] == ["NMU operation=mul", "NAU operation=mul", "NMU operation=add", "NAU operation=add"]


def test_lists_of_ranges_and_subsets(read):
    experiment = read(MINIMAL + "task.interpolation = [[[1, 2]], [[-6, -2], [2, 6]]]\n")
    assert [axis_value(spec, experiment.axis) for spec in experiment.specs] == ["U[1,2]", "U[-6,-2]∪U[2,6]"]
    experiment = read(MINIMAL + "task.fixed = [[[0, 4], [0, 2]], [[0, 4]]]\n")
    assert [axis_value(spec, experiment.axis) for spec in experiment.specs] == ["[0,4)∪[0,2)", "[0,4)"]


def test_a_swept_schedule(read):
    experiment = read('task.operation = "mul"\nmodels = { name = "NMU", schedule = { strength = [0, 10] } }')
    assert experiment.axis == "strength"
    assert experiment.specs[1] == Spec(task=Arithmetic(operation="mul"), model=MODELS["NMU"])


def test_parts_go_over_the_whole_key_by_key(read):
    experiment = read(
        """
        axis = "input_size"
        models = ["NMU", "NALU"]
        task = { operation = "mul", overlap_ratio = 0 }
        optimizer.lr = 0.01
        [[parts]]
        task.input_size = [4, 10]
        [[parts]]
        iterations = 10
        models = ["NMU"]
        task.input_size = 100
        """
    )
    assert [(s.model.name, s.task.input_size, s.iterations, s.task.overlap_ratio) for s in experiment.specs] == [
        ("NMU", 4, 5_000_000, 0),
        ("NMU", 10, 5_000_000, 0),
        ("NMU", 100, 10, 0),
        ("NALU", 4, 5_000_000, 0),
        ("NALU", 10, 5_000_000, 0),
    ]
    assert {spec.optimizer.lr for spec in experiment.specs} == {0.01}


def test_rows_and_units_lie_beside_the_file(tmp_path):
    table = np.arange(30.0).reshape(10, 3)
    folder = tmp_path / "mine"
    folder.mkdir()
    np.save(folder / "far.npy", table * 10)
    (folder / "near.csv").write_text("a,b,c\n" + "\n".join(",".join(map(str, row)) for row in table))
    (folder / "own.py").write_text("import torch\nclass Own(torch.nn.Linear): pass\n")
    (folder / "own.toml").write_text(
        'models = "NAU>own.py:Own"\ntask = { rows = "near.csv", test = "far.npy", threshold = 1e-3 }'
    )
    [spec] = load(folder / "own.toml").specs
    assert (spec.model.name, spec.task.threshold, spec.sizes) == ("NAU>own.py:Own", 1e-3, (2, 2, 1))
    np.testing.assert_array_equal(spec.task.test(0)[0], table[:, :2] * 10)
    np.testing.assert_array_equal(spec.task.test(0)[1], table[:, 2:] * 10)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("models = ", "own.toml is not valid TOML: Invalid value"),
        ("x = [" * 2000, "own.toml is not valid TOML"),
        (f"seeds = {'9' * 5000}", "own.toml is not valid TOML"),
        ("a." * 16 + "a = 1", "own.toml: a key must have at most 16 names, got 'a.a.a."),
        ('[ "a\\"" . ' + "'b.c'." * 16 + "d]", "own.toml: a key must have at most 16 names, got"),
        ("x = {y = 1, " + "a-1 . " * 17 + "b = 1}", "own.toml: a key must have at most 16 names, got"),
        ("", "own.toml: models is missing"),
        ('models = "NMU"', "own.toml: task is missing"),
        ('models = "NMU"\ntask = {}', "task.operation is missing, and so are rows and digits and sampled"),
        (MINIMAL + "task.targets = 2", "task.targets is for a task with the key rows"),
        (MINIMAL + "sedes = 3", "sedes is unknown; did you mean 'seeds'?; known are title, seeds"),
        (MINIMAL + 'name = "x"', "name is unknown"),
        (MINIMAL + "task.inputsize = 3", "task.inputsize is unknown; did you mean 'input_size'?"),
        (MINIMAL + "task.rows = 'a.csv'", "task.operation is unknown"),
        (MINIMAL + "optimizer.rate = 3", "optimizer.rate is unknown; "),
        (MINIMAL + "optimizer = 3", "optimizer must be a table, got 3"),
        (MINIMAL + "seeds = 0", "seeds must be a whole number from 1 to 1,000,000, got 0"),
        (MINIMAL + "seeds = [1, 2]", "seeds must be a whole number, got [1, 2]"),
        (MINIMAL + "seeds = true", "seeds must be a whole number, got True"),
        (MINIMAL + 'title = "two\\nlines"', "title must be a line of printable text, got 'two\\nlines'"),
        (MINIMAL + "hidden_size = 2.5", "hidden_size must be a whole number, got 2.5"),
        (MINIMAL + "hidden_size = [2, '3']", "hidden_size must be a whole number, got '3'"),
        (MINIMAL + "hidden_size = []", "hidden_size must be a whole number, or a list with at least one, got []"),
        (MINIMAL + "hidden_size = [[2]]", "hidden_size must be a whole number, got [2]"),
        (MINIMAL + "hidden_size = [2, 2]", "models has mul NMU hidden_size 2.0 twice"),
        (MINIMAL + "iterations = -1", "iterations must be a whole number from 0 to 2^32 - 1, got -1"),
        (MINIMAL + "optimizer.lr = nan", "optimizer.lr must be a finite number, got nan"),
        (MINIMAL + "optimizer.lr = 0", "optimizer.lr must be above 0, got 0"),
        (MINIMAL + "task.subset_ratio = '1'", "task.subset_ratio must be a number, got '1'"),
        (MINIMAL + "task.input_size = 1", "task.subset_ratio 0.25 of 1 inputs is less than one input"),
        (MINIMAL + "task.interpolation = [2, 1]", "task.interpolation must have parts (low, high) with low below high"),
        (MINIMAL + "task.interpolation = 2", "task.interpolation must be a pair of numbers or a list of pairs, got 2"),
        (MINIMAL + "task.fixed = [[0, 200]]", "task.fixed subsets must lie within 0 and input_size 100"),
        (MINIMAL + "task.fixed = [[0.5, 2]]", "task.fixed must be a whole number"),
        (MINIMAL.replace("mul", "mull"), "one of mul, div, add, sub, root, squared, reciprocal, got 'mull'"),
        (MINIMAL.replace("NMU", "NMUU"), "models: unknown model 'NMUU'; did you mean 'NMU'?"),
        (MINIMAL.replace("NMU", "NAU>NMUU"), "models.layers: unknown unit 'NMUU'; did you mean 'NMU'?"),
        (MINIMAL.replace("NMU", "NAU>none.py:Own"), "there is no file"),
        (MINIMAL.replace('"NMU"', "[]"), "models must name at least one model, got []"),
        (MINIMAL.replace('"NMU"', "['NMU', 3]"), "models[1] must be a table, got 3"),
        (MINIMAL.replace('"NMU"', "['NMU', 'NAU>NMU']"), "models has mul NMU twice"),
        (MINIMAL.replace('"NMU"', "{ nam = 'NMU' }"), "models.nam is unknown; did you mean 'name'?"),
        (
            MINIMAL.replace('"NMU"', "{ label = 'x' }"),
            "models.layers is missing, and so is the name",
        ),
        (MINIMAL + "task.digits = [1]", "task.length is missing"),
        (
            "models = {layers = 'NMU', inputs = {logs = 3}}\ntask = {operation = 'mul', digits = [1], length = 2, "
            "test_lengths = [2], images = 9}",
            "models.inputs.logs must be true or false, got 3",
        ),
        (MINIMAL.replace('"NMU"', "{ layers = [] }"), "models.layers must be units joined by >, or a list"),
        (MINIMAL.replace('"NMU"', "{ layers = [{ init = 'paper' }] }"), "models.layers[0].unit is missing"),
        (
            MINIMAL.replace('"NMU"', "{ layers = ['NAU', { unit = 'NMU', int = 'paper' }] }"),
            "models.layers[1]: an option of NMU must be one of init, project, clip, got 'int'; did you mean 'init'?",
        ),
        (
            MINIMAL.replace('"NMU"', "[{ name = 'NMU', schedule = { strength = -1 } }]"),
            "models[0].schedule.strength must not be negative, got -1",
        ),
        (MINIMAL + 'axis = "hiddensize"', "axis must be one of hidden_size"),
        (MINIMAL + 'axis = "threshold"', "axis must be a number or a range of the spec"),
        (
            MINIMAL + "hidden_size = [2, 3]\nbatch_size = [2, 3]",
            "axis must name one of the lists, got none: hid",
        ),
        (MINIMAL + "parts = 3", "parts must be tables, each headed [[parts]], got 3"),
        (MINIMAL + "[[parts]]\nseeds = 3", "parts[0].seeds is unknown"),
        (
            MINIMAL + "[[parts]]\n[[parts]]\niterations = 3",
            "models has mul NMU twice: leave one out",
        ),
        (MINIMAL + "[[parts]]\ntask.operation = 3", "parts[0].task.operation must be text, got 3"),
        (MINIMAL + f"hidden_size = {list(range(1, 20_000))}", "hidden_size and other lists ask for more than 10,000"),
        (
            MINIMAL + f"hidden_size = {list(range(1, 200))}\ntask.input_size = {list(range(4, 200))}",
            "models and lists make more than 10,000 specs",
        ),
        ("models = 'NMU'\ntask.rows = 'none.csv'", "task.rows: there is no file"),
        ("models = 'NMU'\ntask.rows = 'own.toml'", "task.rows: must end in .csv or .npy, got"),
        ("models = 'NMU'\ntask.rows = 'a\\u0000.csv'", "task.rows: there is no file"),
    ],
    ids=lambda text: text[-30:],
)
def test_what_is_wrong_is_named(text, message, read):
    with pytest.raises(ValueError, match=re.escape(message)):
        read(text)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.csv", b"", "is not a table of numbers: it has no rows"),
        ("a.csv", b"," * 2**20 + b"1\n2\n", "must have at most 1,048,576 characters"),
        ("a.csv", b"1,2\n3,x\n", "could not convert string 'x'"),
        ("a.csv", b"1,2\n3\n", "number of columns changed"),
        ("a.csv", b"1,2\n3,nan\n" * 5, "targets must be finite, got nan"),
        ("a.csv", b"1,2\n3,1e99\n" * 5, "targets must be finite, got inf"),
        ("a.csv", b"1\n2\n", "rows: it must have inputs besides 1 targets, got 1 columns"),
        ("a.csv", b"\xff\xfe", "is not a table of numbers: 'utf-8' codec"),
        ("a.csv", b"1,2\n3,4\n", "inputs must have a training row"),
        ("a.npy", b"1,2\n3,4\n", "is not a table of numbers"),
        ("a.npy", b"", "is not a table of numbers"),
    ],
)
def test_data_that_cannot_be_used_are_named(name, data, message, tmp_path, read):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=re.escape(message)):
        read(f"models = 'NMU'\ntask.rows = '{name}'")


@pytest.mark.parametrize(
    "array", [np.array([["a", "b"]]), np.array([[{}, 1]], object), np.ones(3), np.ones((2, 2), complex)]
)
def test_arrays_that_are_no_tables_are_named(array, tmp_path, read):
    np.save(tmp_path / "a.npy", array, allow_pickle=True)
    with pytest.raises(ValueError, match=r"task.rows: .*a.npy"):
        read("models = 'NMU'\ntask.rows = 'a.npy'")


def test_what_has_no_file_form_is_said(read, tmp_path):
    (tmp_path / "a.csv").write_text("1,2\n" * 9)
    with pytest.raises(ValueError, match="a task with data in memory cannot be written as TOML, got Rows"):
        to_toml(read("models = 'NMU'\ntask.rows = 'a.csv'"))


def test_the_documentation_has_the_keys(golden):
    text = DOCS.read_text(encoding="utf-8")
    for name, keys in tables().items():
        assert f"<!-- {name} -->" in text
        text = re.sub(rf"<!-- {name} -->\n(\|.*\n)*", lambda _, n=name, k=keys: f"<!-- {n} -->\n{markdown(k)}\n", text)
    golden("../../docs/experiment-files.md", text)


def test_the_files_of_the_documentation_load(read, tmp_path):
    for name in ("measured.csv", "far-away.csv"):
        (tmp_path / name).write_text("1,2,3\n" * 9)
    blocks = re.findall(r"^```toml\n(.*?)^```$", DOCS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert [len(read(block).specs) for block in blocks] == [9, 10, 3, 5]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_of_the_catalogue_can_be_run_from_a_file(name, tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(to_toml(EXPERIMENTS[name]), encoding="utf-8")
    assert len(bench.select([str(path)])[0].specs) == len(EXPERIMENTS[name].specs)


def test_a_large_file_is_refused_before_it_is_parsed(tmp_path, monkeypatch):
    monkeypatch.setattr("tomllib.loads", lambda text: pytest.fail("it was parsed"))
    (tmp_path / "own.toml").write_text(MINIMAL + "#" * 2**20)
    with pytest.raises(ValueError, match=r"own\.toml must have at most 1,048,576 bytes, got 1,048,6\d\d"):
        load(tmp_path / "own.toml")


def test_a_key_of_many_names_is_refused_before_it_is_parsed(read, monkeypatch):
    monkeypatch.setattr("tomllib.loads", lambda text: pytest.fail("it was parsed"))
    with pytest.raises(ValueError, match=r"own\.toml: a key must have at most 16 names, got 'a\.a\.a"):
        read("a." * 100_000 + "a = 1")


@pytest.mark.parametrize(
    "title",
    ["1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17", ". " * 50, "a. b. c. d. e. f. g. h. i. j. k. l. m. n. o. p. q"],
)
def test_dots_outside_keys_are_no_names(read, title):
    rates = [0.5**power for power in range(20)]
    assert len(read(f"{MINIMAL}optimizer.lr = {rates}\ntitle = '{title}' # {title}").specs) == 20
