"""The same spikes as SpikingJelly's neurons, bit for bit, and their gradients."""

import pytest
import torch

import spikelet.torch as st

neuron = pytest.importorskip("spikingjelly.activation_based.neuron")
surrogate = pytest.importorskip("spikingjelly.activation_based.surrogate")

PAIRS = {
    "lif": lambda c: (
        st.Lif(c["tau"], decay_input=c["yes"], **c["common"]),
        neuron.LIFNode(c["tau"], c["yes"], **c["theirs"]),
    ),
    "if": lambda c: (st.If(**c["common"]), neuron.IFNode(**c["theirs"])),
    "plif": lambda c: (
        st.Plif(c["tau"], decay_input=c["yes"], **c["common"]),
        neuron.ParametricLIFNode(c["tau"], c["yes"], **c["theirs"]),
    ),
    "qif": lambda c: (
        st.Qif(c["tau"], **c["common"]),
        neuron.QIFNode(c["tau"], **c["theirs"]),
    ),
    "eif": lambda c: (
        st.Eif(c["tau"], **c["common"]),
        neuron.EIFNode(c["tau"], **c["theirs"]),
    ),
    "klif": lambda c: (
        st.Klif(tau=c["tau"], decay_input=c["yes"], **c["common"]),
        neuron.KLIFNode(False, c["tau"], c["yes"], **c["theirs"]),
    ),
}


def constants(seed):
    generator = torch.Generator().manual_seed(seed)
    draw = lambda low, high: float(torch.rand((), generator=generator)) * (high - low) + low
    soft = seed % 3 == 0
    v_threshold, v_reset = draw(0.5, 1.5), None if soft else draw(-0.5, 0.2)
    alpha, detach = draw(1.0, 4.0), seed % 2 == 0
    return {
        "tau": draw(1.2, 4.0), "yes": seed % 2 == 1,
        "common": {
            "v_threshold": v_threshold, "v_reset": v_reset, "surrogate": st.surrogate.Atan(alpha),
            "reset_grad": "detach" if detach else "surrogate",
        },
        "theirs": {
            "v_threshold": v_threshold, "v_reset": v_reset, "surrogate_function": surrogate.ATan(alpha),
            "detach_reset": detach, "step_mode": "m",
        },
    }


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", PAIRS)
def test_the_same_spikes_and_gradients(name, seed):
    given = constants(seed)
    if name in ("qif", "eif") and given["common"]["v_reset"] is not None:
        for kind in ("common", "theirs"):
            given[kind]["v_reset"] = -0.1
    ours, theirs = PAIRS[name](given)
    torch.manual_seed(seed)
    # The quadratic and exponential terms leave the range of float32 for large inputs.
    x = torch.randn(8, 4, 32) * (0.5 if name in ("qif", "eif") else 2.0)
    grad = torch.randn(8, 4, 32)
    results = []
    for layer in (ours, theirs):
        operand = x.clone().requires_grad_()
        y = layer(operand)
        (y * grad).sum().backward()
        results.append((y.detach(), operand.grad, [p.grad for p in layer.parameters()]))
    (y, of_x, of_params), (their_y, their_x, their_params) = results
    assert torch.equal(y, their_y), f"{(y != their_y).sum()} of {y.numel()} spikes differ"
    torch.testing.assert_close(of_x, their_x, rtol=1e-5, atol=1e-5)
    for a, b in zip(of_params, their_params):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
