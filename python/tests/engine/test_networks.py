"""Networks: their definition, their weights, runs."""

import copy
import inspect
import pickle
import pydoc

import numpy as np
import pytest

import spikelet
from spikelet import layer, neuron, surrogate


def small(**options):
    return spikelet.Sequential(
        spikelet.Flatten(),
        spikelet.Linear(16, 8, bias=False),
        spikelet.Lif(tau=2.0),
        spikelet.Linear(8, 3, bias=False),
        input=(1, 4, 4),
        **options,
    )


@pytest.mark.parametrize("name", neuron.__all__)
def test_every_neuron_with_its_defaults_is_one_of_the_engine(name):
    kind = getattr(neuron, name)
    # Parallel neurons know the number of their time steps.
    made = kind(time_steps=4) if "time_steps" in inspect.signature(kind).parameters else kind()
    net = spikelet.Sequential(made, input=(3,))
    assert net.spec()["layers"] == [{"neuron": made.spec()}]
    assert net(np.ones((4, 2, 3))).shape == (4, 2, 3)


@pytest.mark.parametrize("name", sorted({*surrogate.__all__} - {"Scaled", "Surrogate"}))
def test_every_surrogate_is_one_of_the_engine(name):
    kind = getattr(surrogate, name)
    required = {key: 4 for key, argument in inspect.signature(kind).parameters.items() if argument.default is None}
    net = spikelet.Sequential(spikelet.Lif(surrogate=kind(**required)), input=(3,))
    assert net(np.ones((4, 2, 3))).shape == (4, 2, 3)


def test_parts_print_their_options_and_are_compared_by_them():
    lif = spikelet.Lif(tau=4.0, v_reset=None)
    assert repr(lif) == "Lif(tau=4.0, v_reset=None)"
    assert lif == spikelet.Lif(4.0, v_reset=None) and lif != spikelet.Lif(4.0)
    assert lif.spec() == {"name": "lif", "tau": 4.0, "v_reset": "none"}
    assert pickle.loads(pickle.dumps(lif)) == lif
    assert repr(spikelet.Linear(784, 196, bias=False)) == "Linear(784, 196, bias=False)"


def test_sizes_of_layers():
    for made in (spikelet.Linear(out_features=196), eval(repr(spikelet.Linear(out_features=196)), {"Linear": spikelet.Linear})):
        assert (made.in_features, made.out_features) == (None, 196) and repr(made) == "Linear(out_features=196)"
        assert made.spec() == {"linear": 196} and pickle.loads(pickle.dumps(made)) == made
    conv = spikelet.Conv2d(2, 8, 3, padding=1)
    assert (conv.in_channels, conv.out_channels, repr(conv)) == (2, 8, "Conv2d(2, 8, 3, padding=1)")
    assert spikelet.Conv2d(out_channels=8, kernel=3).spec() == {"conv": 8, "kernel": [3, 3]}
    assert spikelet.MaxPool1d(2).spec() == {"max-pool": [2]}
    assert spikelet.Linear(784, 196).spec() == {"linear": 196, "inputs": 784}
    with pytest.raises(TypeError, match=r"Linear\(196\): one size was given\n.*`Linear\(out_features=196\)`"):
        spikelet.Linear(196)
    with pytest.raises(TypeError, match="`out_features` is missing"):
        spikelet.Linear()
    with pytest.raises(ValueError, match="kernel.*whole number from 1"):
        spikelet.Sequential(spikelet.Conv2d(2, 8, 3), input=(2, 9))


