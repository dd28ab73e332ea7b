import numpy as np
import pytest

from arithmos.regression.table import read_columns


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_reads_numbers_with_any_separator(tmp_path, separator):
    file = write(tmp_path / "data.csv", "\ufeffa, b ,y\n1,2,3\n4,5e0,6\n7,8,9\n".replace(",", separator))
    table = read_columns(file, ["y"])
    assert (table.names, table.targets, table.left_out) == (("a", "b"), ("y",), ())
    np.testing.assert_array_equal(table.x, [[1, 2], [4, 5], [7, 8]])
    np.testing.assert_array_equal(table.y, [[3], [6], [9]])


def test_says_what_it_leaves_out(tmp_path):
    lines = [
        "a,city,k,hole,gap,y",
        "1,Paris,3,,1,1",
        "2,Oslo,3,,2,2",
        "3,Rome,3,1,3,4",
        "5,Bonn,3,,inf,3",
        "6,Bern,3,,4,5",
    ]
    table = read_columns(write(tmp_path / "data.csv", "\n".join(lines)), ["y"])
    assert table.names == ("a", "gap")
    assert table.left_out == (
        "column 'city', which is text, such as 'Paris' in row 1",
        "column 'hole', which is empty in 4 of 5 rows",
        "1 of 5 rows, which have gaps",
        "column 'k', which is 3 in every row",
    )
    assert len(table.x) == len(table.y) == 4


def test_takes_the_columns_that_are_named(tmp_path):
    file = write(tmp_path / "data.csv", "a,b,c,y\n1,2,3,4\n5,6,7,8\n9,1,2,3\n")
    assert read_columns(file, ["y", "c"], ["b"]).names == ("b",)
    assert read_columns(file, ["y", "c"], ["b"]).y.shape == (3, 2)


def test_separators_at_the_ends_of_rows_are_no_column(tmp_path):
    table = read_columns(write(tmp_path / "data.csv", "a,y\n1,2,\n3,4,\n5,7,\n"), ["y"])
    np.testing.assert_array_equal(np.hstack([table.x, table.y]), [[1, 2], [3, 4], [5, 7]])


@pytest.mark.parametrize(
    ("text", "targets", "columns", "message"),
    [
        ("", ["y"], None, "data.csv is empty"),
        ("a,y\n1,2\n", ["y"], None, "data.csv must have at least 3 rows without gaps, got 1"),
        ("a,yield\n1,2\n3,4\n5,6\n", ["yeld"], None, "has no column 'yeld'; did you mean 'yield'?"),
        ("a,y\n1,2\n3,4\n5,6\n", ["other"], None, "has no column 'other'; it has 'a', 'y'"),
        ("a,y\n1,x\n3,z\n5,6\n", ["y"], None, "column 'y' is text, such as 'x' in row 1"),
        ("a,b,y\n1,x,1\n3,z,2\n5,6,3\n", ["y"], ["b"], "column 'b' is text, such as 'x' in row 1"),
        ("a,y\n1,\n3,\n5,6\n", ["y"], None, "column 'y' is empty in 2 of 3 rows"),
        ("a,y\n1,1\n1,2\n1,3\n", ["y"], None, "has no column of numbers to explain y by"),
        ("a,y\n1,1\n2,2\n1,3\n", ["y"], ["y"], "'y' is both a target and a column to explain it by"),
        ('a,y\n1,"2\n3,4\n', ["y"], None, "data.csv is no table"),
        ("a,y\n", ["y"], None, "data.csv must have at least 3 rows without gaps, got 0"),
        ("a,y\n1,2,3\n4,5,6\n7,8,9\n", ["y"], None, "rows have more values than its first line has names"),
        ("a ,a,y\n1,2,3\n4,5,6\n7,8,9\n", ["y"], None, "data.csv has two columns 'a'"),
    ],
)
def test_refuses_what_it_cannot_use(tmp_path, text, targets, columns, message):
    with pytest.raises(ValueError, match=message.replace("?", "\\?")):
        read_columns(write(tmp_path / "data.csv", text), targets, columns)


def test_refuses_what_is_not_text(tmp_path):
    file = tmp_path / "data.csv"
    file.write_bytes(b"\xff\xfe\x00a,y\n1,2\n")
    with pytest.raises(ValueError, match="is not text in UTF-8"):
        read_columns(file, ["y"])


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_columns(tmp_path / "none.csv", ["y"])
