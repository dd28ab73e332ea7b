"""Store of runs on disk: append, find missing runs, load, merge, pack, thin."""

from .._extras import needs

with needs("bench"):
    from ._part import NewerError as NewerError
    from ._schema import COLUMNS as COLUMNS
    from ._schema import HEAVY as HEAVY
    from ._schema import KEY as KEY
    from ._schema import PREFIXES as PREFIXES
    from ._schema import entries as entries
    from ._schema import frame_of as frame_of
    from ._snapshot import Snapshot as Snapshot
    from ._store import PACKED_BYTES as PACKED_BYTES
    from ._store import PACKED_FILES as PACKED_FILES
    from ._store import Store as Store
    from ._store import Summary as Summary
    from ._writer import Writer as Writer
