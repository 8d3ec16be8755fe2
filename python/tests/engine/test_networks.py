"""Networks: their definition, their weights, runs."""

import json
import pickle

import numpy as np
import pytest

import spikelet
from spikelet import _native, layer, neuron, surrogate


def small(**options):
    return spikelet.Sequential(
        spikelet.Flatten(), spikelet.Linear(16, 8), spikelet.Lif(tau=2.0), spikelet.Linear(8, 3), input=(1, 4, 4), **options
    )


def test_every_kind_of_layer_and_every_neuron_has_a_class():
    registry = json.loads(_native.registry())
    kinds = {getattr(layer, name).kind for name in layer.__all__}
    assert kinds == {kind["name"] for kind in registry["layers"]}
    for module, family in ((neuron, "neurons"), (surrogate, "surrogates"), (spikelet.encoder, "encoders")):
        assert {getattr(module, name).kind for name in module.__all__} == {one["name"] for one in registry[family]}


@pytest.mark.parametrize("name", neuron.__all__)
def test_every_neuron_with_its_defaults_is_one_of_the_engine(name):
    kind = getattr(neuron, name)
    # Parallel neurons know the number of their time steps.
    made = kind(time_steps=4) if "time_steps" in dict(kind._parameters()) else kind()
    net = spikelet.Sequential(made, input=(3,))
    assert net.spec()["layers"] == [{"neuron": made.spec()}]
    assert net(np.ones((4, 2, 3))).shape == (4, 2, 3)


@pytest.mark.parametrize("name", surrogate.__all__)
def test_every_surrogate_is_one_of_the_engine(name):
    kind = getattr(surrogate, name)
    required = {key: 4 for key, default in kind._parameters() if default is None}
    net = spikelet.Sequential(spikelet.Lif(surrogate=kind(**required)), input=(3,))
    assert net(np.ones((4, 2, 3))).shape == (4, 2, 3)


def test_parts_print_their_options_and_are_compared_by_them():
    lif = spikelet.Lif(tau=4.0, v_reset=None)
    assert repr(lif) == "Lif(tau=4.0, v_reset=None)"
    assert lif == spikelet.Lif(4.0, v_reset=None) and lif != spikelet.Lif(4.0)
    assert lif.spec() == {"name": "lif", "tau": 4.0, "v_reset": "none"}
    assert pickle.loads(pickle.dumps(lif)) == lif
    assert repr(spikelet.Linear(784, 196, bias=True)) == "Linear(784, out_features=196, bias=True)"


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
        spikelet.Conv(1, 4, 3, padding=1),
        spikelet.Residual([spikelet.Conv(4, 4, 3, padding=1), spikelet.BatchNorm(), spikelet.Lif()]),
        spikelet.Branches([[spikelet.AvgPool(2)], [spikelet.MaxPool(2), spikelet.If()]], combine="concat"),
        spikelet.Sequential(spikelet.Flatten(), spikelet.Linear(3)),
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
    net = spikelet.Sequential(spikelet.Flatten(), spikelet.Linear(2), spikelet.Lif())
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
