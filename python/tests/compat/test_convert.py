"""Networks whose neurons are exchanged."""

from __future__ import annotations

import copy

import pytest
import torch
from comparing import inputs
from torch import nn

import spikelet.torch
from spikelet.torch.compat import convert_


def test_networks_of_spikingjelly():
    pytest.importorskip("spikingjelly")
    from spikingjelly.activation_based import functional, layer, neuron, surrogate

    class Own(neuron.LIFNode):
        pass

    net = nn.Sequential(
        layer.Linear(6, 5), neuron.LIFNode(), neuron.ParametricLIFNode(surrogate_function=surrogate.ATan()), neuron.PSN(4), Own(),
        neuron.LIFNode(surrogate_function=torch.relu),
    )
    functional.set_step_mode(net, "m")
    before, other = net.state_dict(), copy.deepcopy(net)
    hooked = []
    net[1].register_forward_hook(lambda *_: hooked.append(1))
    modules = list(net)
    report = convert_(net, verbose=False)
    assert [name for name, _ in report.replaced] == ["1", "2"]
    assert [name for name, _, _ in report.left] == ["3", "4", "5"]
    assert "spikelet has no surrogate for" in report.left[2][2]
    assert list(net) == modules and net[1].implementation == "spikelet"
    assert all(a is b or torch.equal(a, b) for a, b in zip(before.values(), net.state_dict().values()))
    x = inputs((4, 3, 6), 1, 3.0)
    assert torch.equal(net[:4](x), other[:4](x)) and hooked
    assert convert_(net, verbose=False).replaced == []


def test_counters_of_spikingjelly_count_the_same():
    pytest.importorskip("spikingjelly")
    from spikingjelly.activation_based import functional, layer, neuron, op_counter

    counters = [op_counter.NeuronStateCounter, op_counter.ACCounter, op_counter.MACCounter, op_counter.FlopCounter]

    def counts(net):
        made = [counter() for counter in counters]
        with op_counter.DispatchCounterMode(made):
            net(inputs((4, 2, 6), 1, 3.0))
        functional.reset_net(net)
        of_states = [made[0].get_metric_counts()["Global"], made[0].get_projection_counts()["Global"]]
        return [counter.get_total() for counter in made] + of_states

    for mode in ("m", "s"):
        net = nn.Sequential(layer.Linear(6, 5), neuron.LIFNode(), layer.Linear(5, 4), neuron.IFNode(), neuron.ParametricLIFNode())
        functional.set_step_mode(net, mode)
        expected = counts(net)
        assert len(convert_(net, verbose=False).replaced) == 3
        assert counts(net) == expected and all(expected)
        # As before when nothing counts.
        assert net[1].implementation == "spikelet"


def test_other_values_than_the_peers_are_reported():
    pytest.importorskip("spikingjelly")
    from spikingjelly.activation_based import neuron

    report = convert_(nn.Sequential(neuron.LIFNode(), neuron.LIAFNode(torch.relu, False)), verbose=False)
    assert list(report.differs) == ["1"]
    assert str(report).splitlines()[1:] == [
        "  0: LIFNode",
        "  1: LIAFNode, on sequences it returns act(H - v_threshold); SpikingJelly 2.0.0 returns the spikes there",
    ]


def test_networks_of_snntorch(capsys):
    snn = pytest.importorskip("snntorch")
    net = nn.Sequential(nn.Linear(6, 5), snn.Leaky(0.9, init_hidden=True), snn.RLeaky(0.9, all_to_all=False))
    report = spikelet.torch.convert_(net)
    assert report.replaced == [("1", "Leaky")] and report.left[0][:2] == ("2", "RLeaky")
    assert capsys.readouterr().out.startswith("1 neuron modules run by spikelet\n  1: Leaky")


def test_networks_of_norse():
    norse = pytest.importorskip("norse.torch")
    net = norse.SequentialState(nn.Linear(6, 5), norse.LIF(), norse.LSNN())
    other = copy.deepcopy(net)
    report = convert_(net, verbose=False)
    assert report.replaced == [("1", "LIF")] and report.left[0][1] == "LSNN"
    x = inputs((4, 3, 6), 1, 30.0)
    assert torch.equal(net(x)[0], other(x)[0])
