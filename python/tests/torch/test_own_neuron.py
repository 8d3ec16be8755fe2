"""A neuron of one's own against a loop in PyTorch, and against the library's neuron of the same equation."""

import copy
import pickle

import pytest
import torch

import spikelet.torch as st
from spikelet.torch import expression as E


@st.neuron(states={"v": 0.0, "a": 0.0}, params={"b": 0.2})
def adaptive(n, x, *, decay=0.9):
    """A threshold that rises with each spike."""
    h = n.v * decay + x
    s = n.spike(h - (n.v_threshold + n.a))
    return n.emit(s, v=n.reset(h, s), a=n.a * 0.95 + n.b * s)


@st.neuron()
def leaky(n, x, *, tau=2.0):
    h = n.v + (x - (n.v - n.v_reset)) / tau
    s = n.spike(h - n.v_threshold)
    return n.emit(s, v=n.reset(h, s))


class Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x >= 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad / (1 + (torch.pi * x) ** 2)


def loop(x, b, decay=0.9):
    v = a = torch.zeros_like(x[0])
    out = []
    for t in range(x.shape[0]):
        h = v * decay + x[t]
        s = Spike.apply(h - (1.0 + a))
        v = (1 - s) * h
        a = a * 0.95 + b * s
        out.append(s)
    return torch.stack(out), v, a


def test_spikes_and_gradients_are_those_of_a_loop():
    layer = adaptive(decay=0.9, surrogate=st.surrogate.Atan(2.0))
    x = torch.randn(9, 3, 5) + 0.3
    weight = torch.randn(9, 3, 5)
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    y, state = layer(ours, None)
    ((y * weight).sum() + state.v.sum() + state.a.sum()).backward()
    b = torch.tensor(0.2, requires_grad=True)
    expected, v, a = loop(theirs, b)
    ((expected * weight).sum() + v.sum() + a.sum()).backward()
    assert torch.equal(y, expected)
    torch.testing.assert_close(state.v, v)
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(layer.b.grad, b.grad, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("v_reset", [0.0, -0.2, None])
@pytest.mark.parametrize("reset_grad", ["surrogate", "detach", "soft"])
def test_an_equation_of_the_library_gives_its_results(v_reset, reset_grad):
    constants = {"v_reset": v_reset, "reset_grad": reset_grad, "surrogate": st.surrogate.Sigmoid(3.0)}
    own, library = leaky(tau=3.0, **constants), st.Lif(3.0, **constants)
    results = []
    for layer in (own, library):
        torch.manual_seed(0)
        x = torch.randn(6, 40).mul(2).requires_grad_()
        # The library's neuron starts from v_reset, this one from 0.
        start = layer.State(torch.zeros(40))
        y, state = layer(x, start)
        (y.sum() + state.v.sum()).backward()
        results.append((y.detach(), state.v.detach(), x.grad))
    for a, b in zip(*results):
        assert torch.equal(a, b)


def test_a_constant_is_trained_by_name():
    layer = leaky(trainable={"tau": st.Trainable("channel", above=1.0)}, shape=(4, 2, 3))
    layer(torch.rand(4, 2, 3)).sum().backward()
    assert layer.tau.grad.shape == (3,)


def test_copies_files_and_compiled_code():
    layer, x = adaptive(decay=0.8), torch.rand(4, 3, 5)
    y, state = layer(x, None)
    assert torch.equal(copy.deepcopy(layer)(x), y)
    assert torch.equal(pickle.loads(pickle.dumps(layer))(x), y)
    assert torch.equal(pickle.loads(pickle.dumps(state)).a, state.a)
    torch._dynamo.reset()
    assert torch.equal(torch.compile(layer, fullgraph=True, backend="aot_eager")(x), y)


def test_texts():
    layer = leaky(tau=2.0)
    assert "v" in layer.equations() and "≥" in layer.equations()
    assert "d_v" in layer.gradient()
    assert "leaky_fptt" in layer.kernel() and "leaky_bptt" in layer.kernel("backward")


def test_functions_and_options():
    @st.neuron(states={"u": 0.5})
    def curve(n, x, *, gain=1.0, clip=True):
        u = E.tanh(n.u) + gain * E.where(x > 0, E.exp(-x), E.sqrt(E.abs(x)))
        u = E.minimum(u, 2.0) if clip else u
        return n.emit(u, u=u)

    x = torch.randn(3, 4)
    y, state = curve(gain=2.0)(x, None)
    u = torch.full((4,), 0.5)
    for t in range(3):
        u = torch.clamp(torch.tanh(u) + 2.0 * torch.where(x[t] > 0, torch.exp(-x[t]), x[t].abs().sqrt()), max=2.0)
        torch.testing.assert_close(y[t], u)
    torch.testing.assert_close(state.u, u)
    assert not torch.equal(curve(gain=2.0, clip=False)(x * 9)[0], curve(gain=2.0)(x * 9)[0])


@pytest.mark.parametrize(
    ("equation", "message"),
    [
        (lambda n, x: n.emit(x if x > 0 else n.v), "where"),
        (lambda n, x: n.emit(E.where(0 < x < 1, x, 0.0)), "chained"),
        (lambda n, x: n.emit(torch.exp(x)), "spikelet.torch.expression.exp"),
        (lambda n, x: n.emit(x * torch.ones(3)), "params"),
        (lambda n, x: n.emit(x * n.w), "no state or parameter `w`"),
        (lambda n, x: n.emit(x, w=x), "not a state"),
        (lambda n, x: x, "n.emit"),
        (lambda n, x: n.emit(x + "1"), "expected an expression"),
    ],
)
def test_wrong_equations_say_what_to_do(equation, message):
    with pytest.raises((TypeError, ValueError, AttributeError), match=message):
        st.neuron()(equation)()


def test_wrong_constants_say_what_there_is():
    with pytest.raises(TypeError, match="it has tau"):
        leaky(decay=0.5)
    with pytest.raises(TypeError, match="rename it"):
        @st.neuron()
        def wrong(n, x, *, v=1.0):
            return n.emit(x)
