"""Steps with a loss, metrics and a loop of one's own."""

import numpy as np
import pytest

import spikelet
from spikelet import Step, graph


def regression(**options):
    net = spikelet.Sequential(spikelet.Linear(2, 16, bias=False), spikelet.Lif(), spikelet.Linear(16, 1, bias=False), input=(2,))

    def loss(inputs):
        y = net(inputs["x"]).mean(0)
        return graph.mse(y, inputs["y"]), {"r2": graph.r2(y, inputs["y"]), "mean": y.mean()}, {"y": y}

    step = Step(loss, {"x": Step.sequence(20, 2), "y": Step.input(1)}, batch_size=32, lr=1e-2, **options)
    return net, step


def batches(count, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        x = rng.random((20, 32, 2), dtype=np.float32) * 2
        yield x, x.mean(0).sum(1, keepdims=True)


def test_an_own_loss_is_learned_in_an_own_loop():
    net, step = regression()
    train = step.compile()
    epoch = [spikelet.EpochMetrics() for _ in range(2)]
    for k, (x, y) in enumerate(batches(200)):
        epoch[k >= 150].add(train.run(x=x, y=y))
    assert epoch[1]["loss"] < 0.2 * epoch[0]["loss"] and epoch[1]["r2"] > 0.3
    assert train.step == 200
    x, y = next(batches(1, 7))
    metrics, outputs = train.evaluate(x=x, y=y)
    np.testing.assert_allclose(outputs["y"], train.predict(x=x)["y"])
    assert metrics["loss"] == pytest.approx(np.mean((outputs["y"] - y) ** 2), rel=1e-4)
    train.update_networks()
    np.testing.assert_allclose(net(x).mean(0), outputs["y"], atol=1e-5)


def test_gradients_are_those_of_finite_differences():
    net = spikelet.Sequential(spikelet.Linear(3, 2, bias=False), input=(3,))
    step = Step(
        lambda inputs: graph.mse(net(inputs["x"]).sum(0).sigmoid(), inputs["y"]),
        {"x": Step.sequence(2, 3), "y": Step.input(2)},
        batch_size=4,
        optimizer="sgd",
        lr=0.0,
        read_gradients=["*"],
    )
    train = step.compile()
    rng = np.random.default_rng(1)
    x, y = rng.random((2, 4, 3), dtype=np.float32), rng.random((4, 2), dtype=np.float32)
    train.run(x=x, y=y)
    w = train.state_dict()["0.weight"].astype(np.float64)

    def loss(w):
        z = (x.astype(np.float64) @ w.T).sum(0)
        return np.mean((1 / (1 + np.exp(-z)) - y) ** 2)

    found = train.gradient("0.weight")
    for place in np.ndindex(*w.shape):
        d = np.zeros_like(w)
        d[place] = 1e-5
        assert found[place] == pytest.approx((loss(w + d) - loss(w - d)) / 2e-5, abs=1e-5)


def test_groups_have_their_own_settings():
    net, step = regression(groups=[{"parameters": "0.*", "frozen": True}])
    train = step.compile()
    assert train.trained == ["2.weight"]
    before = train.state_dict()
    x, y = next(batches(1))
    train.run(x=x, y=y)
    after = train.state_dict()
    np.testing.assert_array_equal(before["0.weight"], after["0.weight"])
    assert not np.array_equal(before["2.weight"], after["2.weight"])


def test_a_step_starts_from_the_weights_of_its_networks_and_resumes(tmp_path):
    net, step = regression()
    weights = {name: np.full_like(x, 0.1) for name, x in net.state_dict().items()}
    net.load_state_dict(weights)
    train = step.compile()
    np.testing.assert_array_equal(train.state_dict()["0.weight"], weights["0.weight"])
    data = list(batches(6))
    for x, y in data[:3]:
        train.run(x=x, y=y)
    train.save_state(tmp_path / "state.safetensors")
    rest = [train.run(x=x, y=y)["loss"] for x, y in data[3:]]
    other = step.compile()
    other.resume(tmp_path / "state.safetensors")
    assert [other.run(x=x, y=y)["loss"] for x, y in data[3:]] == rest


def test_several_networks_have_paths():
    first = spikelet.Sequential(spikelet.Linear(2, 4), spikelet.Lif(), input=(2,))
    second = spikelet.Sequential(spikelet.Linear(4, 3), input=(4,))

    def loss(inputs):
        scale = graph.parameter("scale", (3,), 1.0)
        scores = (second(first(inputs["x"], "trunk"), "head") * scale).mean(0)
        rate = graph.rate_target(graph.recorded("trunk.1.spike_seq"), 0.1)
        return graph.cross_entropy(scores, inputs["labels"]) + 0.1 * rate, {"top": graph.top_k(scores, inputs["labels"], 2)}

    train = Step(loss, {"x": Step.sequence(5, 2), "labels": Step.labels()}, batch_size=4).compile()
    assert set(train.parameters) == {"scale"} | {f"{part}.0.{name}" for part in ("trunk", "head") for name in ("weight", "bias")}
    found = train.run(x=np.ones((5, 4, 2)), labels=[0, 1, 2, 0])
    assert set(found) == {"loss", "top"}
    train.update_networks()
    np.testing.assert_array_equal(first.state_dict()["0.weight"], train.state_dict()["trunk.0.weight"])


def test_streams_carry_states():
    net = spikelet.Sequential(spikelet.Linear(1, 1, bias=False), spikelet.Lif(tau=2.0), input=(1,))
    net.load_state_dict({"0.weight": [[1.0]]})

    def loss(inputs):
        spikes = net(inputs["x"])
        return spikes.mean(), {}, {"s": spikes}

    step = Step(loss, {"x": Step.sequence(4, 1)}, batch_size=1, optimizer="sgd", lr=0.0)
    train = step.compile()
    x = np.array([0.6, 0.9, 2.0, 1.0], np.float32).reshape(4, 1, 1)
    together = train.predict(x=x)["s"]
    train.reset()
    steps = [train.stream(x=x[t : t + 1])["s"] for t in range(4)]
    np.testing.assert_array_equal(np.concatenate(steps), together)


def test_a_step_is_trained_by_the_trainer(tmp_path):
    net, step = regression()
    parts = list(batches(20))
    x, y = np.concatenate([x for x, _ in parts], 1), np.concatenate([y for _, y in parts])
    report = step.fit(
        {"x": x[:, :512], "y": y[:512]},
        epochs=15,
        validation={"x": x[:, 512:], "y": y[512:]},
        monitor="r2",
        folder=tmp_path / "run",
        progress=False,
    )
    assert report.best is not None and report.best["validation_r2"] > 0.3
    assert report["train_loss"][-1] < 0.3 * report["train_loss"][0]
    assert (tmp_path / "run" / "last.safetensors").exists()
    predicted = net(x[:, 512:]).mean(0)
    assert np.mean((predicted - y[512:]) ** 2) == pytest.approx(report.last["validation_loss"], rel=1e-3)
    with pytest.raises(ValueError, match=r"\[640, 20, 2\] was given\n.*\[20, N, 2\], time first: `x.swapaxes\(0, 1\)`"):
        step.fit({"x": x.swapaxes(0, 1), "y": y}, epochs=1)


def test_arithmetic_of_traced_values_is_that_of_numpy():
    def results(x, np_like):
        where, stack, concat = np_like
        return {
            "half": 0.5 * x + 1 - x / 2,
            "power": x**2 - 1.0 / (x + 2),
            "where": where(x > 0.5, x, -x),
            "slice": x[:, 1:3],
            "row": x[0],
            "last": x[..., -1],
            "stack": stack([x, x], 1),
            "concat": concat([x, x], 0),
            "numpy": np.float32(2) * x,
            "reshape": x.reshape(-1, 2),
            "mean": x.mean(1),
            "max": x.max(-1),
        }

    shapes = {}

    def loss(inputs):
        x = inputs["x"]
        found = results(x, (graph.where, graph.stack, graph.concat))
        shapes.update({name: value.shape for name, value in found.items()})
        return (x * graph.parameter("w", (4,), 1.0)).sum(), {}, found

    step = Step(loss, {"x": Step.input(4)}, batch_size=3, optimizer={"name": "sgd", "lr": 0.0})
    train = step.compile()
    x = np.random.default_rng(0).random((3, 4), dtype=np.float32)
    expected = results(x, (np.where, np.stack, np.concatenate))
    outputs = train.predict(x=x)
    for name, value in expected.items():
        assert shapes[name] == value.shape
        np.testing.assert_allclose(outputs[name], value, rtol=1e-6, err_msg=name)


def test_errors_of_the_function_are_those_of_python():
    def step(function):
        return Step(function, {"x": Step.input(4)}, batch_size=2)

    with pytest.raises(ZeroDivisionError):
        step(lambda i: 1 / 0).compile()
    with pytest.raises(KeyError, match="y"):
        step(lambda i: i["y"]).compile()
    with pytest.raises(TypeError, match="where"):
        step(lambda i: i["x"] if i["x"] > 0 else i["x"]).compile()
    with pytest.raises(TypeError, match="loss is float"):
        step(lambda i: 1.0).compile()
    with pytest.raises(ValueError, match="(?i)shape|axes|size"):
        step(lambda i: (i["x"] + i["x"].reshape(4, 2)).sum()).compile()


def test_the_first_axis_is_time_where_both_have_the_same_length():
    net = spikelet.Sequential(spikelet.Lif(tau=2.0), input=(1,))
    first = lambda inputs: net(inputs["x"])[0].mean() * graph.parameter("w", (), 1.0)  # noqa: E731
    step = Step(first, {"x": Step.sequence(5, 1)}, batch_size=5, lr=0.0)
    x = np.zeros((5, 5, 1))
    x[0] = 3.0  # all samples fire at the first step
    train = step.compile()
    assert train.run(x=x)["loss"] == 1.0 and train.run(x=x.swapaxes(0, 1))["loss"] == pytest.approx(0.2)
    assert step.fit({"x": x}, epochs=1, progress=False)["train_loss"] == [1.0]
    assert step.fit({"x": x.swapaxes(0, 1)}, epochs=1, progress=False)["train_loss"] == [pytest.approx(0.2)]


def test_batches_have_any_number_of_samples():
    _, step = regression()
    train = step.compile()
    x, y = next(batches(1))
    # Losses and outputs are those of a step of this size.
    small = Step(step._function, step._inputs, batch_size=20).compile()
    assert train.run(x=x[:, :20], y=y[:20]) == small.run(x=x[:, :20], y=y[:20])
    assert train.predict(x=x[:, :7])["y"].shape == (7, 1)
    assert train.evaluate(x=x[:, :1], y=y[:1])[1]["y"].shape == (1, 1)
    for n in (1, 2, 3, 4, 5, 32, 40):
        before = train.step
        train.run(x=x[:, :n], y=y[:n]) if n <= 32 else train.run(x=np.repeat(x, 2, 1)[:, :n], y=np.repeat(y, 2, 0)[:n])
        assert train.step == before + 1
    with pytest.raises(ValueError, match="x has 5, y has 4"):
        train.run(x=x[:, :5], y=y[:4])
    with pytest.raises(ValueError, match="no samples"):
        train.run(x=x[:, :0], y=y[:0])
    carried = regression(carry_states=True)[1].compile()
    with pytest.raises(ValueError, match="5 samples were given, the states of 32 are carried"):
        carried.run(x=x[:, :5], y=y[:5])


def test_updates_of_several_batch_sizes_are_those_of_one_optimizer(tmp_path):
    """Two batches of a sample and two of its copy: equal gradients, and so equal weights."""
    _, step = regression()
    x, y = next(batches(1))
    one, several = step.compile(), step.compile()
    for k in range(6):
        one.run(x=np.repeat(x[:, :1], 32, 1), y=np.repeat(y[:1], 32, 0))
        n = (32, 8)[k % 2]
        several.run(x=np.repeat(x[:, :1], n, 1), y=np.repeat(y[:1], n, 0))
    for name, weight in one.state_dict().items():
        np.testing.assert_allclose(several.state_dict()[name], weight, rtol=1e-4, atol=1e-6)
    several.save_state(tmp_path / "state.safetensors")
    resumed = step.compile()
    resumed.resume(tmp_path / "state.safetensors")
    assert resumed.step == several.step == 6
    assert resumed.run(x=x, y=y) == several.run(x=x, y=y)


def test_values_that_are_not_finite_change_no_weight():
    net = spikelet.Sequential(spikelet.Linear(4, 8), spikelet.Lif(), spikelet.Linear(8, 3), input=(4,))

    def loss(inputs):
        return graph.cross_entropy(net(inputs["x"]).mean(0), inputs["labels"])

    step = Step(loss, {"x": Step.sequence(3, 4), "labels": Step.labels()}, batch_size=2)
    train = step.compile()
    x, labels = np.ones((3, 2, 4), np.float32), [0, 1]
    train.run(x=x, labels=labels)
    before = train.state_dict()
    x[0, 0, 0] = np.nan
    with pytest.raises(FloatingPointError, match="gradient is not finite; no parameter was updated\n.*`x` has values"):
        train.run(x=x, labels=labels)
    for name, weight in train.state_dict().items():
        np.testing.assert_array_equal(weight, before[name])
    with pytest.raises(FloatingPointError):
        step.fit({"x": x, "labels": np.array(labels)}, epochs=1, progress=False)
    x[0, 0, 0] = 1.0
    assert np.isfinite(train.run(x=x, labels=labels)["loss"])


def test_metrics_that_are_not_finite_stay_so():
    _, step = regression()

    def loss(inputs):
        value, _, _ = step._function(inputs)
        return value, {"nan": graph.mean(inputs["y"] * 0.0 / 0.0), "inf": (inputs["y"] * 0.0 + 1.0).mean() / 0.0}

    other = Step(loss, step._inputs, batch_size=32, lr=1e-2)
    train, epoch = other.compile(), spikelet.EpochMetrics()
    x, y = next(batches(1))
    found = train.run(x=x, y=y)
    assert np.isnan(found["nan"]) and found["inf"] == np.inf and np.isfinite(found["loss"])
    epoch.add(found)
    epoch.add(train.run(x=x[:, :8], y=y[:8]), samples=8)
    assert np.isnan(epoch["nan"]) and np.isfinite(epoch["loss"])
    assert np.isnan(train.evaluate(x=x, y=y)[0]["nan"])
    seen = []
    report = other.fit({"x": x, "y": y}, epochs=1, progress=False, on_epoch=lambda record: seen.append(record["train_nan"]))
    assert np.isnan(report["train_nan"][0]) and np.isnan(seen[0]) and "train nan nan" in repr(report)
    assert report.last["test_loss"] is None


def test_means_count_batches_by_their_samples():
    found = spikelet.EpochMetrics()
    found.add({"loss": 1.0}, samples=3)
    found.add({"loss": 5.0}, samples=1)
    assert found["loss"] == 2.0


def test_elementwise_functions_are_those_of_numpy():
    names = ["log", "log1p", "expm1", "exp", "sqrt", "tanh", "sin", "cos", "square", "reciprocal", "abs", "sign", "floor"]

    def loss(inputs):
        x = inputs["x"]
        found = {name: getattr(x, name)() for name in names}
        found.update(leaky_relu=(-x).leaky_relu(0.1), elu=(-x).elu(), hard_tanh=(x * 3).hard_tanh(), lse=x.logsumexp(-1),
                     both=(x > 0.5).logical_and(x > 0.7), one=(x > 0.5).logical_or(x > 0.7),
                     either=(x > 0.5).logical_xor(x > 0.7))  # fmt: skip
        return (x * graph.parameter("w", (4,), 1.0)).sum(), {}, found

    train = Step(loss, {"x": Step.input(4)}, batch_size=3, lr=0.0).compile()
    x = np.random.default_rng(0).random((3, 4), dtype=np.float32)
    found = train.predict(x=x)
    expected = {name: getattr(np, name)(x) for name in names}
    expected.update(leaky_relu=-0.1 * x, elu=np.expm1(-x), hard_tanh=np.minimum(3 * x, 1), lse=np.log(np.exp(x).sum(-1)),
                    both=x > 0.7, one=x > 0.5, either=(x > 0.5) & (x <= 0.7))  # fmt: skip
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6, err_msg=name)

    def wrong(inputs):
        assert not hasattr(inputs["x"], "nothing")
        return inputs["x"].sigmod()

    with pytest.raises(AttributeError, match="there is no `sigmod`\n  help: did you mean `sigmoid`\\? it has abs, .*log_softmax"):
        Step(wrong, {"x": Step.input(4)}, batch_size=3).compile()


