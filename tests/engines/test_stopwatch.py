import pytest
from tests.factories import make_spec

from arithmos.engines.contract import Control
from arithmos.engines.stopwatch import KEEP_S, TELL_S, Stopwatch


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("arithmos.engines.stopwatch.time.monotonic", clock)
    return clock


def watched(stops=(), **where):
    """A stopwatch over three runs, and the iterations that its caller was told of."""
    told, asked = [], iter(range(1000))
    control = Control(advance=lambda spec, count: told.append(count), stopped=lambda: next(asked) in stops)
    return Stopwatch(control, make_spec(), 3, **{"step": 0, "elapsed_s": 0.0} | where), told


def test_the_caller_is_told_of_all_iterations_and_not_too_often(clock):
    stopwatch, told = watched(step=10)
    for step in (11, 12, 13, 14):
        clock.now += TELL_S * 0.6
        assert not stopwatch.look(step)
    assert told == [2 * 3, 2 * 3]
    stopwatch.end()
    assert sum(told) == (stopwatch.spec.iterations + 1 - 10) * 3


def test_states_are_kept_when_stopped_and_now_and_then(clock):
    stopwatch, _ = watched(stops={2})
    kept = []
    for step in range(1, 4):
        clock.now += KEEP_S * 0.6
        kept.append((stopwatch.look(step), stopwatch.stopped))
    assert kept == [(False, False), (True, False), (True, True)]


def test_nothing_is_kept_of_what_is_at_its_end(clock):
    stopwatch, told = watched(stops={0})
    clock.now += KEEP_S + TELL_S + 1
    assert not stopwatch.look(stopwatch.spec.iterations + 1)
    assert not stopwatch.stopped
    assert told == [(stopwatch.spec.iterations + 1) * 3]


def test_seconds_before_count(clock):
    stopwatch, _ = watched(elapsed_s=7.0)
    clock.now += 5.0
    assert stopwatch.elapsed_s == 12.0
