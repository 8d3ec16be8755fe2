"""SpikingJelly's neurons against the drop-ins."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch
from comparing import assert_same, inputs
from torch import Tensor, nn

pytest.importorskip("spikingjelly")
from spikingjelly.activation_based import functional as peer_functional  # noqa: E402
from spikingjelly.activation_based import neuron as peer  # noqa: E402
from spikingjelly.activation_based import surrogate  # noqa: E402

from spikelet.torch.compat.spikingjelly import functional, layer, neuron  # noqa: E402

COMMON: list[dict[str, Any]] = [
    {},
    {"v_threshold": 0.75, "v_reset": None, "detach_reset": True},
    {"v_threshold": 1.25, "v_reset": -0.25, "surrogate_function": surrogate.ATan(3.0)},
]
NODES: list[tuple[str, dict[str, Any]]] = [
    ("IFNode", {}),
    ("SimpleIFNode", {}),
    ("LIFNode", {"tau": 3.0}),
    ("LIFNode", {"tau": 1.7, "decay_input": False}),
    ("SimpleLIFNode", {"tau": 3.0, "decay_input": False}),
    ("ParametricLIFNode", {"init_tau": 2.5}),
    ("ParametricLIFNode", {"init_tau": 2.5, "decay_input": False}),
    ("QIFNode", {}),
    ("EIFNode", {"delta_T": 0.7}),
    ("IzhikevichNode", {"a": 0.2, "b": 0.3}),
    ("KLIFNode", {}),
    ("KLIFNode", {"scale_reset": True}),
    ("RAFNode", {}),
    ("TernaryIFNode", {}),
    ("TernaryLIFNode", {"tau": 3.0}),
]
SURROGATES = [
    surrogate.Sigmoid(4.0), surrogate.ATan(2.0), surrogate.PiecewiseQuadratic(), surrogate.PiecewiseExp(), surrogate.SoftSign(),
    surrogate.SuperSpike(), surrogate.NonzeroSignLogAbs(), surrogate.Erf(), surrogate.PiecewiseLeakyReLU(),
    surrogate.SquarewaveFourierSeries(), surrogate.S2NN(), surrogate.QPseudoSpike(), surrogate.LeakyKReLU(0.1, 1.5),
    surrogate.FakeNumericalGradient(), surrogate.LogTailedReLU(0.1), surrogate.DeterministicPass(), surrogate.Rect(),
]


def pair(name: str, *args: Any, **kwargs: Any) -> tuple[nn.Module, nn.Module]:
    return getattr(peer, name)(*args, **kwargs), getattr(neuron, name)(*args, **kwargs)


def two_sequences(module: nn.Module, x: Tensor) -> Any:
    """A sequence in two calls, with the state between, and one more after a reset."""
    module.reset()
    half = x.shape[0] // 2
    first, second = module(x[:half]), module(x[half:])
    states = [state for state in module.memories() if isinstance(state, Tensor)]
    module.reset()
    return first, second, *states, module(x[:half])


def steps(module: nn.Module, x: Tensor) -> Any:
    module.reset()
    return [module(step) for step in x]


@pytest.mark.parametrize("common", COMMON, ids=["default", "soft", "below_rest"])
@pytest.mark.parametrize(("name", "own"), NODES, ids=[f"{name}-{k}" for k, (name, _) in enumerate(NODES)])
@pytest.mark.parametrize("shape", [(8, 5), (6, 2, 3, 4, 4)], ids=str)
def test_nodes_have_the_spikes_states_and_gradients_of_the_peer(name, own, common, shape):
    common = dict(common)
    if name == "TernaryIFNode" or name == "TernaryLIFNode":
        own = {**own, **({"v_reset": 0.25} if common.get("v_reset") is not None else {})}
    if name in ("QIFNode", "EIFNode") and not common:
        common = {"v_reset": -0.1}
    if name == "SimpleLIFNode" and common.get("v_reset", 0.0) is None:
        pytest.skip("the peer subtracts None")
    theirs, ours = pair(name, **{**common, **own})
    for mode, run in (("m", two_sequences), ("s", steps)):
        theirs.step_mode = ours.step_mode = mode
        # Potentials of these run away from a high one.
        size = (1.2, 0.7) if name in ("QIFNode", "EIFNode", "IzhikevichNode") else (1.5, 1.2)
        rate = assert_same(run, theirs, ours, inputs(shape, 3, *size), f"{name} {mode}")
        assert rate != 0.0


@pytest.mark.parametrize("function", SURROGATES, ids=lambda f: type(f).__name__)
@pytest.mark.parametrize("spiking", [True, False])
def test_all_surrogates_have_the_derivative_of_the_peer(function, spiking):
    if not spiking and isinstance(function, (surrogate.FakeNumericalGradient, surrogate.SuperSpike)):
        pytest.skip("it has no primitive")
    function = copy.deepcopy(function)
    function.set_spiking_mode(spiking)
    theirs, ours = pair("LIFNode", tau=2.0, surrogate_function=function, step_mode="m")
    # The primitives of some have kinks, where a derivative from the right is another one than from the left.
    assert_same(two_sequences, theirs, ours, inputs((8, 3, 7), 1, 1.5, 0.5, ties=spiking), str(function))


def test_other_neurons():
    x = inputs((8, 3, 7), 2, 1.0, 0.8)
    for kwargs in ({}, {"v_reset": None, "c_decay": 0.25}):
        theirs, ours = pair("CUBALIFNode", **kwargs)
        theirs.step_mode = ours.step_mode = "m"
        assert_same(two_sequences, theirs, ours, x, "CUBALIFNode")
    for act, related in ((torch.relu, True), (torch.tanh, False), (nn.Sigmoid(), True)):
        # On sequences SpikingJelly 2.0.0 returns the spikes in place of the output.
        theirs, ours = pair("LIAFNode", act, related, tau=3.0)
        assert_same(steps, theirs, ours, x, "LIAFNode")
    for training in (True, False):
        theirs, ours = pair("ComplementaryLIFNode", tau=2.5, step_mode="m")
        theirs.train(training), ours.train(training)
        assert_same(two_sequences, theirs, ours, x, f"ComplementaryLIFNode {training}")
    theirs, ours = pair("ILIFNode", step_mode="m")
    assert_same(two_sequences, theirs, ours, 3 * x, "ILIFNode")
    theirs, ours = pair("HalfThresholdIFNode", v_threshold=1.5, step_mode="m")
    assert_same(two_sequences, theirs, ours, x, "HalfThresholdIFNode")


@pytest.mark.parametrize("inplane", [None, 3])
def test_gated_lif(inplane):
    theirs, ours = pair("GatedLIFNode", 4, inplane)
    ours.load_state_dict(theirs.state_dict())
    assert_same(two_sequences, theirs, ours, inputs((8, 2, 3, 4, 4), 7, 1.0, 0.6), "GatedLIFNode")


@pytest.mark.parametrize("name", ["OTTTLIFNode", "SLTTLIFNode"])
@pytest.mark.parametrize("training", [True, False])
def test_online_learning(name, training):
    theirs, ours = pair(name, tau=3.0)
    theirs.train(training), ours.train(training)
    assert_same(steps, theirs, ours, inputs((6, 2, 9), 8, 1.0, 0.7), name)


@pytest.mark.parametrize("decode", [None, "max-mem", "max-abs-mem", "mean-mem", "last_mem"])
def test_readouts_of_potentials(decode):
    x = inputs((6, 2, 9), 4)
    for name, own in (("NonSpikingIFNode", {}), ("NonSpikingLIFNode", {"tau": 3.0})):
        theirs, ours = pair(name, decode=decode, **own)
        assert_same(lambda module, x: module(x), theirs, ours, x, name)


@pytest.mark.parametrize("name", ["IFNode", "LIFNode", "ParametricLIFNode", "QIFNode", "EIFNode"])
def test_potentials_are_stored(name):
    x = inputs((6, 2, 9), 4)

    def run(module, x):
        module.reset()
        y = module(x) if module.step_mode == "m" else torch.stack([module(step) for step in x])
        return y, module.v_seq, module.v

    for mode in ("m", "s"):
        theirs, ours = pair(name, step_mode=mode, store_v_seq=True)
        assert_same(run, theirs, ours, x, f"{name} {mode}")
        ours.reset()
        assert ours.v_seq is None and ours.v == theirs.get_reset_value("v")


def test_half_precision_computes_in_single_precision():
    x = inputs((8, 2, 9), 4).to(torch.bfloat16)
    half, single = neuron.LIFNode(step_mode="m"), neuron.LIFNode(step_mode="m")
    y = half(x)
    assert y.dtype == torch.bfloat16 and half.v.dtype == torch.float32
    assert torch.equal(y.float(), single(x.float())) and torch.equal(half.v, single.v)


def test_double_precision_and_a_gradient_check():
    node = neuron.ParametricLIFNode(surrogate_function=surrogate.Sigmoid(spiking=False), step_mode="m").double()
    x = inputs((4, 1, 3), 4).double().requires_grad_()

    def run(x, w):
        node.reset()
        return torch.func.functional_call(node, {"w": w}, (x,))

    assert torch.autograd.gradcheck(run, (x, node.w))


def test_what_spikelet_does_not_run_is_the_peers_and_says_why():
    class Gate(surrogate.Sigmoid):
        @staticmethod
        def spiking_function(x, alpha):
            return surrogate.sigmoid.apply(x, 2 * alpha)

    node = neuron.LIFNode(surrogate_function=Gate(), step_mode="m")
    assert node.implementation == "spikingjelly: spikelet has no surrogate for Gate"
    theirs = peer.LIFNode(surrogate_function=Gate(), step_mode="m")
    x = inputs((5, 2, 3), 1)
    assert torch.equal(node(x), theirs(x))

    class Tripled(neuron.LIFNode):
        def single_step_functional_forward(self, inputs, states, **kwargs):
            return super().single_step_functional_forward((3 * inputs[0],), states)

    node, three = Tripled(step_mode="m"), neuron.LIFNode(step_mode="m")
    assert "its own single_step_functional_forward" in node.implementation
    assert torch.equal(node(x), three(3 * x))


def test_networks_with_the_functions_of_the_peer():
    def net(module):
        torch.manual_seed(0)
        return nn.Sequential(
            layer.Conv2d(1, 4, 3, padding=1), layer.BatchNorm2d(4), module.LIFNode(tau=2.0), layer.MaxPool2d(2), layer.Flatten(),
            layer.Linear(64, 10), module.ParametricLIFNode(),
        )

    x = inputs((6, 2, 1, 8, 8), 5, 2.0)
    results = []
    for module, functions in ((peer, peer_functional), (neuron, functional)):
        own = net(module)
        functions.set_step_mode(own, "m")
        y = own(x)
        y.mean(0).pow(2).sum().backward()
        functions.reset_net(own)
        again = own(x)
        functions.detach_net(own)
        results.append((y.detach(), again.detach(), [p.grad for p in own.parameters()], own.state_dict(), str(own)))
    (a, a2, ga, sa, ra), (b, b2, gb, sb, rb) = results
    assert torch.equal(a, b) and torch.equal(a2, b2)
    assert list(sa) == list(sb) and ra == rb
    for x, y in zip(ga, gb):
        assert (x - y).abs().max() <= 1e-5 * max(1.0, x.abs().max())


def test_modules_are_copied_and_pickled_with_their_state():
    node = neuron.LIFNode(step_mode="m", surrogate_function=surrogate.ATan())
    node(inputs((3, 2, 4), 1))
    for other in (copy.deepcopy(node), pickle.loads(pickle.dumps(node))):
        assert torch.equal(other.v, node.v)
        other.reset()
        assert other.v == 0.0 and isinstance(node.v, Tensor)


def test_arguments_of_version_1():
    node = neuron.LIFNode(tau=2.0, step_mode="m", backend="cupy")
    assert node.backend == "cupy" and "cupy" in node.supported_backends
    functional.set_backend(node, "torch")
    assert isinstance(node, peer.LIFNode) and isinstance(node, neuron.BaseNode)
