"""Runs on disk: append, ask what is missing, load, merge, pack, thin."""

from ._part import NewerError as NewerError
from ._schema import COLUMNS as COLUMNS
from ._schema import HEAVY as HEAVY
from ._schema import KEY as KEY
from ._snapshot import Snapshot as Snapshot
from ._store import PACKED_BYTES as PACKED_BYTES
from ._store import PACKED_FILES as PACKED_FILES
from ._store import Store as Store
from ._store import Summary as Summary
from ._thin import thinned as thinned
from ._writer import Writer as Writer
