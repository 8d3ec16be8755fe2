"""The rules of PyTorch's operators: opcheck, torch.compile, export, vmap, copies, errors."""

import copy
import io
import pickle

import pytest
import torch
from torch import nn

import spikelet.torch as st

LAYERS = {
    "lif": lambda: st.Lif(2.0, surrogate=st.surrogate.Atan()),
    "if": lambda: st.If(v_reset=None),
    "plif": lambda: st.Plif(),
    "cuba_lif": lambda: st.CubaLif(),
    "synaptic": lambda: st.Synaptic(),
    "channel": lambda: st.Lif(2.0, trainable={"tau": st.Trainable("channel", above=1.0)}, shape=(4, 2, 3, 4, 4)),
    "psn": lambda: st.Psn(shape=(4, 2, 3, 4, 4)),
    "heaviside": lambda: st.Heaviside(),
    "non_spiking": lambda: st.NonSpikingLif(readout="last"),
}


def images(**kwargs):
    torch.manual_seed(0)
    return torch.randn(4, 2, 3, 4, 4, **kwargs)


def arguments(layer, x, given):
    states = [torch.rand(x.shape[1:]) if given else None for _ in layer._states]
    return (x, *states, *layer._operands(x), layer.definition, 0)


def forward_of(layer):
    return st._operators.operators(len(layer._states), len(layer._params)).forward


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_opcheck(name, given):
    layer = LAYERS[name]()
    x = images(requires_grad=True)
    last = x.detach().flatten(0, 1).to(memory_format=torch.channels_last).unflatten(0, (4, 2)).requires_grad_()
    still = torch.rand(1, 2, 3, 4, 4).expand(4, 2, 3, 4, 4)
    for operand in (x, last, still, x.detach().bfloat16()):
        torch.library.opcheck(forward_of(layer), arguments(layer, operand, given))


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("name", LAYERS)
def test_compiled_code_gives_the_same_results(name, backend):
    layer = LAYERS[name]()
    torch._dynamo.reset()
    compiled = torch.compile(layer, fullgraph=True, backend=backend)
    results = []
    for run in (layer, compiled):
        x = images(requires_grad=True)
        layer.zero_grad()
        y, state = run(x, None)
        (y.sum() + sum((s * s).sum() for s in state)).backward()
        results.append([y.detach(), *(s.detach() for s in state), x.grad, *(p.grad.clone() for p in layer.parameters())])
    for a, b in zip(*results):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6)


def test_one_graph_for_all_shapes():
    torch._dynamo.reset()
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(st.Lif(2.0), fullgraph=True, backend=counter, dynamic=True)
    for t, n in ((4, 3), (7, 5), (9, 11), (16, 2)):
        x = torch.randn(t, n, 6)
        torch.testing.assert_close(compiled(x), st.Lif(2.0)(x), rtol=0, atol=0)
    assert counter.frame_count == 1


def test_a_network_with_neurons_compiles():
    torch._dynamo.reset()
    net = nn.Sequential(nn.Linear(6, 5), st.Lif(2.0), nn.Linear(5, 4), st.Plif())
    compiled = torch.compile(net, fullgraph=True)
    x = torch.randn(4, 3, 6)
    torch.testing.assert_close(compiled(x), net(x))


def test_functional_calls_compile():
    torch._dynamo.reset()
    plif, x, w = st.Plif(), torch.randn(4, 3), torch.tensor(0.3)
    call = lambda w, x: torch.func.functional_call(plif, {"w": w}, (x, None))
    compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(w, x)[0], call(w, x)[0], rtol=0, atol=0)


def test_export_keeps_the_operator_with_a_dynamic_batch():
    net = nn.Sequential(nn.Linear(6, 5), st.Lif(2.0)).eval()
    batch = torch.export.Dim("batch", min=2, max=64)
    program = torch.export.export(net, (torch.randn(4, 3, 6),), dynamic_shapes=({1: batch},))
    assert "spikelet.layer_1_0" in str(program.graph)
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    loaded = torch.export.load(file).module()
    x = torch.randn(4, 7, 6)
    torch.testing.assert_close(loaded(x), net(x))


