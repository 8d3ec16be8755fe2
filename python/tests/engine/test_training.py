"""Training on arrays, on data sets, and its end."""

import _thread
import threading
import time

import numpy as np
import pytest

import spikelet


@pytest.fixture(scope="module")
def digits():
    return spikelet.data.load("synthetic", train=2000, test=500)


def network():
    return spikelet.Sequential(
        spikelet.Flatten(),
        spikelet.Linear(784, 64),
        spikelet.Lif(tau=2.0),
        spikelet.Linear(64, 10),
        spikelet.Lif(tau=2.0),
        input=(1, 28, 28),
    )


def test_digits_in_arrays_are_learned_in_seconds(digits):
    x, y = digits.train.arrays()
    test = digits.test.arrays()
    net = network()
    trainer = spikelet.Trainer(net, epochs=8, batch_size=50, time_steps=8, lr=5e-3, progress=False)
    report = trainer.fit(x, y, test=test)
    assert len(report) == 8 and report["epoch"] == list(range(1, 9)) and report.seconds < 30
    assert report.test_accuracy > 0.85
    assert net.evaluate(*test)["accuracy"] == pytest.approx(report.test_accuracy)
    scores = net.predict(test[0])
    assert np.mean(scores.argmax(1) == test[1]) == pytest.approx(report.test_accuracy)


def test_arrays_and_data_sets_give_the_same_training(digits):
    settings = dict(epochs=1, batch_size=100, time_steps=4, progress=False)
    nets = [network(), network()]
    first = spikelet.Trainer(nets[0], **settings).fit(*digits.train.arrays())
    second = spikelet.Trainer(nets[1], **settings).fit(digits.train)
    assert first["train_loss"] == second["train_loss"]
    for name, weight in nets[0].state_dict().items():
        np.testing.assert_array_equal(weight, nets[1].state_dict()[name])


def test_float_images_train_as_bytes_do(digits):
    x, y = digits.train.arrays()
    settings = dict(epochs=1, batch_size=100, time_steps=4, progress=False)
    as_bytes = spikelet.Trainer(network(), **settings).fit(x, y)
    as_floats = spikelet.Trainer(network(), **settings).fit(x.astype(np.float32) / np.float32(255), y)
    assert as_bytes["train_loss"] == pytest.approx(as_floats["train_loss"], rel=1e-3)


def test_training_continues_from_the_weights_of_the_network(digits):
    net = network()
    settings = dict(epochs=1, batch_size=100, time_steps=4, progress=False)
    losses = [spikelet.Trainer(net, **settings).fit(digits.train)["train_loss"][0] for _ in range(3)]
    assert losses[2] < losses[1] < losses[0]


def test_validation_selects_the_best_epoch(digits):
    net = network()
    x, y = digits.train.arrays()
    trainer = spikelet.Trainer(net, epochs=3, batch_size=100, time_steps=4, restore_best=True, progress=False)
    report = trainer.fit(x, y, validation=0.2)
    assert report.best is not None and report.best["validation_accuracy"] == max(report["validation_accuracy"])


def test_a_folder_has_checkpoints_and_a_report(digits, tmp_path):
    net = network()
    folder = tmp_path / "run"
    trainer = spikelet.Trainer(net, epochs=1, batch_size=100, time_steps=4, folder=folder, progress=False)
    report = trainer.fit(digits)
    assert (folder / "report.html").exists() and report.folder == str(folder)
    loaded = spikelet.load(folder / "last.safetensors")
    assert loaded.settings["training"]["time_steps"] == 4
    np.testing.assert_array_equal(loaded.state_dict()["1.weight"], net.state_dict()["1.weight"])


def test_sequences_are_classified():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    x = rng.random((10, 200, 4), dtype=np.float32) + y[:, None]
    net = spikelet.Sequential(spikelet.Linear(4, 16), spikelet.Lif(), spikelet.Linear(16, 2), input=(4,))
    report = spikelet.Trainer(net, epochs=8, batch_size=20, lr=1e-2, progress=False).fit(x, y, validation=(x, y))
    assert report.last["validation_accuracy"] > 0.95
    assert net.predict(x).shape == (200, 2)


