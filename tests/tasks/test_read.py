import numpy as np
import pytest

from arithmos.tasks.read import read_numbers


@pytest.mark.parametrize("integer", ["9007199254740993", " -009007199254740993", "1" * 5000])
def test_integers_that_float64_does_not_hold_are_refused(tmp_path, integer):
    (tmp_path / "x.csv").write_text(f"a,b\n1,2\n3,{integer}\n")
    with pytest.raises(
        ValueError, match=r"x\.csv.* row 2 has '-?0*[91]\d+.*; beyond 2\^53 float64 does not hold every"
    ):
        read_numbers(tmp_path / "x.csv")


def test_other_long_numbers_are_read(tmp_path):
    rows = ["9007199254740992,-9007199254740992", "0000000000000000000012,9007199254740993.5", "90071992547409930e3,1"]
    (tmp_path / "x.csv").write_text("\n".join(rows))
    assert read_numbers(tmp_path / "x.csv").tolist() == [
        [2.0**53, -(2.0**53)],
        [12, 9007199254740994],
        [9.007199254740993e19, 1],
    ]
    np.save(tmp_path / "x.npy", np.arange(4).reshape(2, 2))
    assert read_numbers(tmp_path / "x.npy").tolist() == [[0, 1], [2, 3]]
