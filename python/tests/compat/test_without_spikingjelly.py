"""The drop-in of SpikingJelly where SpikingJelly is not installed: the same results as with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

CASES = [
    ("IFNode", (), {}), ("LIFNode", (), {"tau": 3.0, "v_reset": None}), ("SimpleLIFNode", (2.5, False), {}),
    ("ParametricLIFNode", (), {}), ("QIFNode", (), {}), ("EIFNode", (), {}), ("IzhikevichNode", (), {"a": 0.2}), ("KLIFNode", (), {}),
    ("CUBALIFNode", (), {}), ("ComplementaryLIFNode", (), {}), ("RAFNode", (), {}), ("ILIFNode", (), {}),
    ("HalfThresholdIFNode", (), {}), ("TernaryIFNode", (), {}), ("TernaryLIFNode", (), {}), ("GatedLIFNode", (4,), {}),
    ("NonSpikingLIFNode", (), {"decode": "mean-mem"}), ("PSN", (4,), {}), ("MaskedPSN", (2, 4), {"lambda_init": 0.5}),
    ("SlidingPSN", (3,), {}),
]


class Hidden:
    """Hides SpikingJelly from imports."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "spikingjelly":
            raise ImportError(name)


def results(neuron, functional, layer, parameters=None):
    """Outputs, gradients, parameters and texts of all cases."""
    made = {}
    generator = torch.Generator().manual_seed(3)
    for name, args, kwargs in CASES:
        module = getattr(neuron, name)(*args, **kwargs)
        if parameters is not None:
            module.load_state_dict(parameters[name])
        functional.set_step_mode(module, "m")
        x = (torch.randn(4, 2, 3, 4, 4, generator=generator) * 1.2 + 0.6).requires_grad_()
        y = module(x)
        y.pow(2).sum().backward()
        grads = {key: p.grad for key, p in module.named_parameters()}
        made[name] = (y.detach(), x.grad, grads, module.state_dict(), str(module))
    net = nn.Sequential(layer.Conv2d(3, 4, 3, padding=1), layer.BatchNorm2d(4), neuron.LIFNode(), layer.MaxPool2d(2), layer.Flatten(),
                        layer.Linear(16, 3), layer.Dropout(0.5), neuron.IFNode())
    if parameters is not None:
        net.load_state_dict(parameters["net"])
    functional.set_step_mode(net, "m")
    net.eval()
    y = net(torch.rand(4, 2, 3, 4, 4, generator=generator))
    functional.detach_net(net)
    functional.reset_net(net)
    made["net"] = (y.detach(), net[2].v, {}, net.state_dict(), "")
    return made


def test_the_results_are_those_with_spikingjelly(tmp_path):
    pytest.importorskip("spikingjelly")
    from spikingjelly.activation_based import functional, layer, neuron

    expected = results(neuron, functional, layer)
    given, found = tmp_path / "given.pt", tmp_path / "found.pt"
    torch.save({name: made[3] for name, made in expected.items()}, given)
    subprocess.run([sys.executable, str(Path(__file__)), str(given), str(found)], check=True)
    found = torch.load(found)
    for name, (y, grad, grads, state, text) in expected.items():
        y2, grad2, grads2, state2, text2 = found[name]
        assert torch.equal(y, y2) or "NonSpiking" in name and torch.allclose(y, y2), name
        assert list(state) == list(state2) and list(grads) == list(grads2), name
        if name == "net":
            assert grad == grad2 == 0.0
            continue
        for a, b in ((grad, grad2), *zip(grads.values(), grads2.values())):
            assert (a - b).abs().max() <= 1e-5 * max(1.0, a.abs().max()), name


if __name__ == "__main__":
    sys.meta_path.insert(0, Hidden())
    from spikelet.torch.compat.spikingjelly import functional, layer, neuron

    torch.save(results(neuron, functional, layer, torch.load(sys.argv[1])), sys.argv[2])
