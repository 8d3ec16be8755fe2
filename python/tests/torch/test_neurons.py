"""Every neuron: steps one by one, gradients against finite differences, types, layouts."""

import json

import pytest
import torch

import spikelet.torch as st
from spikelet.torch._operators import call, operators

NAMES = sorted(name for name in st.__all__ if isinstance(getattr(st, name), type)
               and issubclass(getattr(st, name), st.Neuron) and name != "Neuron")
SHAPE = (5, 3, 4, 2, 2)
# Gradients that are not derivatives: neurons without a gradient through time or through their reset.
STOPPED = {"SlttLif", "OtttLif", "RLeaky", "RSynaptic", "Synaptic", "Alpha", "Clif"}


def make(name, **constants):
    """A neuron that may have parameters of any shape."""
    torch.manual_seed(1)
    return getattr(st, name)(shape=SHAPE, **constants)


def inputs(dtype=torch.float32, shape=SHAPE, scale=1.0):
    torch.manual_seed(0)
    return (torch.randn(shape, dtype=torch.float64) * scale + 0.5).to(dtype)


def rest(layer, x):
    """Random states would differ from call to call."""
    dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
    if not layer._random:
        return None
    return layer.State(*(torch.full(x.shape[1:], 0.3, dtype=dtype) for _ in layer._states))


@pytest.mark.parametrize("name", NAMES)
def test_steps_one_by_one_give_the_output_of_the_sequence(name):
    layer, x = make(name), inputs()
    if layer._is_parallel or layer.constants.get("readout") or name == "GatedLif":
        pytest.skip("all steps at once")
    y, last = layer(x, rest(layer, x))
    state, steps = rest(layer, x), []
    for t in range(x.shape[0]):
        s, state = layer.step(x[t], state)
        steps.append(s)
    torch.testing.assert_close(torch.stack(steps), y, rtol=0, atol=0)
    for a, b in zip(state, last):
        torch.testing.assert_close(a, b, rtol=0, atol=0)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_those_of_finite_differences(name):
    if name in STOPPED:
        pytest.skip("its gradient is not the derivative of its output")
    layer = make(name, surrogate=st.surrogate.Sigmoid(4.0), reset_grad="surrogate")
    # Without spikes the output is the primitive of the surrogate, which is smooth.
    definition = json.loads(layer.definition)
    definition["spiking"] = False
    if name in ("TernaryIf", "TernaryLif", "Heaviside", "Ilif") or "nir" in definition["name"]:
        pytest.skip("its output has no smooth form")
    definition = json.dumps(definition)
    x = inputs(torch.float64, scale=0.3).requires_grad_()
    params = [p.detach().double().requires_grad_() for p in layer._operands(x)]
    states = [torch.rand(x.shape[1:], dtype=torch.float64).mul(0.2).requires_grad_() for _ in layer._states]
    if name == "GatedLif":
        states = [None for _ in states]
    ops = operators(len(states), len(params))

    def run(x, *rest):
        given = list(rest)
        of_states = [given.pop(0) if s is not None else None for s in states]
        return call(ops, definition, 0, x, *of_states, *given)

    tensors = [x, *(s for s in states if s is not None), *params]
    torch.autograd.gradcheck(run, tensors, eps=1e-6, atol=1e-5, rtol=1e-3, fast_mode=True)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("name", NAMES)
def test_16_bit_inputs_are_computed_in_float32(name, dtype):
    layer = make(name)
    x = inputs(torch.float32).to(dtype)
    wide = x.float() if dtype != torch.float64 else x
    y, state = layer(x, rest(layer, x))
    expected, expected_state = layer(wide, rest(layer, wide))
    assert y.dtype == dtype
    torch.testing.assert_close(y, expected.to(dtype), rtol=0, atol=0)
    for a, b in zip(state, expected_state):
        assert a.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
        torch.testing.assert_close(a, b, rtol=0, atol=0)


