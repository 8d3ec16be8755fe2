"""NIR, weights of other frameworks, differences."""

import numpy as np
import pytest

import spikelet


def network():
    return spikelet.Sequential(
        spikelet.Linear(4, 8), spikelet.Lif(tau=2.0), spikelet.Linear(8, 3), spikelet.Lif(tau=3.0), input=(4,)
    )


def test_a_network_becomes_a_graph_that_computes_the_same(tmp_path):
    net = network()
    spikelet.nir.write(net, tmp_path / "net.nir")
    graph = spikelet.nir.read(tmp_path / "net.nir")
    assert {node["type"] for node in graph.nodes.values()} >= {"Input", "Output", "LIF"}
    assert len(graph.edges) == len(graph.nodes) - 1
    x = np.random.default_rng(0).random((10, 2, 4)) * 3
    np.testing.assert_array_equal(graph.simulate(x)["output/out"], net(x))
    assert "1/v" in graph.simulate(x, record="all").sequences


def test_differences_have_a_cause():
    net = network()
    graph = spikelet.nir.Graph.of(net)
    x = np.random.default_rng(0).random((10, 2, 4)) * 3
    assert not spikelet.diff(net, graph, x)
    found = spikelet.diff(graph, graph, x, second_choices={"reset": "subtract"})
    assert found and found.first is not None and found.cause is not None and found.cause["causes"] == ["reset"]


@pytest.mark.parametrize("extension", ["safetensors", "npz", "pt"])
def test_files_of_weights(tmp_path, extension):
    path = tmp_path / f"weights.{extension}"
    tensors = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array([1, 2])}
    spikelet.weights.write(path, tensors)
    found = spikelet.weights.read(path)
    assert set(found) == {"a", "b"}
    np.testing.assert_array_equal(found["a"], tensors["a"])
    np.testing.assert_array_equal(found["b"], tensors["b"])


@pytest.mark.parametrize("framework", ["spikingjelly", "snntorch", "spikelet"])
def test_weights_of_frameworks_come_back(framework, tmp_path):
    layers = [spikelet.Linear(4, 3, name="fc")]
    net = spikelet.Sequential(*layers, input=(4,))
    other = spikelet.Sequential(*layers, input=(4,), seed=1)
    weights = spikelet.weights.export(net, framework)
    assert other.load(weights, map=framework) == ""
    np.testing.assert_array_equal(other.state_dict()["fc.weight"], net.state_dict()["fc.weight"])
    spikelet.weights.write(tmp_path / "w.pt", weights)
    third = spikelet.Sequential(*layers, input=(4,), seed=2)
    third.load(tmp_path / "w.pt", strict=False)
    np.testing.assert_array_equal(third.state_dict()["fc.bias"], net.state_dict()["fc.bias"])


def test_state_dicts_of_torch_are_taken():
    torch = pytest.importorskip("torch")
    linear = torch.nn.Linear(4, 3)
    net = spikelet.Sequential(spikelet.Linear(4, 3, name="fc"), input=(4,))
    net.load({f"fc.{name}": x for name, x in linear.state_dict().items()}, map="snntorch")
    x = torch.rand(5, 2, 4)
    np.testing.assert_allclose(net(x), linear(x).detach().numpy(), atol=1e-6)


def test_a_folder_of_a_model_is_a_path(tmp_path):
    net = spikelet.Sequential(spikelet.Linear(4, 8), spikelet.Lif(), spikelet.Linear(8, 3), input=(4,))
    net.save(f"{tmp_path}/model/")
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == ["README.md", "config.json", "model.safetensors"]
    x = np.ones((2, 4), dtype=np.float32)
    loaded = spikelet.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(x), net.predict(x))
    # As another program writes it: the tensors alone, beside the configuration.
    spikelet.weights.write(tmp_path / "model" / "model.safetensors", net.state_dict())
    np.testing.assert_array_equal(spikelet.load(tmp_path / "model").predict(x), net.predict(x))


def test_weights_are_loaded_by_one_method(tmp_path):
    net = spikelet.Sequential(spikelet.Linear(2, 3), spikelet.Lif(), spikelet.Linear(3, 4), input=(2,))
    net.save(tmp_path / "net.safetensors")
    other = spikelet.Sequential(spikelet.Linear(2, 3), spikelet.Lif(), spikelet.Linear(3, 2), input=(2,))
    with pytest.raises(Exception, match="2.weight"):
        other.load(tmp_path / "net.safetensors")
    assert "2.weight" in other.load(tmp_path / "net.safetensors", strict=False)
    np.testing.assert_array_equal(other.state_dict()["0.weight"], net.state_dict()["0.weight"])
    for ending in ("pt", "npz"):
        spikelet.weights.write(tmp_path / f"net.{ending}", net.state_dict())
        same = spikelet.Sequential(spikelet.Linear(2, 3), spikelet.Lif(), spikelet.Linear(3, 4), input=(2,))
        assert same.load(tmp_path / f"net.{ending}") == ""
        np.testing.assert_array_equal(same.state_dict()["2.weight"], net.state_dict()["2.weight"])
    renamed = {f"trunk.{name}": x for name, x in net.state_dict().items()}
    again = spikelet.Sequential(spikelet.Linear(2, 3), spikelet.Lif(), spikelet.Linear(3, 4), input=(2,))
    assert again.load(renamed, map={"trunk.": ""}) == ""
    np.testing.assert_array_equal(again.state_dict()["2.weight"], net.state_dict()["2.weight"])
    with pytest.raises(Exception, match="left over"):
        again.load({**net.state_dict(), "extra": [1.0]}, map="spikelet")
    with pytest.raises(Exception, match="not the address of a model"):
        spikelet.load("hf://nobody")
