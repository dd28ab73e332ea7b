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
        "1 of 5 rows, which have infinite values",
        "column 'k', which is 3 in every row",
    )
    assert len(table.x) == len(table.y) == 4


def test_integers_that_float64_does_not_hold_are_no_numbers(tmp_path):
    """Two of them become the same number, beside gaps or not; powers of two do as well as any other integer would."""
    lines = [
        "id,gap,huge,a,y",
        "9007199254740993,-9007199254740993,123456789012345678901234567890,1,1",
        "9007199254740992,,2,9007199254740992,2",
        "9007199254740994,5,3,-9007199254740992,4",
    ]
    table = read_columns(write(tmp_path / "data.csv", "\n".join(lines)), ["y"])
    assert table.names == ("a",)
    beyond = "which has integers beyond 2^53, where float64 skips some, such as"
    assert table.left_out == (
        f"column 'id', {beyond} 9007199254740993 in row 1",
        f"column 'gap', {beyond} -9007199254740993 in row 1",
        f"column 'huge', {beyond} 123456789012345678901234567890 in row 1",
    )


def test_rows_with_gaps_and_rows_with_infinite_values_are_told_apart(tmp_path):
    text = "a,b,y\n1,2,1\n2,inf,2\n3,,3\n4,-inf,\n5,2,7\n6,3,8\n7,1,2\n"
    table = read_columns(write(tmp_path / "data.csv", text), ["y"])
    assert table.left_out == ("2 of 7 rows, which have gaps", "1 of 7 rows, which have infinite values")
    np.testing.assert_array_equal(table.x, [[1, 2], [5, 2], [6, 3], [7, 1]])


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
        ('a,y\n1,"2\n3,4\n', ["y"], None, "data.csv is not a table"),
        ("a,y\n", ["y"], None, "data.csv must have at least 3 rows without gaps, got 0"),
        ("a,y\n1,2,3\n4,5,6\n7,8,9\n", ["y"], None, "rows have more values than its first line has names"),
        ("a ,a,y\n1,2,3\n4,5,6\n7,8,9\n", ["y"], None, "data.csv has two columns 'a'"),
        ("a,y\n1,7\n2,7\n3,7\n4,\n", ["y"], None, "column 'y' is 7 in every row: there is nothing to explain"),
        ("a,y\n1,inf\n2,1e999\n3,7\n", ["y"], None, "column 'y' is infinite in 2 of 3 rows"),
        ("a,y\n1,inf\n2,7\n3,8\n4,\n", ["y"], None, "at least 3 rows without gaps or infinite values, got 2"),
        (
            "a,y\n1,3\n2,9007199254740993\n3,9007199254740992\n",
            ["y"],
            None,
            "column 'y' has integers beyond 2.53, where float64 skips some, such as 9007199254740993 in row 2",
        ),
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


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("a,b,a,y", "data.csv has two columns 'a'; rename or remove one"),
        ("NA,b,NA,y", "data.csv has two columns 'NA'"),
        ('"a",b,a ,y', "data.csv has two columns 'a'"),
    ],
)
def test_columns_of_one_name_are_refused(tmp_path, head, message):
    with pytest.raises(ValueError, match=message):
        read_columns(write(tmp_path / "data.csv", f"{head}\n1,2,3,4\n5,6,7,8\n9,8,2,6\n"), ["y"])


@pytest.mark.parametrize("mark", ["\x1b[31m", "\0", "\x07", "\x9b", "\u202e", "\u200b", "\ufeff"])
def test_names_that_cannot_be_printed_are_refused(tmp_path, mark):
    with pytest.raises(ValueError, match=r"data\.csv must have printable column names; column 2 is named 'b\\[xu]"):
        read_columns(write(tmp_path / "data.csv", f"a,b{mark}c,y\n1,2,3\n4,5,6\n7,8,9\n"), ["y"])


def test_names_are_in_one_line(tmp_path):
    file = write(tmp_path / "data.csv", '"Weight\n(kg)",a\u00a0 b,y\n1,2,3\n4,5,6\n7,9,9\n')
    assert read_columns(file, ["y"]).names == ("Weight (kg)", "a b")
    assert read_columns(file, ["a  b"], ["Weight\n(kg)"]).targets == ("a b",)


