"""Nothing outside `tasks` asks what kind a task is, so a task of one's own goes everywhere that ours go."""

import ast
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arithmos import formula, philox, tasks
from arithmos._keys import NUMBER, Key, fields
from arithmos.engines import Control, Engines, Job
from arithmos.engines.cost import TIMES, Clock
from arithmos.engines.cpu import CpuEngine
from arithmos.engines.torch import TorchEngine
from arithmos.judging.cells import judged
from arithmos.judging.exact import judged_runs
from arithmos.papers import Experiment
from arithmos.papers.files import load, to_toml
from arithmos.spec import MODELS, Spec
from arithmos.spec.stored import describe, networks
from arithmos.store import Store
from arithmos.tasks import Arithmetic, Observations, UniformDraws

SOURCE = Path(__file__).parents[2] / "src" / "arithmos"
OURS = {"Arithmetic", "DigitSequences", "FractionalSIR", "Rows", "Sampled"}


def about_a_task(node: ast.AST) -> bool:
    """Whether an expression is a task by its name: `task`, `spec.task`, or the plain form of one."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=name)):
            return name == "task"
    return False


def questions(tree: ast.Module) -> Iterator[ast.expr | ast.match_case]:
    """What asks for the kind of a task."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass" | "hasattr" | "type"), args=args):
                named = {name.id for arg in args[1:] for name in ast.walk(arg) if isinstance(name, ast.Name)}
                if about_a_task(args[0]) or named & OURS:
                    yield node
            case ast.Compare(left=left, comparators=others):
                for side in (left, *others):
                    match side:
                        case ast.Attribute(value=of, attr="kind") if about_a_task(of):
                            yield node
                        case ast.Subscript(value=of, slice=ast.Constant(value="kind")) if about_a_task(of):
                            yield node
                        case ast.Subscript(slice=ast.Constant(value="task")):
                            yield node
            case ast.match_case(pattern=ast.MatchClass(cls=ast.Name(id=name))) if name in OURS:
                yield node


def test_only_tasks_ask_what_kind_a_task_is():
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}: {ast.unparse(node)}"
        for path in SOURCE.rglob("*.py")
        if path.parent.name != "tasks"
        for node in questions(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "isinstance(target, Arithmetic)",
        "isinstance(spec.task, Kind)",
        "type(spec.task)",
        "hasattr(task, 'length')",
        "task.kind == 'digits'",
        "plain['task']['kind'] in names",
        "row['task'] == 'digits'",
        "match given:\n  case Rows(): pass",
    ],
)
def test_every_way_to_ask_is_found(line):
    assert len([*questions(ast.parse(line))]) == 1