@pytest.mark.parametrize("name", NAMES)
def test_layouts_do_not_change_the_results(name):
    layer, x = make(name), inputs()
    y, state = layer(x, rest(layer, x))
    t, n = x.shape[:2]
    last = x.flatten(0, 1).to(memory_format=torch.channels_last).unflatten(0, (t, n))
    strided = torch.stack([x, x], dim=-1)[..., 0]
    for other in (last, strided, x.transpose(0, 1).contiguous().transpose(0, 1)):
        other_y, other_state = layer(other, rest(layer, x))
        torch.testing.assert_close(other_y, y, rtol=0, atol=0)
        for a, b in zip(other_state, state):
            torch.testing.assert_close(a, b, rtol=0, atol=0)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("reset_grad", ["surrogate", "detach", "soft"])
@pytest.mark.parametrize("name", [name for name in st.surrogate.__all__ if name not in ("Surrogate", "Scaled", "PoissonPass")])
def test_every_surrogate_and_reset_runs(name, reset_grad, soft):
    surrogate = getattr(st.surrogate, name)()
    try:
        layer = st.Lif(2.0, v_reset=None if soft else 0.0, surrogate=surrogate, reset_grad=reset_grad)
    except (ValueError, RuntimeError) as error:
        assert reset_grad == "soft" and "primitive" in str(error)
        return
    x = inputs().requires_grad_()
    y, state = layer(x, None)
    (y.sum() + state.v.sum()).backward()
    assert torch.isfinite(x.grad).all()


def test_a_factor_scales_the_gradient():
    x = inputs().requires_grad_()
    plain, doubled = (
        torch.autograd.grad(st.If(surrogate=s, reset_grad="detach")(x[:1]).sum(), x)[0]
        for s in (st.surrogate.Atan(), 2.0 * st.surrogate.Atan())
    )
    torch.testing.assert_close(doubled, 2.0 * plain)


def test_trainable_constants_have_gradients():
    x = inputs()
    lif = st.Lif(3.0, trainable={"tau": st.Trainable("channel", above=1.0), "v_threshold": "layer", "v_start": "neuron"}, shape=SHAPE)
    assert {n: tuple(p.shape) for n, p in lif.named_parameters()} == {
        "tau": (4,), "v_threshold": (), "v_start": (4, 2, 2)}
    y, state = lif(x, None)
    (y.sum() + state.v.sum()).backward()
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in lif.parameters())
    torch.testing.assert_close(y, st.Lif(3.0)(x), rtol=0, atol=0)


def test_the_gradient_of_a_constant_is_the_same_in_every_run():
    x = torch.randn(4, 64, 32, 16, 16)
    plif = st.Plif()
    grads = []
    for _ in range(3):
        plif.zero_grad()
        plif(x).sum().backward()
        grads.append(plif.w.grad.clone())
    assert grads[0] == grads[1] == grads[2]
    wide, narrow = st.Plif().double(), plif.w.grad.double()
    wide(x.double()).sum().backward()
    torch.testing.assert_close(narrow, wide.w.grad, rtol=1e-5, atol=0)


def test_an_input_that_is_repeated_over_time_is_read_once():
    image = torch.rand(1, 3, 4, requires_grad=True)
    y, (v,) = st.Lif()(image, None, time_steps=6)
    expected, (expected_v,) = st.Lif()(image.expand(6, 3, 4), None)
    torch.testing.assert_close(y, expected, rtol=0, atol=0)
    torch.testing.assert_close(v, expected_v, rtol=0, atol=0)
    (grad,) = torch.autograd.grad(v.sum(), image)
    (expected_grad,) = torch.autograd.grad(expected_v.sum(), image)
    torch.testing.assert_close(grad, expected_grad)


def test_one_thread_and_two_give_the_same_bits():
    x = torch.randn(8, 200_000)
    plif, results = st.Plif(), []
    threads = torch.get_num_threads()
    for count in (1, 2):
        torch.set_num_threads(count)
        plif.zero_grad()
        y = plif(x)
        y.sum().backward()
        results.append((y.detach(), plif.w.grad.clone()))
    torch.set_num_threads(threads)
    assert torch.equal(results[0][0], results[1][0]) and torch.equal(results[0][1], results[1][1])


def test_a_neuron_that_fires_without_input_is_warned_of():
    """The neuron of SpikingFlow's tutorial."""
    with pytest.warns(UserWarning, match="`lif` fires at every time step without input"):
        lif = st.Lif(tau=100.0, v_threshold=1.0, v_reset=5.0)
    assert (lif(torch.zeros(4, 2, 3)) == 1).all()