def test_steps_are_not_copied():
    import pickle

    with pytest.raises(TypeError, match="`save_state` keeps its state"):
        pickle.dumps(regression()[1].compile())


def lengths_step(batch_size=4):
    net = spikelet.Sequential(
        spikelet.Linear(2, 8), spikelet.BatchNorm1d(lengths=True), spikelet.Lif(), spikelet.Linear(8, 3), input=(2,)
    )

    def loss(inputs):
        scores = graph.sequence_mean(net(inputs["x"]), inputs["x_length"])
        found = graph.cross_entropy(scores, inputs["labels"])
        return found, {"accuracy": graph.accuracy(scores, inputs["labels"])}, {"scores": scores}

    inputs = {"x": spikelet.Step.sequence(12, 2, lengths=True), "labels": spikelet.Step.labels()}
    return net, spikelet.Step(loss, inputs, batch_size=batch_size, lr=1e-2)


def test_sequences_have_different_lengths():
    random = np.random.default_rng(0)
    sequences = [random.random((steps, 2)) for steps in (12, 3, 7, 1)]
    net, step = lengths_step()
    train = step.compile()
    train.run(x=sequences, labels=[0, 1, 2, 0])
    outputs = train.predict(x=sequences)["scores"]
    # The padding, and how it is filled, changes nothing.
    batch = np.full((12, 4, 2), 9.0, dtype=np.float32)
    for k, sequence in enumerate(sequences):
        batch[: len(sequence), k] = sequence
    given = train.predict(x=batch, x_length=[12, 3, 7, 1])["scores"]
    np.testing.assert_array_equal(outputs, given)
    mask = graph_of(lambda inputs: graph.sequence_mask(inputs["n"], 5))
    np.testing.assert_array_equal(mask, [[1, 1, 1], [0, 1, 1], [0, 0, 1], [0, 0, 1], [0, 0, 0]])


