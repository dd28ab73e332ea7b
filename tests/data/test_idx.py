import gzip
import hashlib
import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from tests.digits import idx

from arithmos.data import BadFile, _idx, read_idx

IMAGES = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
SOUND = idx(IMAGES)
ZIPPED = gzip.compress(SOUND, mtime=0)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("name", ["images", "images.gz"])
def test_reads_a_file_gzipped_or_not_whatever_its_name(tmp_path, name, pack):
    (tmp_path / name).write_bytes(pack(SOUND))
    read = read_idx(tmp_path / name, 3, sha256=hashlib.sha256(SOUND).hexdigest())
    assert_array_equal(read, IMAGES, strict=True)
    assert not read.flags.writeable


def header(zeros=0, kind=8, dimensions=3, sizes=(2, 3, 4)):
    return struct.pack(f">HBB{len(sizes)}I", zeros, kind, dimensions, *sizes)


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "is truncated: an IDX file has a header of 16 bytes, this has 0 in all"),
        (SOUND[:15], "is truncated: an IDX file has a header of 16 bytes, this has 15 in all"),
        (SOUND[:-1], "is truncated: its header says 2 × 3 × 4 = 24 bytes, and it has 23"),
        (SOUND + b"0", "is too long: its header says 2 × 3 × 4 = 24 bytes, and it has 25"),
        (header(sizes=[2**32 - 1] * 3), f"4294967295 = {(2**32 - 1) ** 3} bytes, and it has 0"),
        (
            header(zeros=1) + SOUND[16:],
            "is not an IDX file of 3 dimensions of bytes: its magic number is 67587, not 2051",
        ),
        (b"<!DOCTYPE html><html></html>", "its magic number is 1008813135, not 2051"),
        (header(kind=13) + SOUND[16:], "its values are of type 13, and 8 stands for bytes"),
        (idx(IMAGES[0]) + b"0000", "is not an IDX file of 3 dimensions of bytes: it has 2"),
        (ZIPPED[:-1], "is damaged: it does not unpack"),
        (ZIPPED[:20], "is damaged: it does not unpack"),
        (b"\x1f\x8b", "is damaged: it does not unpack"),
        (b"\x1f\x8b" + SOUND, "is damaged: it does not unpack"),
        (gzip.compress(SOUND[:-2], mtime=0), "is truncated: its header says 2 × 3 × 4 = 24 bytes, and it has 22"),
    ],
)
def test_a_bad_file_is_named_and_its_fault(tmp_path, data, fault):
    path = tmp_path / "images"
    path.write_bytes(data)
    with pytest.raises(BadFile) as raised:
        read_idx(path, 3)
    assert str(raised.value).startswith(str(path))
    assert fault in str(raised.value)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_no_more_is_read_than_may_be(tmp_path, monkeypatch, pack):
    (tmp_path / "images").write_bytes(pack(SOUND))
    monkeypatch.setattr(_idx, "MOST_BYTES", len(SOUND))
    assert read_idx(tmp_path / "images", 3).shape == (2, 3, 4)
    monkeypatch.setattr(_idx, "MOST_BYTES", len(SOUND) - 1)
    with pytest.raises(BadFile, match=f"images is too long: it has more than {len(SOUND) - 1} bytes"):
        read_idx(tmp_path / "images", 3)


def test_another_file_is_told_by_its_hash(tmp_path):
    (tmp_path / "images").write_bytes(SOUND[:-1] + b"0")
    right = hashlib.sha256(SOUND).hexdigest()
    with pytest.raises(BadFile, match=f"images is not the expected file: its SHA-256, unpacked, is .*, not {right}"):
        read_idx(tmp_path / "images", 3, sha256=right)


ACCIDENTS = st.tuples(
    st.integers(0, 60), st.integers(0, 4), st.one_of(st.binary(max_size=4), st.sampled_from([SOUND[:4], SOUND[4:8]]))
)
"""Somewhere some bytes are lost, and others come in their place."""


@settings(max_examples=2500, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(zipped=st.booleans(), accidents=st.lists(ACCIDENTS, max_size=2), known=st.booleans())
def test_a_mutated_file_is_read_rightly_or_refused_by_name(tmp_path, zipped, accidents, known):
    data = ZIPPED if zipped else SOUND
    for start, lost, come in accidents:
        data = data[:start] + come + data[start + lost :]
    path = tmp_path / "images"
    path.write_bytes(data)
    try:
        read = read_idx(path, 3, sha256=hashlib.sha256(SOUND).hexdigest() if known else None)
    except BadFile as error:
        assert str(path) in str(error)  # noqa: PT017 (either outcome is right)
    else:
        unpacked = gzip.decompress(data) if data[0] else data
        assert unpacked == idx(read)
        assert not known or unpacked == SOUND
