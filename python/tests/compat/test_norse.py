"""Norse's neurons against the drop-ins."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from comparing import assert_same, inputs
from torch import Tensor, nn

peer = pytest.importorskip("norse.torch")
import spikelet.torch.compat.norse as norse  # noqa: E402

METHODS = [("super", 100.0), ("triangle", 0.3), ("tanh", 1.5), ("circ", 0.7), ("heavi_erfc", 1.2), ("heaviside", 1.0)]


def cell(module: nn.Module, x: Tensor) -> Any:
    state, results = None, []
    for step in x:
        z, state = module(step, state)
        results.append([z, *state])
    return results


def sequence(module: nn.Module, x: Tensor) -> Any:
    half = x.shape[0] // 2
    first, state = module(x[:half])
    second, state = module(x[half:], state)
    return first, second, *state


@pytest.mark.parametrize(("method", "alpha"), METHODS)
@pytest.mark.parametrize("shape", [(9, 4, 6), (5, 2, 3, 4, 4)], ids=str)
def test_lif(method, alpha, shape):
    x = inputs(shape, 1, 8.0, 4.0)
    number = torch.as_tensor
    p = peer.LIFParameters(method=method, alpha=number(alpha), v_leak=number(0.1), v_reset=number(-0.2), v_th=number(0.8))
    for own in ({}, {"dt": 0.0013}):
        assert_same(cell, peer.LIFCell(p, **own), norse.LIFCell(p, **own), x, f"LIFCell {method}")
        assert_same(sequence, peer.LIF(p, **own), norse.LIF(p, **own), x, f"LIF {method}")
        recorded = {**own, "record_states": True}
        run = lambda module, x: module(x)  # noqa: E731
        assert_same(run, peer.LIF(p, **recorded), norse.LIF(p, **recorded), x, f"LIF {method}, recorded")


def test_defaults():
    x = inputs((12, 4, 6), 2, 8.0, 4.0)
    assert assert_same(sequence, peer.LIF(), norse.LIF(), x) > 0.01
    assert assert_same(cell, peer.LIFBoxCell(), norse.LIFBoxCell(), x) > 0.01


def test_integrate_and_fire():
    x = inputs((9, 4, 6), 3)
    p = peer.IAFParameters(v_th=torch.as_tensor(0.75))
    assert_same(cell, peer.IAFCell(p), norse.IAFCell(p), x, "IAFCell")


def made(module, kind):
    # Norse's modules change the reset of these parameters, which all others have by default.
    own = peer.IAFParameters(v_th=torch.as_tensor(0.75), v_reset=torch.zeros(()))
    return getattr(module, kind)(*([own] if kind.startswith("IAF") else []))


@pytest.mark.parametrize("kind", ["LIF", "LIFCell", "IAF", "IAFCell", "LIFBoxCell"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.bool, torch.int64], ids=str)
def test_types_of_inputs(kind, dtype):
    x = (inputs((60, 4, 6), 5, 8.0, 4.0) > -8).to(dtype) * (1 if dtype == torch.bool else 8)
    x = x.to(dtype)
    ours, run = made(norse, kind), cell if kind.endswith("Cell") else sequence
    assert ours.implementation == "spikelet"
    found, expected = run(ours, x), run(ours, x.float())
    spikes = lambda result: torch.stack([z for z, *_ in result]) if isinstance(result, list) else torch.cat(result[:2])  # noqa: E731
    assert torch.equal(spikes(found).float(), spikes(expected))
    # An input of 1 does not bring this neuron to its threshold.
    assert spikes(expected).any() or (kind, dtype) == ("LIFBoxCell", torch.bool)
    state = found[-1][1] if isinstance(found, list) else found[2]
    assert state.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    if dtype.is_floating_point:
        assert spikes(found).dtype == dtype


@pytest.mark.parametrize("kind", ["LIF", "LIFCell", "IAF"])
def test_autocast(kind):
    net = nn.Linear(6, 6)
    ours, theirs = made(norse, kind), made(peer, kind)
    assert ours.implementation == "spikelet"
    x = inputs((9, 4, 6), 6, 8.0, 4.0)
    run = cell if kind.endswith("Cell") else sequence
    with torch.autocast("cpu", torch.bfloat16):
        found, expected = run(ours, net(x) * 8), run(theirs, net(x).float() * 8)
    flat = lambda result: [r for part in result for r in (part if isinstance(part, list) else [part])]  # noqa: E731
    assert torch.equal(flat(found)[0].float(), flat(expected)[0].float()) and flat(expected)[0].any()
    flat(found)[0].sum().backward()
    assert net.weight.grad is not None and net.weight.grad.isfinite().all()


def test_parameters_are_not_changed():
    p = peer.IAFParameters(v_reset=torch.zeros(()))
    for kind in (norse.IAF, norse.IAFCell):
        kind(p)(torch.ones(3, 2))
        assert kind(p).implementation == "spikelet" and not p.v_reset.requires_grad


def test_what_spikelet_does_not_run_is_the_peers_and_says_why():
    p = peer.LIFBoxParameters(v_leak=torch.as_tensor(0.5))
    ours = norse.LIFBoxCell(p)
    assert ours.implementation.startswith("norse: v_leak is not 0")
    x = inputs((5, 4, 6), 4, 8.0)
    for (a, *_), (b, *_) in zip(cell(ours, x), cell(peer.LIFBoxCell(p), x)):
        assert torch.equal(a, b)
    assert norse.LSNN is peer.LSNN