def graph_of(function):
    def loss(inputs):
        value = function(inputs)
        return value.sum() * graph.parameter("w", (), 1.0), {}, {"value": value}

    train = spikelet.Step(loss, {"n": spikelet.Step.input(dtype="i64")}, batch_size=3).compile()
    return train.predict(n=[1, 2, 4])["value"]


def test_the_trainer_takes_sequences_of_different_lengths():
    random = np.random.default_rng(1)
    labels = [k % 3 for k in range(48)]
    sequences = [random.random((2 + k % 11, 2)) + 2 * np.eye(3)[k % 3, :2] for k in range(48)]
    net, step = lengths_step(batch_size=8)
    report = step.fit({"x": sequences, "labels": labels}, epochs=12, validation={"x": sequences, "labels": labels}, progress=False)
    assert report["train_loss"][-1] < report["train_loss"][0]
    assert report["validation_accuracy"][-1] > 0.6


def test_a_sequence_that_is_too_long_is_refused():
    train = lengths_step()[1].compile()
    with pytest.raises(ValueError, match=r"sequence 1 has the shape \[13, 2\]\n  help: give \[T, 2\] with at most 12"):
        train.run(x=[np.ones((4, 2)), np.ones((13, 2))], labels=[0, 1])


def test_the_width_of_delays_shrinks_over_training():
    x = np.random.default_rng(0).random((9, 8, 2))
    data = {"x": x, "labels": [0, 1, 2, 0, 1, 2, 0, 1]}
    inputs = {"x": spikelet.Step.sequence(9, 2), "labels": spikelet.Step.labels()}

    def losses(**options):
        net = spikelet.Sequential(spikelet.Dcls1d(2, 3, kernel_size=5, width=2.0), input=(2,))
        step = spikelet.Step(lambda inputs: graph.cross_entropy(net(inputs["x"]).mean(0), inputs["labels"]), inputs, batch_size=4)
        return list(step.fit(data, epochs=3, progress=False, **options)["train_loss"])

    constant = losses(delay_width={"start": 2.0, "end": 2.0, "epochs": 2})
    shrunk = losses(delay_width={"start": 2.0, "end": 0.5, "epochs": 2})
    assert constant == losses()
    # The first epoch has the width of the start.
    assert shrunk[0] == constant[0] and shrunk[1] != constant[1] and shrunk[2] != constant[2]
    with pytest.raises(Exception, match="start"):
        losses(delay_width={"start": -2.0, "end": 0.5, "epochs": 2})
