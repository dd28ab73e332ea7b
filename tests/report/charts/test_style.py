import pytest

from arithmos.papers import EXPERIMENTS
from arithmos.report.charts.style import LOOKS, PALETTE, SOLVED, Look, looks
from arithmos.spec import MODELS


def luminance(color):
    channels = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("page", ["#ffffff", "#121212"])
def test_colors_are_seen_on_light_and_dark_pages(page):
    for color in {*PALETTE, *SOLVED.values(), *(look.color for look in LOOKS.values())}:
        assert contrast(color, page) >= 3, color


def test_every_model_has_a_look():
    assert set(MODELS) <= set(LOOKS)


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda experiment: experiment.name)
def test_models_of_one_figure_look_different(experiment):
    models = list(dict.fromkeys(spec.model.name for spec in experiment.specs))
    assert len(set(looks(models))) == len(models)


def test_colors_of_one_sweep_differ():
    for experiment in EXPERIMENTS.values():
        models = list(dict.fromkeys(spec.model.name for spec in experiment.specs))
        if experiment.axis:
            assert len({look.color for look in looks(models)}) == len(models), experiment.name


def test_strangers_have_a_look_of_their_own():
    assert looks(["NMU", "NAU>mine.py:Own"])[0] == LOOKS["NMU"]
    assert looks(["NMU", "NAU>mine.py:Own"])[1] != LOOKS["NMU"]
    many = looks([f"own-{number}" for number in range(40)])
    assert len(many) == 40
    assert all(isinstance(look, Look) for look in many)