def test_columns_without_names_are_several(tmp_path):
    table = read_columns(write(tmp_path / "data.csv", "a,y,,\n1,2,,\n4,5,,\n6,7,,\n"), ["y"])
    assert table.names == ("a",)
    assert len(table.left_out) == 2


@pytest.mark.parametrize(
    ("limit", "text", "message"),
    [
        ("tasks.read.MOST_BYTES", "a,y\n" + "1,2\n" * 9, r"data\.csv must have at most 8 bytes, got 40"),
        (
            "tasks.read.MOST_HEAD",
            "abcdefg,y\n1,2\n",
            r"first line of .*data\.csv, of 14 bytes, must have at most 8 char",
        ),
        ("regression.table.MOST_COLUMNS", "a,b,c,d,e,f,g,h,y\n1", r"data\.csv must have at most 8 columns, got 9"),
    ],
)
def test_sizes_are_looked_at_before_pandas_reads(tmp_path, monkeypatch, limit, text, message):
    monkeypatch.setattr(f"arithmos.{limit}", 8)
    monkeypatch.setattr("pandas.read_csv", lambda *args, **options: pytest.fail("it was read"))
    with pytest.raises(ValueError, match=message):
        read_columns(write(tmp_path / "data.csv", text), ["y"])


def test_a_first_line_is_read_no_further_than_its_limit(tmp_path):
    with pytest.raises(ValueError, match="must have at most 1,048,576 characters"):
        read_columns(write(tmp_path / "data.csv", "x" * 2**21 + ",y\n1,2\n"), ["y"])


@pytest.mark.slow
def test_wide_files(tmp_path):
    wide = [",".join([*(f"{letter}{i}" for i in range(300_000)), "y"]) for letter in "xyz"]
    with pytest.raises(ValueError, match="must have at most 1,048,576 characters"):
        read_columns(write(tmp_path / "data.csv", "\n".join(wide)), ["y"])
    names = [f"x{i}" for i in range(9_998)]
    rows = [",".join(["1"] * 9_998 + [f"{i}", f"{i * i}"]) for i in range(5)]
    table = read_columns(write(tmp_path / "data.csv", "\n".join([",".join([*names, "a", "y"]), *rows])), ["y"])
    assert table.names == ("a",)
    assert len(table.left_out) == 9_998


def table_of(tmp_path, text, targets=("y",), columns=None):
    return read_columns(write(tmp_path / "data.csv", text), [*targets], columns)


@pytest.mark.parametrize(
    ("text", "expected", "note"),
    [
        ("a;y\n1,5;2\n-2,25;4\n0,5;7\n", [1.5, -2.25, 0.5], "numbers were read with a decimal comma"),
        ("a;y\n1.234,5;2\n12,75;4\n1.000.000,25;7\n", [1234.5, 12.75, 1e6 + 0.25], "with a decimal comma"),
        ("a;y\n1.234;0,5\n12;0,25\n7;0,75\n", [1234, 12, 7], "with a decimal comma"),
        ('a,y\n"1,234.5",2\n"12.75",4\n"1,000,000.25",7\n', [1234.5, 12.75, 1e6 + 0.25], None),
        ('a,y\n"1,234",0.5\n12,0.25\n7,0.75\n', [1234, 12, 7], None),
        ('a,y\n"1,5",2\n"2,25",4\n3,7\n', [1.5, 2.25, 3], "with a decimal comma"),
        ("a;y\n1 234,5;2\n12,5;4\n1\u00a0000\u202f000,5;7\n", [1234.5, 12.5, 1e6 + 0.5], "with a decimal comma"),
        ("a;y\n1'234.5;2\n12.5;4\n1’000’000.5;7\n", [1234.5, 12.5, 1e6 + 0.5], None),
        ("a;y\n−1.5;2\n−2;4\n3;7\n", [-1.5, -2, 3], None),
        ("a;y\n1,234;2\n2,345;4\n3,456;7\n", [1.234, 2.345, 3.456], "numbers such as 1,234 were read as 1.234"),
        ('a,y\n"1,234",2\n"2,345",4\n"3,456",7\n', [1234, 2345, 3456], "numbers such as 1,234 were read as 1234"),
        ("a\ty\n1,5\t2\n2,5\t4\n3\t7\n", [1.5, 2.5, 3], "with a decimal comma"),
        ("a;y\n1,5e3;2\n2,5;4\n3;7\n", [1500, 2.5, 3], "with a decimal comma"),
    ],
)
def test_numbers_of_other_countries(tmp_path, text, expected, note):
    table = table_of(tmp_path, text)
    np.testing.assert_array_equal(table.x[:, 0], expected)
    assert table.left_out == ()
    assert [note in line for line in table.notes] == ([] if note is None else [True])