def test_classes_are_documented():
    assert str(inspect.signature(spikelet.Lif)).startswith("(tau: 'float' = 2.0, decay_input: 'bool' = True, *, v_threshold:")
    assert "tau : float, default 2.0\n    Membrane time constant, in steps; a number above 1." in spikelet.Lif.__doc__
    assert spikelet.Lif.__match_args__ == ("tau", "decay_input") and spikelet.Lif.__annotations__["tau"] == "float"
    assert {"Lif", "Conv2d", "Trainer", "torch"} <= {*dir(spikelet)} and "Atan" in dir(spikelet.surrogate)
    assert "Leaky integrate-and-fire." in pydoc.render_doc(spikelet.Lif)
    match spikelet.Lif(3.0):
        case spikelet.Lif(tau):
            assert tau == 3.0
    for module in (layer, neuron, surrogate, spikelet.encoder):
        for name in module.__all__:
            assert all(field.doc for field in getattr(module, name)._fields), name


def test_parts_do_not_change():
    lif = spikelet.Lif(tau=3.0, trainable={"tau": spikelet.Trainable("channel", above=1.0)})
    with pytest.raises(AttributeError, match=r"make a new one with tau=2.0"):
        lif.tau = 2.0
    assert len({lif, copy.deepcopy(lif), spikelet.Lif()}) == 2
    assert lif.spec()["trainable"] == {"tau": {"granularity": "channel", "bound": {"above": {"low": 1.0}}}}
    with pytest.raises(TypeError, match="Lif has no argument `taw`; it has tau"):
        spikelet.Lif(taw=2.0)
    with pytest.raises(ValueError, match="tau is nan"):
        spikelet.Lif(float("nan"))


def test_a_network_prints_as_a_table():
    net = small()
    assert "1.weight" not in str(net) and "weight [8, 16]" in str(net)
    assert net._repr_html_().startswith("<table>")
    assert repr(net).startswith("Sequential(\n    Flatten(),")
    assert str(spikelet.model("csnn")).count("\n") > 5


def test_lif_follows_its_equation():
    net = spikelet.Sequential(spikelet.Lif(tau=2.0), input=(1,))
    x = np.array([0.6, 0.9, 2.0, 1.0], np.float32)
    v, spikes = 0.0, []
    for value in x:
        h = v + (value - v) / 2
        spikes.append(float(h >= 1))
        v = 0.0 if h >= 1 else h
    assert net(x.reshape(4, 1, 1))[:, 0, 0].tolist() == spikes


def test_weights_are_read_and_set_by_name():
    net = small()
    state = net.state_dict()
    assert list(state) == ["1.weight", "3.weight"] == net.parameters
    other = small(seed=1)
    assert not np.array_equal(other.state_dict()["1.weight"], state["1.weight"])
    other.load_state_dict(state)
    x = np.random.default_rng(0).random((4, 2, 1, 4, 4))
    np.testing.assert_array_equal(net(x), other(x))


def test_save_and_load_keep_network_weights_and_settings(tmp_path):
    net = small()
    path = tmp_path / "net.safetensors"
    net.save(path)
    loaded = spikelet.load(path)
    x = np.random.default_rng(0).random((5, 1, 4, 4))
    np.testing.assert_array_equal(net.predict(x, time_steps=4), loaded.predict(x, time_steps=4))
    assert loaded.spec() == net.spec()
    small().load(path)
    assert set(spikelet.weights.read(path)) == {"1.weight", "3.weight"}


def test_layers_inside_of_layers():
    net = spikelet.Sequential(
        spikelet.Conv2d(1, 4, 3, padding=1),
        spikelet.Residual([spikelet.Conv2d(4, 4, 3, padding=1), spikelet.BatchNorm2d(), spikelet.Lif()]),
        spikelet.Branches([[spikelet.AvgPool2d(2)], [spikelet.MaxPool2d(2), spikelet.If()]], combine="concat"),
        spikelet.Sequential(spikelet.Flatten(), spikelet.Linear(out_features=3)),
        {"neuron": {"name": "plif"}},
        "time-mean",
        input=(1, 8, 8),
    )
    assert net(np.zeros((4, 2, 1, 8, 8))).shape == (1, 2, 3)
    assert "1.main.0.weight" in net.parameters and "3.1.weight" in net.parameters


