import pytest
from torch import nn

from arithmos.nn import NALU, UNITS, Catalogue, Unit


def test_order_and_labels():
    assert [(name, unit.label) for name, unit in UNITS.items()] == [
        ("NACMulNMU", "NAC•,NMU"),
        ("NACMulSigma", "NAC•,σ"),
        ("NACMul", "NAC•"),
        ("NACAdd", "NAC₊"),
        ("GatedNAUNMU", "Gated NAU/NMU"),
        ("Linear", "Linear"),
        ("NALU", "NALU"),
        ("NALUSeparate", "NALU (separate)"),
        ("NAU", "NAU"),
        ("NMU", "NMU"),
        ("LinearReLU", "ReLU"),
        ("LinearReLU6", "ReLU6"),
    ]


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(KeyError, match=r"unknown unit 'NMUU'; did you mean 'NMU'\? known: NACMulNMU, "):
        UNITS["NMUU"]
    with pytest.raises(KeyError, match="unknown unit 'quite else'; known: "):
        UNITS["quite else"]


def test_match():
    assert [unit.name for unit in UNITS.match("NA*U*")] == ["NACMulNMU", "NALU", "NALUSeparate", "NAU"]


def test_a_former_name_is_understood():
    assert UNITS["ReLU"] is UNITS["LinearReLU"]
    assert "ReLU6" in UNITS
    assert "ReLU6" not in [*UNITS]


def test_a_unit_of_ones_own_is_added_by_a_value():
    mine = Unit(nn.Linear, name="Mine", label="mine")
    more = UNITS.add(mine)
    assert more["Mine"] is mine
    assert [*more] == [*UNITS, "Mine"]
    assert "Mine" not in UNITS
    with pytest.raises(ValueError, match="unit 'NMU' is in the catalogue twice"):
        UNITS.add(UNITS["NMU"])
    assert isinstance(more, Catalogue)


def test_options_make_a_unit():
    separate = UNITS["NALUSeparate"].build(3, 2)
    assert isinstance(separate, NALU)
    assert not separate.shared
    assert UNITS["NALU"].build(3, 2, init="paper").init == "paper"