@pytest.mark.parametrize("value", ["1,23,456", "12.34,5", "1.23.456", "1 23", "12,5 €", "1.234.56"])
def test_what_is_almost_a_number_is_text(tmp_path, value):
    text = f"a;b;y\n{value};1;0,5\n{value};2;2,5\n{value};3;1,5\n{value};4;0,25\n"
    table = table_of(tmp_path, text)
    assert table.names == ("b",)
    assert table.left_out == (f"column 'a', which is '{value}' in every row",)


@pytest.mark.parametrize("gap", ["", "NA", "n/a", "null", "NaN", "?", "-", "–", " ", "None"])
def test_gaps_by_any_name(tmp_path, gap):
    table = table_of(tmp_path, f"a,y\n1,2\n{gap},3\n3,4\n5,6\n7,8\n")
    assert table.left_out == ("1 of 5 rows, which have gaps",)
    np.testing.assert_array_equal(table.x[:, 0], [1, 3, 5, 7])


def test_categories_and_dates_are_named_and_set_aside(tmp_path):
    kinds = ["2024-01-31", "01.02.2024", "2024/03/01", "2024-01-31 12:00", "2024-01-31T12:00:00Z", "1/2/2024"]
    names = "abcdef"
    rows = [",".join([*kinds, ["red", "blue"][i % 2], f"id {i}", f"{i}", f"{i * i}"]) for i in range(6)]
    table = table_of(tmp_path, "\n".join([",".join([*names, "color", "key", "n", "y"]), *rows]))
    dates = [
        f"column '{name}', which holds dates, such as '{kind}' in row 1"
        for name, kind in zip(names, kinds, strict=True)
    ]
    assert table.names == ("n",)
    assert table.left_out == (
        *dates,
        "column 'color', which holds 2 categories, such as 'red' in row 1",
        "column 'key', which is text, such as 'id 0' in row 1",
    )


def test_dates_that_were_asked_for_become_days(tmp_path):
    text = "day;start;a;y\n02.01.2024;2024-01-01 12:00;1;0,5\n01.01.2024;2024-01-01;2;1,5\n03.02.2024;2023-12-31;3;2\n"
    table = table_of(tmp_path, text, columns=["day", "start"])
    np.testing.assert_array_equal(table.x, [[1, 1.5], [0, 1], [33, 0]])
    assert table.notes[1:] == (
        "column 'day' was read as days since 2024-01-01",
        "column 'start' was read as days since 2023-12-31",
    )


def test_repeated_rows_and_columns_are_used_once(tmp_path):
    table = table_of(tmp_path, "a,b,c,y\n1,1,3,4\n2,2,1,5\n1,1,3,4\n3,3,0,1\n1,1,3,5\n")
    assert table.names == ("a", "c")
    assert table.left_out == (
        "1 of 5 rows, which repeat other rows",
        "column 'b', which equals column 'a' in every row",
    )
    assert len(table.x) == 4
    with pytest.raises(ValueError, match="must have at least 3 different rows without gaps, got 2"):
        table_of(tmp_path, "a,y\n1,2\n1,2\n2,3\n2,3\n")


STRANGE = [
    "self",
    "price (EUR)",
    "größe in m²",
    "a+b",
    "x**2",
    "f(x)",
    "__import__('os').system('true')",
    "<script>alert(1)</script>",
    '*/ system("true"); /*',
    "=HYPERLINK(1)",
    "$x$",
    "{{7*7}}",
    "pi",
    "E",
    "lambda",
]


def test_any_printable_name_is_a_name(tmp_path):
    head = ";".join('"' + name.replace('"', '""') + '"' for name in STRANGE)
    rows = [";".join(f"{i * k % 17}" for k in range(1, len(STRANGE) + 1)) + f";{i}" for i in range(1, 9)]
    table = table_of(tmp_path, "\n".join([f"{head};y", *rows]))
    assert table.names == tuple(STRANGE)
    assert table.left_out == ()