def test_models_of_the_literature_have_options():
    assert len(spikelet.models()) > 20
    net = spikelet.model("sew-resnet18", size=32, classes=10, neuron=spikelet.Lif(tau=3.0))
    assert net.input == (3, 32, 32) and net.classes == 10
    assert spikelet.models("sew-resnet18")["options"]["classes"]["default"] == 1000


def test_a_network_of_a_file(tmp_path):
    path = tmp_path / "net.toml"
    path.write_text('[network]\ninput = [4]\nlayers = [{ linear = 3 }, "neuron"]\n')
    assert spikelet.Network.from_toml(path).classes == 3


def test_input_sizes_come_from_the_first_samples():
    net = spikelet.Sequential(spikelet.Flatten(), spikelet.Linear(out_features=2), spikelet.Lif())
    assert net.predict(np.zeros((3, 5, 5)), time_steps=2).shape == (3, 2)
    assert net.input == (1, 5, 5)


def test_values_of_layers_are_recorded():
    net = small()
    x = np.random.default_rng(0).random((5, 1, 4, 4))
    found = net.record(x, values=["spikes", "potentials", "inputs"], time_steps=6, batch_size=2)
    assert set(found.spikes) == {"2"} and found.spikes["2"].shape == (6, 5, 8)
    assert found.potentials["2"].shape == found.inputs["2"].shape == (6, 5, 8)
    assert set(np.unique(found.spikes["2"])) <= {0.0, 1.0}
    np.testing.assert_array_equal(found.scores, net.predict(x, time_steps=6))
    with pytest.raises(ValueError, match="fc"):
        net.record(x, layers="fc.*", time_steps=6)


def test_predictions_do_not_depend_on_the_batch_size():
    net = small()
    x = np.random.default_rng(0).random((7, 1, 4, 4))
    np.testing.assert_allclose(net.predict(x, time_steps=5, batch_size=3), net.predict(x, time_steps=5), atol=1e-6)


def test_plans_show_kernels_and_memory():
    plan = small().plan(batch_size=4, time_steps=3)
    assert plan.arena_bytes > 0 and plan.kernels and any(kernel["backward"] for kernel in plan.kernels)
    assert len(str(plan).splitlines()) > 3
    assert not any(kernel["backward"] for kernel in small().plan(4, 3, training=False).kernels)


def test_a_neuron_that_fires_without_input_is_warned_of():
    """The neuron of SpikingFlow's tutorial."""
    net = spikelet.Sequential(spikelet.Lif(tau=100.0, v_threshold=1.0, v_reset=5.0), input=(3,))
    with pytest.warns(UserWarning, match="layer `0`: neuron `lif` fires at every time step without input"):
        spikes = net(np.zeros((4, 2, 3), np.float32))
    assert (np.asarray(spikes) == 1).all()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copies_have_their_own_weights(copied):
    nets = [
        small(seed=3),
        spikelet.Sequential(spikelet.Flatten(), spikelet.Linear(16, 4), spikelet.Psn(), input=(1, 4, 4)),
        spikelet.model("csnn", channels=2),
    ]
    for net in nets:
        shape = (5, 2, *net.input)
        x = np.random.default_rng(0).random(shape)
        net(x)
        net.load_state_dict({name: weight + 0.01 for name, weight in net.state_dict().items()})
        made, expected = copied(net), net(x)
        assert type(made) is type(net) and made.spec() == net.spec() and made.settings == net.settings
        np.testing.assert_array_equal(made(x), expected)
        net.load_state_dict({name: weight * 0 for name, weight in net.state_dict().items()})
        np.testing.assert_array_equal(made(x), expected)
    # Without weights that were set, the seed is enough; without an input, there is only the definition.
    np.testing.assert_array_equal(copied(small(seed=3)).state_dict()["1.weight"], small(seed=3).state_dict()["1.weight"])
    assert copied(spikelet.Sequential(spikelet.Linear(out_features=3))).predict(np.ones((2, 4)), time_steps=2).shape == (2, 3)