@dataclass(frozen=True, kw_only=True)
class Halves(Observations):
    """The sum of the first inputs times that of the others: the data path of our engines, and nothing else of ours."""

    kind = "halves"
    version = 1
    operation = "mul"
    output_size = 1
    criteria = ("near",)

    halves: int

    @property
    def input_size(self) -> int:
        return 2 * self.halves

    @property
    def _same(self) -> Arithmetic:
        return Arithmetic(
            operation="mul",
            input_size=self.input_size,
            fixed=((0, self.halves), (self.halves, self.input_size)),
        )

    def plain(self) -> dict[str, Any]:
        return {"kind": self.kind, "version": self.version, "halves": self.halves}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Halves":
        return cls(halves=plain["halves"])

    @staticmethod
    def keys() -> tuple[Key, ...]:
        return fields(Halves, ("halves", NUMBER, "Inputs in each half."))

    @staticmethod
    def sizes(plain: Mapping[str, Any]) -> tuple[int, int]:
        return 2 * plain["halves"], 1

    @staticmethod
    def columns() -> Mapping[str, tuple[type, str]]:
        return {"operation": (str, "mul")}

    @staticmethod
    def column_values(plain: Mapping[str, Any]) -> dict[str, Any]:
        return {"operation": "mul"}

    @staticmethod
    def extra_sizes(plain: Mapping[str, Any], records: int) -> dict[str, int]:
        return {}

    @staticmethod
    def words(plain: Mapping[str, Any]) -> str:
        return f"halves of {plain['halves']}"

    def draws(self, seed: int) -> UniformDraws | None:
        return self._same.draws(seed)

    def formula(self, seed: int) -> str:
        return self._same.formula(seed)

    def thresholds(self) -> dict[str, float]:
        return {"near": 1e9}

    def references(self) -> dict[str, Any]:
        return {}

    def batch(self, seed: int, step: int, size: int) -> tuple[np.ndarray, np.ndarray]:
        return self._same.batch(seed, step, size)

    def validation(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        return self._same.validation(seed)

    def test(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        return self._same.test(seed)


class Cubes(Halves):
    """The sum of the inputs' cubes, which no engine can draw: a task that only says its batches."""

    kind = "cubes"
    operation = "cubes"

    @staticmethod
    def column_values(plain: Mapping[str, Any]) -> dict[str, Any]:
        return {"operation": "cubes"}

    def draws(self, seed: int) -> None:
        return None

    def batch(self, seed: int, step: int, size: int) -> tuple[np.ndarray, np.ndarray]:
        return self._cubes(philox.words((seed, philox.RUN), philox.TRAIN, step, size, self.input_size))

    def validation(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        return self._cubes(philox.words((0, philox.SHARED), philox.VALIDATION, 0, 100, self.input_size))

    def test(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        return self._cubes(philox.words((0, philox.SHARED), philox.TEST, 0, 100, self.input_size))

    def _cubes(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = philox.uniform(words, ((1.0, 2.0),))
        return x, (x**3).sum(axis=1, keepdims=True)


@pytest.fixture(params=[Halves, Cubes])
def spec(request, monkeypatch):
    monkeypatch.setitem(tasks.KINDS, request.param.kind, request.param)
    return Spec(task=request.param(halves=2), model=MODELS["NMU"], iterations=40, batch_size=16, evaluate_every=20)


def test_a_task_that_is_not_listed_is_refused():
    with pytest.raises(ValueError, match=r"task must be a task of arithmos\.tasks, got Halves\(halves=2\)"):
        Spec(task=Halves(halves=2), model=MODELS["NMU"])


def test_an_own_task_has_a_plain_form_and_words(spec):
    assert Spec.from_plain(json.loads(spec.json())) == spec
    assert networks(spec.json()) == (spec.model.layers, (4, 2, 1), spec.task)
    assert describe(spec.json()) == "halves of 2, 2 hidden, 40 iterations"


def test_an_own_task_goes_through_engine_store_and_judges(spec, tmp_path):
    store = Store(tmp_path / "runs")
    store.append(judged_runs([*TorchEngine().run([Job(spec, range(3))])]))
    experiment = Experiment(name="own", item="", title="", specs=(spec,), seeds=3)
    [(_, _, cell)] = judged(store, [experiment]).of(experiment)
    assert (cell.engine, cell.n, cell.k) == ("torch", 3, 3)
    runs = store.load()
    assert set(runs["task"]) == {spec.task.kind}
    assert set(runs["operation"]) == {spec.task.operation}
    assert set(runs["input_size"]) == {4}
    assert runs["exact"].isna().all() == (spec.task.draws(0) is None)
    assert Clock(store.snapshot(TIMES).table(TIMES), [spec]).seconds(spec, "torch") > 0


def test_an_own_task_is_resumed_with_the_same_bits(spec, tmp_path):
    def trained(stops: list[bool]) -> list:
        states: dict[int, Any] = {}
        control = Control(
            stopped=lambda: stops.pop() if stops else False,
            resume=lambda spec, seed: states.get(seed),
            suspend=lambda spec, seed, state: states.update({seed: state}),
        )
        made = [*TorchEngine().run([Job(spec, (0,))], control)]
        return made or [*TorchEngine().run([Job(spec, (0,))], control)]

    [whole], [cut] = trained([]), trained([True, False, False])
    np.testing.assert_array_equal(whole.end_weights, cut.end_weights)
    np.testing.assert_array_equal(whole.curve.test, cut.curve.test)


def test_an_own_task_runs_on_the_engines_that_can_draw_it(spec):
    if spec.task.draws(0) is None:
        assert CpuEngine().refuses(spec) == "it cannot draw batches of the task 'cubes'"
        assert Engines("auto", say=lambda line: None).choose(spec).name == "torch"
        return
    [by_torch] = TorchEngine().run([Job(spec, (0,))])
    [by_cpu] = CpuEngine().run([Job(spec, (0,))])
    np.testing.assert_allclose(by_torch.end_weights, by_cpu.end_weights, rtol=1e-5)
    np.testing.assert_allclose(by_torch.curve.test, by_cpu.curve.test, rtol=1e-4)


def test_an_own_task_has_an_exact_judge_if_it_is_an_operation_on_uniform_inputs(spec):
    flat = np.array([[1, 1, 0, 0, 0, 0, 1, 1, 1, 1]], np.float32)
    layers = spec.model.layers
    if spec.task.draws(0) is None:
        with pytest.raises(ValueError, match="must be an operation on uniform inputs, got the task 'cubes'"):
            formula.recovered_runs(layers, spec.sizes, spec.task, [0], flat)
    else:
        assert formula.recovered_runs(layers, spec.sizes, spec.task, [0], flat).tolist() == [True]


def test_an_own_task_can_be_written_in_an_experiment_file(monkeypatch, tmp_path):
    monkeypatch.setitem(tasks.KINDS, "halves", Halves)
    path = tmp_path / "own.toml"
    path.write_text("models = 'NMU'\ntask.halves = [1, 2, 3]")
    experiment = load(path)
    assert [spec.task.halves for spec in experiment.specs] == [1, 2, 3]
    assert experiment.axis == "halves"
    path.write_text(to_toml(experiment))
    assert load(path).specs == experiment.specs