def test_layers_are_monitored(digits):
    trainer = spikelet.Trainer(network(), epochs=1, batch_size=100, time_steps=4, monitor_layers=["rate=*"], progress=False)
    report = trainer.fit(digits)
    rate = trainer.net.record(digits.test.arrays()[0], values="spikes").spikes["2"].mean()
    assert report.last["test_2.rate"] == pytest.approx(rate, rel=0.1) and rate > 0.001


def test_a_function_is_called_after_each_epoch_and_can_end_the_run(digits):
    seen = []
    trainer = spikelet.Trainer(network(), epochs=5, batch_size=100, time_steps=2, progress=False)
    report = trainer.fit(digits.train, on_epoch=lambda record: seen.append(record["epoch"]) or record["epoch"] == 2)
    assert seen == [1, 2] and len(report) == 2 and report.stopped_early


def test_an_error_of_a_function_ends_the_run(digits):
    def fail(record):
        raise LookupError("enough")

    trainer = spikelet.Trainer(network(), epochs=5, batch_size=100, time_steps=2, progress=False)
    with pytest.raises(LookupError, match="enough"):
        trainer.fit(digits.train, on_epoch=fail)


def test_ctrl_c_ends_a_run_and_keeps_what_was_learned(digits):
    net = network()
    before = net.state_dict()["1.weight"]
    timer = threading.Timer(1.0, _thread.interrupt_main)
    timer.start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        spikelet.Trainer(net, epochs=10_000, batch_size=50, time_steps=4, progress=False).fit(digits.train)
    assert time.monotonic() - started < 20
    assert not np.array_equal(before, net.state_dict()["1.weight"])


def test_other_threads_run_during_a_training(digits):
    # One epoch: between epochs Python runs, and any thread could take its turn there. The epoch lasts
    # many times the pause of the other thread, on a fast machine too.
    ticks = 0
    stop = threading.Event()

    def tick():
        nonlocal ticks
        while not stop.wait(0.005):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    spikelet.Trainer(network(), epochs=1, batch_size=10, time_steps=64, progress=False).fit(digits.train)
    stop.set()
    thread.join()
    assert ticks > 5


def test_progress_is_a_line_for_each_epoch(digits, capsys):
    spikelet.Trainer(network(), epochs=2, batch_size=100, time_steps=2).fit(digits.train)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and lines[0].startswith("epoch 1/2  loss ")


def test_an_experiment_runs_as_on_the_command_line(tmp_path):
    text = """
        [data]
        dataset = "synthetic"
        train_images = 600
        test_images = 100
        [network]
        name = "mnist-fc"
        [training]
        epochs = 3
        time_steps = 4
        batch_size = 50
    """
    experiment = spikelet.Experiment.from_text(text)
    assert experiment.get("training.epochs") == 3
    changed = experiment.set("training.epochs", 1).set("network.hidden", 32)
    assert experiment.get("training.epochs") == 3 and changed.get("network.hidden") == 32
    report = changed.run(tmp_path / "run", device="cpu", progress=False)
    assert len(report) == 1 and (tmp_path / "run" / "experiment.toml").exists()
    again = spikelet.Experiment.load(tmp_path / "run" / "experiment.toml")
    assert again.get("network.hidden") == 32
    assert changed.network.state_dict()["fc.1.weight"].shape == (32, 784)


def test_groups_of_parameters_have_their_own_settings(digits):
    net = network()
    before = net.state_dict()
    own = {"lr": 1e-2, "optimizer": "sgd", "constants": {"momentum": 0.5}}
    groups = [{"parameters": "3.*", "frozen": True}, {"parameters": "1.*", **own}]
    trainer = spikelet.Trainer(net, epochs=1, batch_size=100, time_steps=4, groups=groups, progress=False)
    trainer.fit(digits.train)
    after = net.state_dict()
    np.testing.assert_array_equal(before["3.weight"], after["3.weight"])
    assert not np.array_equal(before["1.weight"], after["1.weight"])
    assert net.settings["optimizer"]["groups"][1]["lr"] == 1e-2
