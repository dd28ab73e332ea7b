"""Shapes in the annotations of `arithmos.nn` are checked in all tests, where jaxtyping is installed; none is timed."""

import signal
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule

try:
    import beartype  # noqa: F401
    import jaxtyping
except ImportError:
    jaxtyping = None
else:
    jaxtyping.install_import_hook("arithmos.nn", "beartype.beartype")

try:
    import hypothesis
except ImportError:
    pass
else:  # how long an example takes says how busy the machine is
    hypothesis.settings.register_profile(
        "untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
    )
    hypothesis.settings.load_profile("untimed")

# A shell makes what it starts in the background ignore Ctrl-C, and all that is started from there.
signal.signal(signal.SIGINT, signal.default_int_handler)

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden", action="store_true", help="write the golden files instead of comparing with them")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Doctests are in the package only: of a test file that cannot be imported they would make a skipped one."""
    found = yield
    return [collector for collector in found if not isinstance(collector, DoctestModule)]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many fuzzed cases came to what."""
    passed = terminalreporter.stats.get("passed", [])
    fuzzed = [text for report in passed for name, text in report.user_properties if name == "fuzzed"]
    if fuzzed:
        terminalreporter.section("fuzzed")
        for text in fuzzed:
            terminalreporter.line(text)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a text with a golden file, or writes it."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), f"{path} differs; `make golden` writes it anew"

    return compare


@pytest.fixture
def shapes_unchecked() -> Iterator[None]:
    """The package as its users have it: our own messages for bad input, and code that torch.compile can trace."""
    if jaxtyping is not None:
        jaxtyping.config.update("jaxtyping_disable", True)
    yield
    if jaxtyping is not None:
        jaxtyping.config.update("jaxtyping_disable", False)
