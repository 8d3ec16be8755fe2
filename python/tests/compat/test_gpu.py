"""Drop-in neurons on a GPU: the bits of the CPU, and the spikes of the peers where their arithmetic is the same."""

from __future__ import annotations

import copy
import importlib.util

import pytest
import torch
from comparing import inputs

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


def of_spikingjelly():
    from spikelet.torch.compat.spikingjelly import neuron, surrogate

    return [
        neuron.LIFNode(step_mode="m"), neuron.IFNode(step_mode="m", v_reset=None, surrogate_function=surrogate.ATan()),
        neuron.ParametricLIFNode(step_mode="m"), neuron.LIFNode(tau=3.0, step_mode="m"), neuron.IzhikevichNode(step_mode="m"),
        neuron.KLIFNode(step_mode="m"), neuron.RAFNode(step_mode="m"), neuron.GatedLIFNode(6),
    ]


def of_snntorch():
    import spikelet.torch.compat.snntorch as snn

    return [snn.Leaky(0.9), snn.Synaptic(0.7, 0.9, learn_beta=True), snn.Leaky(torch.linspace(0.1, 0.9, 5), learn_beta=True)]


def of_norse():
    import spikelet.torch.compat.norse as norse

    return [norse.LIF(), norse.IAFCell()]


CASES = [
    module
    for package, build in (("spikingjelly", of_spikingjelly), ("snntorch", of_snntorch), ("norse", of_norse))
    if importlib.util.find_spec(package) is not None
    for module in build()
]


def run(module, device):
    module = copy.deepcopy(module).to(device)
    whole = getattr(module, "step_mode", "m") == "m" and not type(module).__name__.endswith("Cell")
    whole = whole and not hasattr(module, "reset_mem")
    x = inputs((6, 3, 4, 5, 5), 1, 4.0, 1.0)
    given = (x if whole else x[0]).to(device).requires_grad_()
    y = module(given)
    y = y if isinstance(y, torch.Tensor) else y[0]
    weight = torch.linspace(-1, 1, y.numel()).view(y.shape).to(device)
    (y * weight).sum().backward()
    grads = [given.grad, *(p.grad for p in module.parameters() if p.grad is not None)]
    return y.detach().cpu(), [g.cpu() for g in grads]


@pytest.mark.parametrize("module", CASES, ids=lambda module: type(module).__name__)
def test_the_bits_of_the_cpu(module):
    (a, a_grads), (b, b_grads) = run(module, "cpu"), run(module, "cuda")
    assert torch.equal(a, b)
    for x, y in zip(a_grads, b_grads):
        assert (x - y).abs().max() <= 1e-5 * max(1.0, x.abs().max())


def test_the_spikes_of_spikingjelly():
    peer = pytest.importorskip("spikingjelly.activation_based.neuron")
    from spikelet.torch.compat.spikingjelly import neuron

    x = inputs((8, 4, 33), 2, 1.2, 0.6).cuda()
    for name, kwargs in (("IFNode", {}), ("LIFNode", {"tau": 2.0}), ("LIFNode", {"tau": 4.0, "v_reset": None}), ("ParametricLIFNode", {})):
        theirs, ours = (getattr(module, name)(step_mode="m", **kwargs).cuda() for module in (peer, neuron))
        assert torch.equal(theirs(x), ours(x)), name


def test_a_stream_of_a_users_own():
    pytest.importorskip("spikingjelly")
    from spikelet.torch.compat.spikingjelly import neuron

    node = neuron.LIFNode(step_mode="m").cuda()
    x = inputs((8, 4, 33), 2, 1.2, 0.6).cuda()
    expected = node(x)
    node.reset()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        found = node(x)
    torch.cuda.current_stream().wait_stream(stream)
    assert torch.equal(expected, found)
