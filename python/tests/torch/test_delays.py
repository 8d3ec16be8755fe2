"""Layers with delays against plain computations in PyTorch."""

import copy
import pickle

import pytest
import torch
from torch.nn import functional as F

import spikelet.torch as st

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"))]


def dcls(layer, x):
    """The same with the kernel and the convolution written out."""
    size = layer.kernel_size
    tap = torch.arange(size, dtype=x.dtype, device=x.device)
    if layer.training:
        distance = tap - (layer.position + size // 2).unsqueeze(-1)
        g = {
            "gaussian": lambda: torch.exp(-0.5 * (distance / (layer.delay_width.abs() + 0.27)) ** 2),
            "max": lambda: (layer.delay_width.abs() + 1 - distance.abs()).relu(),
            "v1": lambda: (1 - distance.abs()).relu(),
        }[layer.version]()
    else:
        at = (layer.position.round() + size // 2).clamp(0, size - 1)
        g = (tap == at.unsqueeze(-1)).to(x.dtype)
    kernel = (layer.weight.unsqueeze(-1) * g / (g.sum(-1, keepdim=True) + 1e-7)).sum(2)
    padded = F.pad(x.permute(1, 2, 0), (size - 1, 0))
    y = F.conv1d(padded, kernel).permute(2, 0, 1)
    return y if getattr(layer, "bias", None) is None else y + layer.bias


def linear(layer, x):
    """A sum over the inputs, each delayed for each output."""
    delay = layer.delay.round().clamp(0, layer.max_delay).long()
    y = x.new_zeros(x.shape[0], x.shape[1], layer.out_features)
    for o in range(layer.out_features):
        for i in range(layer.in_features):
            d = int(delay[o, i])
            shifted = F.pad(x[: max(x.shape[0] - d, 0), :, i], (0, 0, min(d, x.shape[0]), 0))
            y[:, :, o] += layer.weight[o, i] * shifted
    return y if getattr(layer, "bias", None) is None else y + layer.bias


def axonal(layer, x):
    """A sum of shifted sequences for each channel."""
    lag = torch.arange(layer.max_delay + 1, dtype=x.dtype, device=x.device)
    distance = lag - layer.delay.clamp(0, layer.max_delay).unsqueeze(1)
    g = (1 - distance.abs()).relu() if layer.sigma is None else torch.exp(-distance**2 / (2 * layer.sigma**2))
    g = g / g.sum(1, keepdim=True).clamp(min=1e-12)
    y = 0
    for k in range(min(layer.max_delay + 1, x.shape[0])):
        shifted = torch.cat([torch.zeros_like(x[:k]), x[: x.shape[0] - k]])
        y = y + shifted * g[:, k].view(-1, *[1] * (x.dim() - 3))
    return y


#: A layer, its plain computation and the shape of its input.
LAYERS = {
    "dcls": (lambda: st.Dcls1d(5, 4, 7), dcls, (9, 3, 5)),
    "dcls of an even size": (lambda: st.Dcls1d(5, 4, 6), dcls, (9, 3, 5)),
    "dcls longer than the sequence": (lambda: st.Dcls1d(5, 4, 12), dcls, (3, 2, 5)),
    "dcls max": (lambda: st.Dcls1d(5, 4, 7, version="max", width=1.5), dcls, (9, 3, 5)),
    "dcls v1": (lambda: st.Dcls1d(5, 4, 7, version="v1"), dcls, (9, 3, 5)),
    "dcls wide, two kernels, a bias": (lambda: st.Dcls1d(5, 4, 7, kernel_count=2, width=3.0, bias=True), dcls, (9, 3, 5)),
    "dcls without delays": (lambda: st.Dcls1d(5, 4, 1), dcls, (9, 3, 5)),
    "linear": (lambda: st.DelayedLinear(5, 4, 3), linear, (9, 3, 5)),
    "linear with a bias": (lambda: st.DelayedLinear(5, 4, 6, bias=True), linear, (4, 2, 5)),
    "linear without delays": (lambda: st.DelayedLinear(5, 4, 0), linear, (4, 2, 5)),
    "axonal": (lambda: st.AxonalDelay(5, 3), axonal, (9, 3, 5)),
    "axonal images": (lambda: st.AxonalDelay(5, 3), axonal, (9, 2, 5, 3, 2)),
    "axonal gaussian": (lambda: st.AxonalDelay(5, 4, sigma=1.5), axonal, (9, 3, 5)),
    "axonal fixed": (lambda: st.AxonalDelay(5, 4, trainable=False), axonal, (9, 3, 5)),
}  # fmt: skip


def made(name, dtype=torch.float32, device="cpu"):
    torch.manual_seed(1)
    make, plain, shape = LAYERS[name]
    return make().to(device=device, dtype=dtype), plain, torch.randn(shape, dtype=dtype, device=device)


def with_gradients(layer, run, x):
    x = x.clone().requires_grad_()
    layer.zero_grad()
    y = run(x)
    torch.manual_seed(2)
    (y * torch.randn(y.shape, dtype=y.dtype).to(y.device)).sum().backward()
    grads = {name: torch.zeros_like(p) if p.grad is None else p.grad.clone() for name, p in layer.named_parameters()}
    return y.detach(), x.grad, grads


# GPUs compute in f32, f16 and bf16.
@pytest.mark.parametrize("device, dtype", [("cpu", torch.float64), *((d, torch.float32) for d in ("cpu", "cuda"))])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", LAYERS)
def test_results_and_gradients(name, training, device, dtype):
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    layer, plain, x = made(name, dtype, device)
    layer.train(training)
    y, of_x, of_params = with_gradients(layer, layer, x)
    their_y, their_x, their_params = with_gradients(layer, lambda x: plain(layer, x), x)
    tolerance = {"rtol": 1e-4, "atol": 1e-5} if dtype == torch.float32 else {"rtol": 1e-9, "atol": 1e-9}
    torch.testing.assert_close(y, their_y, **tolerance)
    torch.testing.assert_close(of_x, their_x, **tolerance)
    assert of_params.keys() == their_params.keys()
    for param, grad in of_params.items():
        torch.testing.assert_close(grad, their_params[param], **tolerance)


@pytest.mark.parametrize("name", ["dcls", "dcls max", "axonal gaussian", "linear with a bias"])
def test_gradients_are_finite_differences(name):
    layer, _, x = made(name, torch.float64)
    names = [name for name, _ in layer.named_parameters()]
    params = [p.detach().clone().requires_grad_() for p in layer.parameters()]
    call = lambda x, *params: torch.func.functional_call(layer, dict(zip(names, params)), (x,))
    assert torch.autograd.gradcheck(call, (x.requires_grad_(), *params), eps=1e-6, atol=1e-6)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", LAYERS)
def test_a_sequence_in_two_parts(name, training, device):
    layer, _, x = made(name, device=device)
    layer.train(training)
    whole, last = layer(x, None)
    first, state = layer(x[:2], None)
    second, state = layer(x[2:], state)
    torch.testing.assert_close(torch.cat([first, second]), whole)
    assert isinstance(state, st.DelayState)
    if last.delay_line is not None:
        assert torch.equal(state.delay_line, last.delay_line)
        assert last.delay_line.shape[0] == x.shape[1] and last.delay_line.shape[-1] == x.shape[2]


@pytest.mark.parametrize("name", ["dcls", "linear", "axonal"])
def test_gradients_through_the_state(name):
    layer, _, x = made(name, torch.float64)
    _, state = layer(x, None)
    def run(x, line):
        y, last = layer(x, st.DelayState(line))
        return y, last.delay_line
    line = torch.randn_like(state.delay_line).requires_grad_()
    assert torch.autograd.gradcheck(run, (x.requires_grad_(), line), eps=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["dcls", "linear", "axonal images"])
def test_sixteen_bits(name):
    for dtype in (torch.float16, torch.bfloat16):
        for training in (True, False):
            layer, plain, x = made(name)
            layer.train(training)
            y = layer(x.to(dtype))
            assert y.dtype == dtype
            torch.testing.assert_close(y.float(), plain(layer, x).detach(), rtol=0.05, atol=0.1)


@pytest.mark.parametrize("name", ["dcls", "linear with a bias", "axonal"])
def test_operators_are_checked(name):
    layer, _, x = made(name)
    for training in (True, False):
        layer.train(training)
        params = [p.detach().clone().requires_grad_(p.requires_grad) for p in layer._operands(x)]
        operator = st._operators.operators(1, len(params)).forward
        torch.library.opcheck(operator, (x.clone().requires_grad_(), None, *params, layer.definition, 0))


@pytest.mark.parametrize("name", ["dcls", "linear", "axonal images"])
def test_compiled_code_and_vmap(name):
    layer, _, x = made(name)
    torch._dynamo.reset()
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    expected = with_gradients(layer, layer, x)
    torch.testing.assert_close(with_gradients(layer, compiled, x), expected)
    layer.eval()
    torch.testing.assert_close(compiled(x), layer(x))
    stacked = torch.stack([x, -x])
    torch.testing.assert_close(torch.func.vmap(layer)(stacked), torch.stack([layer(x), layer(-x)]))


@pytest.mark.parametrize("name", ["dcls", "linear", "axonal"])
def test_copies_and_saved_weights(name):
    layer, _, x = made(name)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(other(x), layer(x)) and torch.equal(other.eval()(x), copy.deepcopy(layer).eval()(x))
    fresh = LAYERS[name][0]()
    assert not torch.equal(fresh(x), layer(x))
    fresh.load_state_dict(layer.state_dict())
    assert torch.equal(fresh(x), layer(x))


def test_initial_values():
    layer = st.Dcls1d(40, 30, 9)
    assert layer.weight.abs().max() <= 40**-0.5 and -4 <= layer.position.min() and layer.position.max() <= 4
    assert layer.delay.min() >= 0 and layer.delay.max() <= 8 and torch.isclose(layer.delay_width, torch.tensor(0.23))
    fixed = st.DelayedLinear(40, 30, 5).delay.round()
    assert fixed.min() >= 0 and fixed.max() <= 5 and len(fixed.unique()) == 6


def test_positions_are_limited_and_widths_are_set():
    layer, x = st.Dcls1d(5, 4, 7), torch.randn(9, 2, 5)
    layer.position.data.mul_(100)
    layer.clamp_parameters()
    assert layer.position.abs().max() == 3
    before = layer(x)
    layer.delay_width.fill_(3.0)
    assert not torch.equal(layer(x), before)
    torch.testing.assert_close(layer(x), dcls(layer, x))


def test_a_delay_is_learned():
    torch.manual_seed(0)
    layer, x = st.AxonalDelay(1, 8, sigma=1.0), torch.zeros(12, 1, 1)
    x[1] = 1.0
    layer.delay.data.fill_(2.0)
    target = copy.deepcopy(layer)
    target.delay.data.fill_(4.0)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)
    for _ in range(100):
        optimizer.zero_grad()
        (layer(x) - target(x)).square().sum().backward()
        optimizer.step()
    assert abs(layer.delay.item() - 4.0) < 0.05


def feedback(layer, neuron, x):
    """The same with a loop over the time steps."""
    width = layer.feedback_delay_width
    if hasattr(layer, "feedback_spread"):
        width = 1 + layer.feedback_spread.sigmoid() * width * 2
    else:
        width = 1 + width
    delay = layer.feedback_delay if layer.training else layer.feedback_delay.round()
    history, state, out = [], None, []
    for t in range(x.shape[0]):
        fed = torch.zeros_like(x[0])
        for k, spikes in enumerate(reversed(history), 1):
            mask = (width - (k - (1 + delay)).abs()).relu() / width**2
            weight = layer.feedback_weight * mask
            fed = fed + F.linear(spikes, weight)
        spikes, state = neuron.step(x[t] + fed, state)
        history.append(spikes)
        out.append(spikes)
    return torch.stack(out)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("options", [{}, {"width": 2.0}, {"width": 1.0, "synaptic": True}, {"width": 1.0, "spread": True}])
def test_delayed_recurrent_connections(options, training, device):
    torch.manual_seed(3)
    neuron = st.Lif(2.0, surrogate=st.surrogate.Atan()).to(device)
    layer = st.Recurrent(neuron, 6, max_delay=3, **options).to(device).train(training)
    if "spread" in options:
        # Otherwise triangles end at whole steps, where they have no derivative.
        layer.feedback_spread.data.fill_(0.3)
    x = torch.randn(8, 4, 6).to(device) + 0.5
    y, of_x, of_params = with_gradients(layer, layer, x)
    their_y, their_x, their_params = with_gradients(layer, lambda x: feedback(layer, neuron, x), x)
    assert torch.equal(y, their_y) and 0 < y.mean() < 1
    torch.testing.assert_close(of_x, their_x, rtol=1e-4, atol=1e-5)
    for name, grad in of_params.items():
        torch.testing.assert_close(grad, their_params[name], rtol=1e-4, atol=1e-4)
    first, state = layer(x[:3], None)
    second, state = layer(x[3:], state)
    assert torch.equal(torch.cat([first, second]), y)
    assert pickle.loads(pickle.dumps(state))._fields == state._fields


def test_delayed_recurrent_connections_are_compiled():
    layer, x = st.Recurrent(st.Plif(), 6, max_delay=3, width=1.0), torch.randn(5, 4, 6) + 0.5
    torch._dynamo.reset()
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(with_gradients(layer, compiled, x), with_gradients(layer, layer, x))
    layer.feedback_delay.data.fill_(100.0)
    layer.clamp_parameters()
    assert layer.feedback_delay.max() == 3


def test_an_optimizer_keeps_limits_and_widths_shrink():
    net = torch.nn.Sequential(st.Dcls1d(5, 4, 7, width=3.0), st.Recurrent(st.Lif(), 4, max_delay=3, width=2.0))
    optimizer = torch.optim.SGD(net.parameters(), lr=1e4)
    handle = st.register_constraints(net, optimizer)
    net(torch.rand(9, 2, 5)).sum().backward()
    optimizer.step()
    assert net[0].position.abs().max() <= 3 and 0 <= net[1].feedback_delay.min() <= net[1].feedback_delay.max() <= 3
    handle.remove()
    width = st.DelayWidth(net, 8.0, 2.0, epochs=10)
    assert float(net[0].delay_width) == float(net[1].feedback_delay_width) == 8.0
    net.double()
    for _ in range(5):
        width.step()
    assert float(net[0].delay_width) == 4.0
    resumed = st.DelayWidth(net, 8.0, 2.0, epochs=10)
    resumed.load_state_dict(width.state_dict())
    assert float(net[1].feedback_delay_width) == 4.0 and resumed.step() < 4.0


def test_empty_batches():
    layer, x = st.Dcls1d(5, 4, 7), torch.empty(6, 0, 5, requires_grad=True)
    y, state = layer(x, None)
    assert y.shape == (6, 0, 4) and state.delay_line.shape == (0, 6, 5)
    y.sum().backward()
    assert x.grad.shape == x.shape and not layer.weight.grad.any()


WRONG = {
    "features": (lambda: st.Dcls1d(5, 4, 7)(torch.rand(6, 2, 3)), r"\[6, 2, 3\].*\[5\]"),
    "no batch": (lambda: st.DelayedLinear(5, 4, 3)(torch.rand(6, 5)), r"\[6, 5\].*\[5\]"),
    "images": (lambda: st.Dcls1d(5, 4, 7)(torch.rand(6, 2, 5, 3)), r"\[5\]"),
    "channels": (lambda: st.AxonalDelay(5, 3)(torch.rand(6, 2, 4, 3)), r"\[5\]"),
    "a state": (lambda: st.Dcls1d(5, 4, 7)(torch.rand(6, 2, 5), st.DelayState(torch.rand(2, 5, 5))), r"\[2, 6, 5\]"),
    "a state of images": (
        lambda: st.AxonalDelay(5, 3)(torch.rand(6, 2, 5, 2), st.DelayState(torch.rand(2, 3, 5))), r"\[2, 2, 3, 5\]"),
    "a kernel without size": (lambda: st.Dcls1d(5, 4, 0), "kernel_size"),
    "a version": (lambda: st.Dcls1d(5, 4, 7, version="gauss"), "gaussian"),
    "a width": (lambda: st.Dcls1d(5, 4, 7, width=-1.0), "width"),
    "a delay": (lambda: st.AxonalDelay(5, -1), "axonal-delay"),
    "sigma": (lambda: st.AxonalDelay(5, 3, sigma=0.0), "sigma"),
    "no inputs": (lambda: st.DelayedLinear(0, 4, 3), "input"),
    "no limits": (lambda: st.register_constraints(torch.nn.Linear(2, 2), torch.optim.SGD(torch.nn.Linear(2, 2).parameters())), "delays"),
    "no delays": (
        lambda: st.register_constraints(st.Recurrent(st.Lif(), 3), torch.optim.SGD(torch.nn.Linear(2, 2).parameters())), "delays"),
    "another optimizer": (
        lambda: st.register_constraints(st.Dcls1d(5, 4, 7), torch.optim.SGD(torch.nn.Linear(2, 2).parameters())), "no parameter"),
    "no widths": (lambda: st.DelayWidth(torch.nn.Linear(2, 2), 2.0, 1.0, 4), "learned delays"),
    "a negative width": (lambda: st.DelayWidth(st.Dcls1d(5, 4, 7), -2.0, 1.0, 4), "start is -2.0"),
    "a width without delays": (lambda: st.Recurrent(st.Lif(), 5, width=1.0), "max_delay"),
    "integers": (lambda: st.Dcls1d(5, 4, 7)(torch.ones(6, 2, 5, dtype=torch.int64)), "float32, float16"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls_say_what_was_expected(name):
    call, message = WRONG[name]
    with pytest.raises((ValueError, TypeError, RuntimeError), match=message):
        call()
