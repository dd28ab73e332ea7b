import io

import pytest
from rich.console import Console
from tests.factories import make_run

from arithmos import progress
from arithmos._formatting import duration
from arithmos.progress import Watch


@pytest.fixture
def clock(monkeypatch):
    """Time that goes when it is told to."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_lines_where_there_is_no_terminal(clock):
    out = io.StringIO()
    with Watch(Console(file=out, width=200)) as watch:
        watch.begin(runs=5, stored=1, work=10)
        for _ in range(25):
            clock[0] += 1
            watch.advance(2_000, 0.2)
        watch.finished(make_run(seed=0))
        watch.spared()
        clock[0] += 10
        watch.advance(10_000, 1)
    assert out.getvalue().splitlines() == [
        "1 of 5 runs, 2.0k iterations/s, 40 s left, 0 solved",
        "1 of 5 runs, 2.0k iterations/s, 30 s left, 0 solved",
        "3 of 5 runs, 1.7k iterations/s, 23 s left, 1 solved",
    ]


def test_runs_without_a_threshold_are_not_called_unsolved(clock):
    """On digits the threshold comes from reference runs, once a table is made."""
    out = io.StringIO()
    watch = Watch(Console(file=out, width=200))
    watch.begin(runs=4, stored=0, work=10)
    for run in (make_run(thresholds={}, solved_at={}),) * 2 + (make_run(seed=0),):
        watch.finished(run)
        clock[0] += 10
        watch.advance(10_000, 1)
    said = [line.partition(" left, ")[2] for line in out.getvalue().splitlines()]
    assert said == ["1 without a threshold", "2 without a threshold", "1 solved, 2 without a threshold"]


def test_the_rest_is_estimated_once_a_part_of_the_work_is_done(clock):
    out = io.StringIO()
    watch = Watch(Console(file=out, width=200))
    watch.begin(runs=2, stored=0, work=1000)
    for _ in range(2):  # the first seconds are spent on compilation
        clock[0] += 20
        watch.advance(1_000, 1.5)
    assert out.getvalue().splitlines() == [
        "0 of 2 runs, 50 iterations/s, 0 solved",
        "0 of 2 runs, 50 iterations/s, 3 h 42 min left, 0 solved",
    ]


def test_what_need_not_be_done_makes_it_no_faster(clock):
    out = io.StringIO()
    watch = Watch(Console(file=out, width=200))
    watch.begin(runs=2, stored=0, work=10)
    watch.fewer(6)
    clock[0] += 10
    watch.advance(10_000, 1)
    assert out.getvalue() == "0 of 2 runs, 1.0k iterations/s, 30 s left, 0 solved\n"


def test_what_is_left_counts_by_what_it_costs(clock):
    out = io.StringIO()
    watch = Watch(Console(file=out, width=200))
    watch.begin(runs=2, stored=0, work=4)
    clock[0] += 30
    watch.advance(10_000, 3)  # as many iterations are to go, which are cheaper
    assert out.getvalue() == "0 of 2 runs, 333 iterations/s, 10 s left, 0 solved\n"


def test_a_bar_in_a_terminal_and_lines_above_it():
    out = io.StringIO()
    console = Console(file=out, width=120, force_terminal=True, color_system=None)
    with Watch(console) as watch:
        watch.begin(runs=2, stored=0, work=1)
        watch.say("a kernel is being compiled [cpu]")
        watch.advance(500, 0.5)
        watch.finished(make_run(seed=0))
        watch._bar.refresh()
    shown = out.getvalue()
    assert "a kernel is being compiled [cpu]" in shown
    assert "1 of 2 runs" in shown
    assert "1 solved" in shown


def test_nothing_was_done_yet(clock):
    out = io.StringIO()
    watch = Watch(Console(file=out, width=200))
    watch.begin(runs=1, stored=0, work=1)
    clock[0] += 11
    watch.advance(0, 0)
    assert out.getvalue() == "0 of 1 runs, 0 iterations/s, 0 solved\n"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.0, "1 s"), (89, "89 s"), (90, "2 min"), (3600, "60 min"), (7200, "2 h 0 min"), (86400 * 3, "3 d 0 h")],
)
def test_duration(seconds, words):
    assert duration(seconds) == words
