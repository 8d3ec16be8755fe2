"""Files of events, frames, transforms."""

import numpy as np
import pytest

import spikelet
from spikelet import events


@pytest.fixture
def recording():
    rng = np.random.default_rng(0)
    n = 1000
    return events.make(
        t=np.sort(rng.integers(0, 100_000, n)), x=rng.integers(0, 34, n), y=rng.integers(0, 30, n), p=rng.integers(0, 2, n)
    )


@pytest.mark.parametrize("format", events.formats(writable=True))
def test_what_is_written_is_read(recording, format, tmp_path):
    path = tmp_path / ("recording." + {"npz": "npz", "npy": "npy", "csv": "csv", "mat": "mat"}.get(format, "bin"))
    events.write(path, recording, format, sensor=(34, 34))
    found = events.read(path, format=format)
    assert found.format == format and len(found) == len(recording)
    for name in ("t", "x", "y", "p"):
        np.testing.assert_array_equal(found.events[name], recording[name], err_msg=name)
    np.testing.assert_array_equal(found.t, recording["t"])
    # It is used as its array.
    np.testing.assert_array_equal(np.asarray(found), found.events)
    np.testing.assert_array_equal(found["t"], recording["t"])
    assert found[:3].tolist() == found.events[:3].tolist() and len(list(found)) == len(recording)
    assert repr(found).startswith(f"<Recording of 1,000 events, {format}")
    assert np.array(found, copy=True) is not found.events
    frames = [events.frames(one, steps=2, sensor=(34, 34)) for one in (np.asarray(found), found)]
    np.testing.assert_array_equal(*frames)


def test_large_files_are_read_in_blocks(recording, tmp_path):
    path = tmp_path / "recording.bin"
    with events.Writer(path, "atis5", sensor=(34, 34)) as writer:
        for start in range(0, 1000, 100):
            writer.write(recording[start : start + 100])
    reader = events.open(path, block=300)
    blocks = list(reader)
    assert sum(map(len, blocks)) == 1000 and reader.format == "atis5"
    np.testing.assert_array_equal(np.concatenate(blocks), recording)


def test_a_file_that_is_not_complete_does_not_appear(recording, tmp_path):
    path = tmp_path / "recording.bin"
    with pytest.raises(LookupError):
        with events.Writer(path, "atis5", sensor=(34, 34)) as writer:
            writer.write(recording)
            raise LookupError
    assert not path.exists()


def test_frames_are_counts(recording):
    frames = events.frames(recording, steps=10, by="number", sensor=(34, 30))
    assert frames.shape == (10, 2, 30, 34) and frames.sum() == 1000
    assert np.all(frames.sum(axis=(1, 2, 3)) == 100)
    on = np.zeros((30, 34))
    np.add.at(on, (recording["y"][recording["p"]], recording["x"][recording["p"]]), 1)
    np.testing.assert_array_equal(frames[:, 1].sum(0), on)
    assert events.frames(recording, duration=10_000, sensor=(34, 30)).shape[1:] == (2, 30, 34)
    assert events.frames(recording, steps=4, sensor=(34, 30), size=(15, 17)).shape == (4, 2, 15, 17)
    assert events.frames(recording, "voxel-grid=5", sensor=(34, 30)).shape[0] == 5


def test_structured_arrays_of_other_libraries_are_taken(recording):
    tonic = np.zeros(len(recording), dtype=[("x", np.int16), ("y", np.int16), ("t", np.int64), ("p", bool)])
    for name in ("t", "x", "y", "p"):
        tonic[name] = recording[name]
    np.testing.assert_array_equal(
        events.frames(tonic, steps=5, sensor=(34, 30)), events.frames(recording, steps=5, sensor=(34, 30))
    )


def test_transforms_are_those_of_tonic(recording):
    flipped = events.transform(recording, "flip-x=1", sensor=(34, 30))
    np.testing.assert_array_equal(flipped["x"], 33 - recording["x"])
    jitter = [events.transform(recording, "drop-events=0.5", sensor=(34, 30), seed=seed) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(jitter[0], jitter[1])
    assert len(jitter[0]) != len(recording) and not np.array_equal(jitter[0], jitter[2])


def test_recordings_of_a_folder_are_a_data_set(recording, tmp_path):
    import pickle

    for label, name in enumerate(("left", "right")):
        (tmp_path / name).mkdir()
        for k in range(3):
            events.write(tmp_path / name / f"{k}.bin", recording[label * 10 :], "atis5", sensor=(34, 34))
    found = events.recordings("folder", tmp_path, sensor=(34, 34))
    assert len(found) == 6 and found.classes == ["left", "right"]
    assert [found[k][1] for k in range(6)] == [0, 0, 0, 1, 1, 1]
    np.testing.assert_array_equal(found[-1][0], recording[10:])
    copy = pickle.loads(pickle.dumps(found))
    copy.transform = len
    assert copy[0][0] == 1000
    with pytest.raises(ValueError, match="did you mean `n-mnist`"):
        events.recordings("n-mnits", tmp_path)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda e, p: events.read(p / "missing.aedat4"), FileNotFoundError, "missing.aedat4"),
        (lambda e, p: events.frames(e, steps=0, sensor=(34, 34)), ValueError, None),
        (lambda e, p: events.frames(e), ValueError, "steps"),
        (lambda e, p: events.frames(e, "numbers=3", sensor=(34, 34)), ValueError, "numbers"),
        (lambda e, p: events.frames(e, steps=3, sensor=(10, 10)), ValueError, "10"),
        (lambda e, p: events.frames(np.zeros(3), steps=3), TypeError, "structured"),
        (lambda e, p: events.write(p / "x", e, "aedat5", sensor=(34, 34)), ValueError, "aedat5"),
        (lambda e, p: events.transform(e, "flip-z"), ValueError, "flip-z"),
        (lambda e, p: events.make(t=[1, 2], x=[1]), ValueError, "column"),
        (lambda e, p: events.make(t=[1], x=[-1]), ValueError, "65535"),
    ],
)
def test_wrong_calls_say_what_is_wrong(recording, tmp_path, call, kind, message):
    with pytest.raises(kind, match=message):
        call(recording, tmp_path)


def test_a_damaged_file_is_an_error(tmp_path):
    path = tmp_path / "damaged.aedat4"
    path.write_bytes(b"#!AER-DAT4.0\r\n" + bytes(range(200)))
    with pytest.raises((ValueError, OSError), match="damaged"):
        events.read(path)
    assert issubclass(spikelet.events.Reader, object)
