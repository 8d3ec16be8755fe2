"""Data sets: samples by index, in other processes, in a DataLoader."""

import multiprocessing
import pickle

import numpy as np
import pytest

import spikelet
from spikelet import data


@pytest.fixture(scope="module")
def digits():
    return data.load("synthetic", train=100, test=20)


def test_samples_are_pairs_of_an_array_and_a_class(digits):
    x, y = digits.train[3]
    assert x.shape == (1, 28, 28) and x.dtype == np.uint8 and 0 <= y < 10
    assert digits.train[-1][1] == digits.train[99][1]
    assert [len(part) for part in digits] == [100, 20]
    with pytest.raises(IndexError, match="100 samples"):
        digits.train[100]
    xs, ys = digits.test.arrays()
    assert xs.shape == (20, 1, 28, 28) and ys.shape == (20,)
    assert len(list(digits.test)) == 20


def test_subsets_and_transforms(digits):
    part = digits.train.subset([5, 7, 9])
    np.testing.assert_array_equal(part[1][0], digits.train[7][0])
    assert part.subset([2])[0][1] == digits.train[9][1]
    part.transform = lambda x: x.astype(np.float32) / 255
    assert part[0][0].dtype == np.float32
    with pytest.raises(ValueError):
        digits.train.subset([1000])


def read(dataset, index):
    return dataset[index][0].sum(), dataset[index][1]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_data_sets_are_read_in_other_processes(digits, method):
    expected = [read(digits.train, index) for index in range(4)]
    context = multiprocessing.get_context(method)
    with context.Pool(2) as pool:
        found = pool.starmap(read, [(digits.train, index) for index in range(4)])
    assert found == expected


def load_digits(_):
    return read(data.load("synthetic").train, 3)


def test_data_sets_are_loaded_again_in_a_forked_process():
    expected = load_digits(None)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(load_digits, (None,)).get(60) == expected


def test_data_sets_are_pickled_with_what_they_need(digits):
    copy = pickle.loads(pickle.dumps(digits.train.subset([1, 2])))
    np.testing.assert_array_equal(copy[1][0], digits.train[2][0])
    arrays = data.ArrayDataset(np.arange(12.0).reshape(3, 2, 2), [0, 1, 2])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(arrays))[2][0], arrays[2][0])


def test_sequences_have_a_time_axis():
    split = data.load("synthetic-gestures", frames="number=4") if "synthetic-gestures" in data.names() else None
    if split is None:
        pytest.skip("no generated recordings")
    x, y = split.train[0]
    assert x.ndim == 4 and x.shape[0] == 4 and isinstance(y, int)


def test_the_loader_of_torch_takes_a_data_set(digits):
    torch = pytest.importorskip("torch")
    from torch.utils.data import DataLoader

    loader = DataLoader(digits.train, batch_size=20, num_workers=2)
    batches = list(loader)
    assert len(batches) == 5 and batches[0][0].shape == (20, 1, 28, 28)
    expected = torch.from_numpy(digits.train.arrays()[0])
    assert torch.equal(torch.cat([x for x, _ in batches]), expected)


def test_tensors_of_torch_are_samples(digits):
    torch = pytest.importorskip("torch")
    net = spikelet.Sequential(spikelet.Flatten(), spikelet.Linear(784, 10), spikelet.Lif())
    x, y = digits.train.arrays()
    settings = dict(epochs=1, batch_size=50, time_steps=2, progress=False)
    report = spikelet.Trainer(net, **settings).fit(torch.from_numpy(x), torch.from_numpy(y))
    assert len(report) == 1
    probabilities = torch.rand(3, 1, 28, 28, requires_grad=True)
    np.testing.assert_array_equal(net.predict(probabilities), net.predict(probabilities.detach().numpy()))
    assert net(torch.ones(2, 3, 1, 28, 28, dtype=torch.bfloat16)).shape == (2, 3, 10)


def test_packs_are_written_where_they_are_asked_for(tmp_path):
    recording = spikelet.events.make(t=range(0, 1000, 10), x=[3] * 100, y=[7] * 100, p=[1] * 100)
    for part in ("Train", "Test"):
        for label in range(2):
            (tmp_path / "n-mnist" / part / str(label)).mkdir(parents=True)
            spikelet.events.write(tmp_path / "n-mnist" / part / str(label) / "00001.bin", recording, "atis5", sensor=(34, 34))
    read = data.load("n-mnist", tmp_path, frames="number=4")
    x, y = read.train.arrays()
    assert x.shape == (4, 2, 2, 34, 34) and [path.name for path in tmp_path.iterdir()] == ["n-mnist"]
    packed = data.load("n-mnist", tmp_path, frames="number=4", pack=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["n-mnist", "n-mnist.events"]
    np.testing.assert_array_equal(packed.train.arrays()[0], x)
