import pytest

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def scheduler():
    """A scheduler and two workers of one thread each, all in this process; no longer than they are needed.

    Their threads use `random` at times, which Hypothesis takes for a fault of whatever test it is in.
    """
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture(autouse=True)
def brisk(monkeypatch):
    """The client looks often."""
    monkeypatch.setattr("arithmos.engines.cluster.remote.POLL_S", 0.002)
    monkeypatch.setattr("arithmos.engines.cluster.remote.COUNT_S", 0.1)
