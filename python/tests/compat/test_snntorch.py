"""snnTorch's neurons against the drop-ins."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from comparing import assert_same, inputs
from torch import Tensor, nn

peer = pytest.importorskip("snntorch")
from snntorch import surrogate, utils  # noqa: E402

import spikelet.torch.compat.snntorch as snn  # noqa: E402

SHAPES = [(9, 4, 6), (5, 2, 3, 4, 4), (7, 5)]


def explicit(module: nn.Module, x: Tensor) -> Any:
    states = module.reset_mem()
    states = states if isinstance(states, tuple) else (states,)
    states = tuple(torch.zeros_like(x[0]) for _ in states)
    results = []
    for step in x:
        # Alpha changes the states that it is given in place.
        spk, *states = module(step, *(state.clone() for state in states))
        results.append([spk, *states])
    return results


def hidden(module: nn.Module, x: Tensor) -> Any:
    utils.reset(nn.Sequential(module))
    results = [module(step) for step in x]
    return [*results, module.mem]


@pytest.mark.parametrize("mechanism", ["subtract", "zero", "none"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("delay", [True, False])
def test_leaky_and_synaptic(mechanism, shape, delay):
    for name, constants in (("Leaky", (0.7,)), ("Synaptic", (0.6, 0.8))):
        for threshold in (1.0, 0.5):
            own = {"threshold": threshold, "reset_mechanism": mechanism, "reset_delay": delay}
            theirs, ours = (getattr(module, name)(*constants, **own) for module in (peer, snn))
            rate = assert_same(explicit, theirs, ours, inputs(shape, 1), f"{name} {own}")
            assert rate != 0.0
            theirs, ours = (getattr(module, name)(*constants, init_hidden=True, **own) for module in (peer, snn))
            assert_same(hidden, theirs, ours, inputs(shape, 2), f"{name} {own}, hidden")


@pytest.mark.parametrize("mechanism", ["subtract", "zero", "none"])
def test_alpha_and_lapicque(mechanism):
    x = inputs((9, 4, 6), 3, 4.0)
    theirs, ours = (module.Alpha(0.9, 0.8, reset_mechanism=mechanism) for module in (peer, snn))
    assert_same(explicit, theirs, ours, x, f"Alpha {mechanism}")
    for own in ({"beta": 0.8}, {"R": 5.0, "C": 0.9, "time_step": 0.5}):
        theirs, ours = (module.Lapicque(reset_mechanism=mechanism, **own) for module in (peer, snn))
        assert_same(explicit, theirs, ours, x, f"Lapicque {mechanism} {own}")


@pytest.mark.parametrize(
    "gate",
    [
        surrogate.atan(3.0), surrogate.fast_sigmoid(), surrogate.sigmoid(5), surrogate.heaviside(), surrogate.triangular(0.8),
        surrogate.spike_rate_escape(1, 5), surrogate.SFS(10, 0.2), surrogate.straight_through_estimator(),
    ],
    ids=lambda gate: gate.__qualname__.split(".")[0],
)
def test_surrogates(gate):
    theirs, ours = (module.Leaky(0.7, spike_grad=gate) for module in (peer, snn))
    assert_same(explicit, theirs, ours, inputs((9, 4, 6), 4), gate.__qualname__)


@pytest.mark.parametrize("values", ["one", "each"])
def test_learned_constants(values):
    def constant(number: float) -> Any:
        return number if values == "one" else torch.linspace(number - 0.1, number + 0.1, 6)

    x = inputs((9, 4, 6), 5)
    for delay in (True, False):
        learned = {"learn_beta": True, "learn_threshold": True, "threshold": constant(0.9), "reset_delay": delay}
        theirs, ours = (module.Leaky(constant(0.7), **learned) for module in (peer, snn))
        assert_same(explicit, theirs, ours, x, f"Leaky {values}")
        theirs, ours = (module.Synaptic(constant(0.6), constant(0.8), learn_alpha=True, **learned) for module in (peer, snn))
        assert_same(explicit, theirs, ours, x, f"Synaptic {values}")
    theirs, ours = (
        module.Alpha(constant(0.85), constant(0.6), learn_beta=True, reset_mechanism="zero")
        for module in (peer, snn)
    )
    assert_same(explicit, theirs, ours, 4 * x, f"Alpha {values}")


def test_buffers_with_a_value_for_each_neuron_and_clamped_factors():
    x = inputs((9, 4, 6), 6)
    theirs, ours = (module.Leaky(torch.linspace(0.1, 0.9, 6)) for module in (peer, snn))
    assert_same(explicit, theirs, ours, x)
    theirs, ours = (module.Leaky(1.5) for module in (peer, snn))
    assert_same(explicit, theirs, ours, x)
    ours.beta.fill_(0.25), theirs.beta.fill_(0.25)
    assert_same(explicit, theirs, ours, x, "a changed buffer")


def test_graded_spikes_and_disabled_surrogates():
    x = inputs((9, 4, 6), 7)
    graded = {"graded_spikes_factor": 2.5, "learn_graded_spikes_factor": True}
    theirs, ours = (module.Leaky(0.7, **graded) for module in (peer, snn))
    assert_same(explicit, theirs, ours, x, "graded")
    ours = snn.Leaky(0.7, surrogate_disable=True)
    theirs = peer.Leaky(0.7, surrogate_disable=True)
    with torch.no_grad():
        for step in x:
            assert torch.equal(ours(step)[0], theirs(step)[0])


def test_what_spikelet_does_not_run_is_the_peers_and_says_why():
    x = inputs((9, 4, 6), 8)
    ours, theirs = (module.Leaky(0.7, inhibition=True) for module in (snn, peer))
    assert ours.implementation == "snntorch: inhibition between neurons"
    for step in x:
        assert torch.equal(ours(step)[0], theirs(step)[0])

    def own(input_, grad, spikes):
        return grad

    ours = snn.Leaky(0.7, spike_grad=surrogate.custom_surrogate(own))
    assert ours.implementation == "snntorch: spikelet has no surrogate for custom_surrogate"
    with pytest.raises(TypeError, match="init_hidden"):
        snn.Leaky(0.7, init_hidden=True)(x[0], x[0])


def test_other_names_are_those_of_snntorch():
    assert snn.RLeaky is peer.RLeaky and snn.surrogate is surrogate and snn.utils is utils
    with pytest.raises(AttributeError, match="neither"):
        snn.Leeky  # noqa: B018