@pytest.mark.parametrize("name", LAYERS)
def test_vmap_is_a_batch_of_neurons(name):
    layer, x = LAYERS[name](), torch.randn(6, 4, 2, 3, 4, 4)
    expected = torch.stack([layer(one) for one in x])
    torch.testing.assert_close(torch.vmap(layer)(x), expected, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(torch.vmap(layer, in_dims=2)(x.movedim(0, 2)), expected, rtol=1e-6, atol=1e-6)


def test_functional_gradients():
    lif, x = st.Lif(2.0), images()
    (expected,) = torch.autograd.grad(lif(x.requires_grad_()).sum(), x)
    torch.testing.assert_close(torch.func.grad(lambda x: lif(x).sum())(x.detach()), expected)
    each = torch.vmap(torch.func.grad(lambda x: lif(x).sum()), in_dims=1, out_dims=1)(x.detach())
    torch.testing.assert_close(each, expected)
    # Gradients of a parameter for each sample.
    w = torch.tensor(0.3)
    plif = st.Plif()
    of_w = torch.func.grad(lambda w, x: torch.func.functional_call(plif, {"w": w}, (x,)).sum())
    each = torch.vmap(of_w, in_dims=(None, 1))(w, x.detach())
    torch.testing.assert_close(each.sum(), of_w(w, x.detach()))


def test_copies_and_files():
    for make in LAYERS.values():
        layer = make()
        x = images()
        expected = layer(x)
        assert torch.equal(copy.deepcopy(layer)(x), expected)
        assert torch.equal(pickle.loads(pickle.dumps(layer))(x), expected)
    lif = st.Lif(2.0)
    _, state = lif(images(), None)
    assert torch.equal(pickle.loads(pickle.dumps(state)).v, state.v)
    assert copy.deepcopy(state)._fields == ("v",)


def test_parameters_take_their_shape_from_the_first_input_or_a_file():
    lif = st.Lif(2.0, trainable={"tau": st.Trainable("channel", above=1.0)})
    lif(images())
    assert lif.tau.shape == (3,)
    other = st.Lif(2.0, trainable={"tau": st.Trainable("channel", above=1.0)})
    other.load_state_dict(lif.state_dict())
    assert torch.equal(other.tau, lif.tau)


def test_a_second_derivative_is_refused():
    x = images(requires_grad=True)
    (grad,) = torch.autograd.grad(st.Lif(2.0)(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="no second derivative"):
        grad.sum().backward()
    compiled = torch.compile(st.Lif(2.0), backend="aot_eager", fullgraph=True)
    with pytest.raises(RuntimeError):
        (grad,) = torch.autograd.grad(compiled(x).sum(), x, create_graph=True)
        grad.sum().backward()


def test_a_state_that_is_not_used_has_no_gradient():
    x, v = images(requires_grad=True), torch.rand(2, 3, 4, 4, requires_grad=True)
    lif = st.Lif(2.0)
    s, _ = lif(x, lif.State(v))
    s.sum().backward()
    assert x.grad.shape == x.shape and v.grad.shape == v.shape
    x.grad = None
    _, last = lif(x, lif.State(v.detach()))
    last.v.sum().backward()
    assert torch.isfinite(x.grad).all()


def test_memory_is_not_kept():
    lif, x = st.Lif(2.0), torch.randn(4, 8, requires_grad=True)
    def count():
        import gc
        gc.collect()
        return sum(isinstance(o, torch.Tensor) for o in gc.get_objects())
    lif(x).sum().backward()
    before = count()
    for _ in range(200):
        lif(x).sum().backward()
    assert count() <= before + 2


def test_empty_batches():
    y, state = st.Lif(2.0)(torch.empty(4, 0, 3), None)
    assert y.shape == (4, 0, 3) and state.v.shape == (0, 3)
    plif, x = st.Plif(), torch.empty(4, 0, 3, requires_grad=True)
    plif(x).sum().backward()
    assert x.grad.shape == x.shape and plif.w.grad == 0


WRONG = {
    "no time axis": (lambda: st.Psn(shape=(4, 2, 3))(torch.rand(4)), "expected \\[T, N"),
    "no steps": (lambda: st.Lif()(torch.rand(0, 3)), "no time steps"),
    "integers": (lambda: st.Lif()(torch.ones(4, 3, dtype=torch.int64)), "float32, float16"),
    "state of another shape": (lambda: st.Lif()(torch.rand(4, 3), st.LifState(torch.rand(4))), "expected \\[3\\]"),
    "state of another type": (lambda: st.Lif()(torch.rand(4, 3), st.LifState(torch.rand(3).double())), "the state `v` is f64, expected f32"),
    "too many states": (lambda: st.Lif()(torch.rand(4, 3), (None, None)), "has the states v"),
    "constant outside its domain": (lambda: st.Lif(tau=0.5), "tau"),
    "unknown trainable constant": (lambda: st.Lif(trainable={"x": "layer"}), "x"),
    "unknown readout": (lambda: st.NonSpikingLif(readout="first"), "readout"),
    "a constant is set": (lambda: setattr(st.Lif(), "tau", 3.0), "make a new module"),
    "a step of a parallel neuron": (lambda: st.Psn(shape=(4, 2, 3)).step(torch.rand(2, 3)), "all time steps"),
    "another number of steps": (lambda: st.Psn(shape=(4, 2, 3))(torch.rand(5, 2, 3)), "expected"),
    "steps of a repeated input": (lambda: st.Lif()(torch.rand(4, 3), time_steps=5), "repeat an x of one step"),
    "two bounds": (lambda: st.Trainable(above=1.0, clamp=(0.0, 1.0)), "one bound"),
    "channels that do not match": (
        lambda: st.Lif(trainable={"tau": "channel"}, shape=(4, 2, 3))(torch.rand(4, 2, 5)), "expected 5 elements"),
    "random surrogate": (lambda: st.Lif(surrogate=st.surrogate.PoissonPass()), "another surrogate"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls_say_what_to_do(name):
    call, message = WRONG[name]
    with pytest.raises((ValueError, RuntimeError, AttributeError, TypeError), match=message):
        call()