def test_networks_are_used_in_a_forked_process():
    import multiprocessing

    net = small()
    x = np.random.default_rng(0).random((4, 2, 1, 4, 4))
    expected = net(x)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        np.testing.assert_array_equal(pool.apply_async(net, (x,)).get(60), expected)


def test_some_weights_are_set():
    net, other = small(), small(seed=1)
    mine = net.state_dict()
    net.load_state_dict({"1.weight": other.state_dict()["1.weight"], "head.bias": [1.0]}, strict=False)
    np.testing.assert_array_equal(net.state_dict()["1.weight"], other.state_dict()["1.weight"])
    np.testing.assert_array_equal(net.state_dict()["3.weight"], mine["3.weight"])
    with pytest.raises(ValueError, match=r"\[8, 16\]"):
        net.load_state_dict({"1.weight": np.zeros((2, 2))}, strict=False)


def test_recorded_values_are_a_mapping():
    found = small().record(np.zeros((5, 1, 4, 4)), values=["spikes", "inputs"], time_steps=6)
    assert list(found.keys()) == ["2.spikes", "2.inputs"] and dict(found)["2.spikes"] is found.spikes["2"]
    assert repr(found) == "<Recording of 5 samples: 2.spikes, 2.inputs>"


def test_sequences_have_time_first():
    net = spikelet.Sequential(spikelet.Linear(4, 8), spikelet.Lif(), spikelet.Linear(8, 2), input=(4,))
    x, y = np.random.default_rng(0).random((10, 6, 4), dtype=np.float32) * 2, [0, 1, 0, 1, 0, 1]
    scores = net.predict(x)
    np.testing.assert_allclose(scores, net(x).mean(0), atol=1e-6)
    assert net.record(x).spikes["1"].shape == (10, 6, 8)
    assert net.evaluate(x, y)["samples"] == 6
    data = spikelet.data.ArrayDataset(x, y, sequences=True)
    assert data[2][0].shape == (10, 4) and np.array_equal(data.arrays()[0], x)
    np.testing.assert_array_equal(net.predict(data), scores)
    swapped = x.swapaxes(0, 1)
    for call in (
        lambda: net.evaluate(swapped, y),
        lambda: spikelet.Trainer(net).fit(swapped, y),
        lambda: spikelet.data.ArrayDataset(swapped, y, sequences=True),
    ):
        with pytest.raises(ValueError, match=r"\[6, 10, 4\] with 6 labels were given\n.*\[T, N, …\], time first: `x.swapaxes"):
            call()
    with pytest.raises(ValueError, match=r"\[10, 6, 4\] were given with time_steps=6"):
        net.predict(x, time_steps=6)
    spikelet.Trainer(net, epochs=1, batch_size=3, progress=False).fit(x, y)
    with pytest.raises(ValueError, match=r"\[6, 10, 4\] were given, the network was trained with 10 time steps"):
        net.predict(swapped)
    assert net.predict(swapped, time_steps=6).shape == (10, 2)


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int32, np.bool_])
def test_arrays_of_other_types_are_converted(dtype):
    net = small()
    x = (np.random.default_rng(0).random((4, 2, 1, 4, 4)) * 3).astype(dtype)
    np.testing.assert_array_equal(net(x), net(x.astype(np.float32)))
    np.testing.assert_array_equal(net.predict(x), net.predict(x.astype(np.float32)))
    assert net(x).dtype == np.float32


def test_tensors_of_16_bits_and_truth_values_are_converted():
    torch = pytest.importorskip("torch")
    net, x = small(), torch.rand(4, 2, 1, 4, 4) * 3
    for given in (x.half(), x.bfloat16(), x > 1):
        np.testing.assert_array_equal(net(given), net(given.float()))
