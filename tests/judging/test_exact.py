import pandas as pd
from tests.factories import make_run

from arithmos.judging.exact import with_verdicts
from arithmos.store import Snapshot, Store


def test_runs_whose_spec_cannot_be_read_are_not_judged(tmp_path, monkeypatch):
    """A part is read column by column: damage may show in one that is read late."""
    store = Store(tmp_path)
    store.append([make_run()])
    snapshot = store.snapshot()
    runs = snapshot.load()
    assert with_verdicts(snapshot, runs)["exact"].notna().all()
    monkeypatch.setattr(Snapshot, "described", lambda self, columns: pd.DataFrame(columns=["spec_id", *columns]))
    assert with_verdicts(snapshot, runs)["exact"].isna().all()
