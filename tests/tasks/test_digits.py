import dataclasses

import numpy as np
import pytest
from tests.factories import make_digits

from arithmos import philox
from arithmos.papers import EXPERIMENTS
from arithmos.papers.madsen2020.digits import PRODUCT, SUM
from arithmos.spec import InputRegularizer, Spec, model
from arithmos.tasks import DigitSequences


def small(operation="mul", length=2, test_lengths=(1, 2, 5), **changes):
    digits = tuple(range(1, 10)) if operation == "mul" else tuple(range(10))
    source = make_digits(train=400, test=120)
    return DigitSequences(
        operation=operation,
        length=length,
        test_lengths=test_lengths,
        digits=digits,
        images=0,
        validation_size=100,
        source=source,
        **changes,
    )


def test_counts_are_those_of_the_paper():
    assert (PRODUCT.sequences, PRODUCT.epoch(64)) == (24_783, 388)
    assert (SUM.sequences, SUM.epoch(64)) == (5500, 86)
    product, total = EXPERIMENTS["mnist-product"].specs[0], EXPERIMENTS["mnist-sum"].specs[0]
    assert (product.iterations + 1, product.records, product.evaluate_every) == (388_388, 201, 1940)
    assert (total.iterations + 1, total.records, total.evaluate_every) == (86_086, 201, 430)
    names = ("mnist-product", "mnist-product-no-rz", "mnist-sum", "mnist-sum-no-rz", "mnist-reference")
    specs = {spec.id for name in names for spec in EXPERIMENTS[name].specs}
    assert len(specs) * 10 == 160  # the paper's 159, and a tenth reference of the sum


def test_the_order_of_the_digits_does_not_matter():
    one, other = (dataclasses.replace(PRODUCT, digits=digits) for digits in ((1, 2, 3), [3, 1, 2, 1]))
    assert one == other
    specs = [dataclasses.replace(EXPERIMENTS["mnist-product"].specs[0], task=task) for task in (one, other)]
    assert specs[0].id == specs[1].id


def test_zeros_are_left_out_of_products():
    images, labels = small().pixels("training")
    assert set(labels) == set(range(1, 10))
    assert images.shape == (small().images, 28, 28)
    assert set(small("add", 5).pixels("test")[1]) == set(range(10))


def test_parts_do_not_share_images():
    source = small("add", 5).source
    parts = [small("add", 5).pixels(part)[0] for part in ("training", "validation", "test")]
    np.testing.assert_array_equal(np.concatenate(parts[:2]), source.train_images)
    np.testing.assert_array_equal(parts[2], source.test_images)
    assert len(parts[1]) == 100


def test_every_image_is_in_one_sequence_at_most():
    task = small(length=5, test_lengths=(5,))
    for sequences in (task.training(3), task.at(3, 0), task.at(3, 7), task.evaluation("training", 5)):
        assert sequences.shape == (task.images // 5, 5)
        assert len(np.unique(sequences)) == sequences.size


def test_sequences_stay_and_their_order_changes():
    task = small()
    first, second = task.at(0, 0), task.at(0, 1)
    assert not np.array_equal(first, second)
    assert {tuple(row) for row in first} == {tuple(row) for row in second} == {tuple(row) for row in task.training(0)}
    assert {tuple(row) for row in task.at(1, 0)} != {tuple(row) for row in first}
    np.testing.assert_array_equal(first, task.at(0, 0))
    word = philox.words((0, philox.RUN), philox.ORDER, 1, task.sequences, 1)[:, 0]
    np.testing.assert_array_equal(second, task.training(0)[np.argsort(word)])


def test_sequences_can_be_cut_anew():
    task = small(fixed=False)
    first, second = ({tuple(row) for row in task.at(0, epoch)} for epoch in (0, 1))
    assert len(first & second) < 10


def test_tests_of_all_lengths_have_one_order():
    task = small(test_lengths=(1, 2, 5))
    flat = [task.evaluation("test", length).ravel() for length in task.test_lengths]
    for shorter in flat[1:]:
        np.testing.assert_array_equal(shorter, flat[0][: len(shorter)])


def test_targets_run_along():
    labels = np.array([[9] * 20])
    assert small().targets(labels)[0, -1] == 9.0**20
    assert small("add", 5, (5,)).targets(labels)[0].tolist() == [9.0 * i for i in range(1, 21)]


def test_other_images_have_another_name():
    spec = EXPERIMENTS["mnist-product"].specs[0]
    other = dataclasses.replace(spec, task=small())
    assert other.task.data == small().source.digest
    assert other.id != dataclasses.replace(spec, task=dataclasses.replace(small(), source=None, data="f" * 32)).id
    assert other.id == dataclasses.replace(spec, task=small()).id


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"operation": "div"}, "operation must be one of mul, add, got 'div'"),
        ({"digits": ()}, r"digits must be some of 0 to 9, got \(\)"),
        ({"digits": (3, 11)}, "digits must be some of 0 to 9"),
        ({"length": 30}, "test_lengths must be at least 1 and have length 30"),
        ({"test_lengths": (0, 2)}, "test_lengths must be at least 1"),
        ({"images": 1}, "images must be enough for one sequence of 2, got 1 training images of the digits 1, 2"),
    ],
)
def test_what_cannot_be_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(PRODUCT, **changes)


