"""Drop-in neurons under torch.compile: one graph, the same results."""

from __future__ import annotations

import copy
import importlib.util

import pytest
import torch
from comparing import inputs


def of_spikingjelly():
    from spikelet.torch.compat.spikingjelly import neuron, surrogate

    return [
        (neuron.LIFNode(step_mode="m"), True),
        (neuron.IFNode(step_mode="m", v_reset=None, surrogate_function=surrogate.ATan()), True),
        (neuron.ParametricLIFNode(step_mode="m"), True),
        (neuron.LIFNode(step_mode="s"), False),
    ]


def of_snntorch():
    import spikelet.torch.compat.snntorch as snn

    return [(snn.Leaky(0.9), False), (snn.Synaptic(0.7, 0.9, learn_beta=True), False), (snn.Alpha(0.9, 0.8), False)]


def of_norse():
    import spikelet.torch.compat.norse as norse

    return [(norse.LIF(), True), (norse.LIFCell(), False), (norse.IAFCell(), False)]


CASES = [
    case
    for package, build in (("spikingjelly", of_spikingjelly), ("snntorch", of_snntorch), ("norse", of_norse))
    if importlib.util.find_spec(package) is not None
    for case in build()
]


@pytest.mark.parametrize(("module", "whole"), CASES, ids=lambda value: type(value).__name__)
def test_one_graph_with_the_same_results(module, whole):
    other = copy.deepcopy(module)
    x = inputs((4, 3, 5), 1, 4.0, 1.0)
    x = x if whole else x[0]
    results = []
    torch._dynamo.reset()
    for call in (torch.compile(module, backend="aot_eager", fullgraph=True), other):
        given = x.clone().requires_grad_()
        y = call(given)
        y = y if isinstance(y, torch.Tensor) else y[0]
        y.pow(2).sum().backward()
        results.append((y.detach(), given.grad))
    (a, ga), (b, gb) = results
    assert torch.equal(a, b) and torch.allclose(ga, gb, rtol=1e-5, atol=1e-6)