def test_digits_that_do_not_occur_are_named():
    source = make_digits(train=400, test=120, digits=(1, 2, 3))
    with pytest.raises(ValueError, match=r"none of the 300 training images shows one of the digits \(7,\)"):
        dataclasses.replace(PRODUCT, digits=(7,), source=source, validation_size=100)
    with pytest.raises(ValueError, match="validation_size must leave images for training, got 5000"):
        dataclasses.replace(PRODUCT, source=source)


def test_a_test_that_has_too_few_images_is_named():
    with pytest.raises(ValueError, match="120 test images are not enough for a sequence of 200"):
        small("add", 5, (5, 200)).evaluation("test", 200)


def test_images_at_hand_must_be_those_of_the_task(monkeypatch):
    monkeypatch.setattr("arithmos.tasks.digits._mnist", lambda: make_digits(train=400, test=120))
    with pytest.raises(ValueError, match=r"the digits must be those of the task, 0a171bd8.*, got "):
        dataclasses.replace(PRODUCT).pixels("test")


def test_a_cell_is_one_layer_and_its_inputs_may_be_regularized():
    spec = EXPERIMENTS["mnist-product"].specs[-1]
    nalu = EXPERIMENTS["mnist-product"].specs[-2].model
    two = dataclasses.replace(spec.model, layers=spec.model.layers * 2)
    with pytest.raises(ValueError, match="model 'NMU' must be one, the cell of a sequence, got 2"):
        dataclasses.replace(spec, model=two)
    with pytest.raises(ValueError, match="the inputs of 'NALU' have no regularizer; strength must be 0"):
        dataclasses.replace(spec, model=dataclasses.replace(nalu, inputs=InputRegularizer(1.0)))
    with pytest.raises(ValueError, match="inputs of 'NMU' can only be regularized on sequences of digits"):
        Spec(task=EXPERIMENTS["table-1"].specs[0].task, model=spec.model)


@pytest.mark.parametrize("name", ["ReferenceMul", "NMU", "LSTM"])
def test_a_seed_begins_with_the_weights_of_the_published_run(name):
    """Built by torch, which fills its own layers, then filled twice from the first image to the cell."""
    import torch
    from torch import nn

    torch.manual_seed(3)
    layers = [nn.Conv2d(1, 20, 5), nn.Conv2d(20, 50, 5), nn.Linear(800, 500), nn.Linear(500, 1)]
    cell = nn.LSTMCell(1, 1) if name == "LSTM" else nn.ParameterList([torch.empty(1, 2)] if name == "NMU" else [])
    for _ in range(2):
        for layer in layers:
            layer.reset_parameters()
        if name == "LSTM":
            cell.reset_parameters()
        elif name == "NMU":
            nn.init.uniform_(cell[0], 0.25, 0.75)
    specs = [*EXPERIMENTS["mnist-product"].specs, *EXPERIMENTS["mnist-reference"].specs]
    network = next(spec for spec in specs if spec.model.name == name).network(3)
    expected = [*nn.Sequential(*layers).parameters(), *cell.parameters()]
    for one, other in zip(network.parameters(), expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_a_layer_that_cannot_be_filled_again_keeps_what_it_was_built_with(tmp_path):
    import torch

    file = tmp_path / "own.py"
    file.write_text(
        "import torch\n"
        "class Own(torch.nn.Module):\n"
        "    identity = 1.0\n"
        "    def __init__(self, i, o):\n"
        "        super().__init__()\n"
        "        self.in_features, self.out_features = i, o\n"
        "        self.weight = torch.nn.Parameter(torch.rand(o, i))\n"
        "    def forward(self, x):\n"
        "        return x @ self.weight.T\n"
    )
    spec = dataclasses.replace(EXPERIMENTS["mnist-product"].specs[-1], model=model(f"{file}:Own"))
    torch.manual_seed(3)
    expected = torch.rand(1, 2)
    for _ in range(2):
        torch.testing.assert_close(spec.network(3)[1].unit.weight.detach(), expected, rtol=0, atol=0)


def test_states_before_the_first_digit_are_those_of_the_published_runs():
    specs = [*EXPERIMENTS["mnist-product"].specs, *EXPERIMENTS["mnist-sum"].specs]
    starts = {(spec.task.operation, spec.model.name): spec.network(3)[1].initial for spec in specs}
    ones = {key for key, value in starts.items() if value == 1.0}
    assert ones == {("mul", name) for name in ("NMU", "NACMul", "NACMulSigma", "NACMulNMU")}
    assert set(starts.values()) == {0.0, 1.0}
    changed = dataclasses.replace(PRODUCT, initial=0.5)
    for spec in EXPERIMENTS["mnist-product"].specs:
        assert dataclasses.replace(spec, task=changed).network(0)[1].initial == 0.5


def test_what_the_protocol_has_a_default_for_is_still_required():
    missing = "'operation', 'length', 'test_lengths', 'digits', and 'images'"
    with pytest.raises(TypeError, match=f"missing 5 required keyword-only arguments: {missing}"):
        DigitSequences()
