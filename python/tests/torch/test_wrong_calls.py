"""Wrong calls of the PyTorch part are exceptions that name the thing, what was given, and what to do."""

import numpy as np
import pytest
import torch

import spikelet.torch as st
from spikelet import _native
from spikelet.torch import expression

X = torch.rand(4, 2, 3)


def op(states, params, definition, *tensors):
    return getattr(torch.ops.spikelet, f"layer_{states}_{params}")(X, *tensors, definition, 0)


def own(step):
    return st.neuron()(step)()


def condition(n, x, *, decay=0.9):
    return n.emit(1.0 if x > decay else 0.0, v=x)


def a_function_of_torch(n, x):
    return n.emit(torch.sigmoid(x), v=x)


def no_result(n, x):
    return x


def an_unknown_state(n, x):
    return n.emit(n.spike(x), w=x)


CALLS = {
    # The input.
    "a list": (lambda: st.Lif()([[1.0]]), TypeError, "x is of type list; give a torch.Tensor"),
    "an array of numpy": (lambda: st.Lif()(np.zeros((4, 3))), TypeError, "ndarray; give a torch.Tensor"),
    "a single number": (lambda: st.Lif()(torch.tensor(1.0)), RuntimeError, r"shape \[\], expected \[T, N"),
    "truth values": (lambda: st.Lif()(X > 0.5), RuntimeError, r"expected float32.*use x.float\(\)"),
    "complex numbers": (lambda: st.Lif()(X.cfloat()), RuntimeError, "expected float32"),
    "nothing": (lambda: st.Lif()(None), TypeError, r"x is of type NoneType; give a torch.Tensor \[T, N"),
    "a sparse tensor": (lambda: st.Lif()(X.to_sparse()), TypeError, r"layout torch.sparse_coo; give a dense one, such as x.to_dense"),
    "a sparse tensor in rows": (lambda: st.Lif()(X[0].to_sparse_csr()), TypeError, "layout torch.sparse_csr"),
    "no input": (lambda: st.Lif()(), TypeError, "'x'"),
    # States.
    "a state by name": (lambda: st.Lif()(X, {"v": X[0]}), TypeError, "state of Lif is of type dict; give the state"),
    "a tensor as a state": (lambda: st.Lif()(X, X[0]), TypeError, "of type Tensor; give the state"),
    "a number in a state": (lambda: st.Lif()(X, st.LifState(0.5)), TypeError, "of type float; give a torch.Tensor"),
    "a state of another neuron": (lambda: st.Lif()(X, st.CubaLif()(X, None)[1]), ValueError, "has the states v"),
    "a state of another batch": (
        lambda: st.Lif()(X, st.Lif()(X[:, :1], None)[1]), RuntimeError, r"\[1, 3\], expected \[2, 3\]"),
    "a state of another type": (
        lambda: st.CubaLif()(X, st.CubaLifState(*(s.half() for s in st.CubaLif()(X, None)[1]))), RuntimeError,
        "the state `[a-z]+` is f16, expected f32 for an x of f32"),
    "a state of a 16-bit input": (
        lambda: st.Lif()(X.bfloat16(), st.LifState(X[0].bfloat16())), RuntimeError,
        "the state `v` is bf16, expected f32 for an x of bf16; states of 16-bit inputs are float32"),
    # Constants.
    "an unknown constant": (lambda: st.Lif(taw=2.0), TypeError, "taw"),
    "a constant as text": (lambda: st.Lif(tau="two"), ValueError, "`tau` of neuron `lif` is \"two\"; it must be a number"),
    "a constant that is no number": (lambda: st.Lif(tau=float("nan")), ValueError, "tau is nan; give a finite number"),
    "an infinite constant": (lambda: st.Lif(v_threshold=float("inf")), ValueError, "v_threshold is inf"),
    "a tensor as a constant": (lambda: st.Lif(tau=torch.tensor(2.0)), TypeError, "tau is a tensor; give a number"),
    "a constant outside its domain": (lambda: st.Lif(tau=0.1), ValueError, "tau.*above 1"),
    "an unknown gradient of resets": (lambda: st.Lif(reset_grad="hard"), ValueError, "hard.*surrogate"),
    # Surrogates.
    "an unknown surrogate": (lambda: st.Lif(surrogate="atna"), ValueError, "atna.*atan"),
    "the class of a surrogate": (lambda: st.Lif(surrogate=st.surrogate.Atan), TypeError, "give one of"),
    "a function as a surrogate": (lambda: st.Lif(surrogate=torch.sigmoid), TypeError, "give one of"),
    "a slope below 0": (lambda: st.Lif(surrogate=st.surrogate.Atan(alpha=-1.0)), ValueError, "alpha.*-1.*above 0"),
    # Trainable constants.
    "an unknown granularity": (lambda: st.Lif(trainable={"tau": "pixel"}), ValueError, "channel"),
    "a number to train": (lambda: st.Lif(trainable={"tau": 3}), ValueError, "trainable.*layer.*channel"),
    "one number to train": (lambda: st.Lif(trainable=3), TypeError, "trainable is 3; give names"),
    "limits the wrong way": (lambda: st.Lif(trainable={"tau": st.Trainable(between=(2.0, 1.0))}), ValueError, "between 2 and 1"),
    "one limit of two": (lambda: st.Trainable(between=(2.0,)), ValueError, r"\(2.0,\); give two values"),
    # Shapes and weights.
    "a shape with a negative size": (lambda: st.Psn(shape=(-4, 2, 3)), ValueError, r"\(-4, 2, 3\); give the sizes"),
    "a shape as text": (lambda: st.Psn(shape="4,2"), ValueError, "'4,2'; give the sizes"),
    "missing weights": (lambda: st.Plif().load_state_dict({}), RuntimeError, "\"w\""),
    "weights of another shape": (lambda: st.Plif().load_state_dict({"w": torch.zeros(3)}), RuntimeError, "size mismatch for w"),
    # Recurrent connections.
    "recurrent connections of a name": (lambda: st.Recurrent("lif", 3), TypeError, r"'lif' was given.*Lif\(\)"),
    "recurrent connections of a class": (lambda: st.Recurrent(st.Lif, 3), TypeError, r"expected a neuron"),
    "other features": (
        lambda: st.Recurrent(st.Lif(), 6)(X), RuntimeError, r"\[4, 2, 3\], expected .*\[6\] behind time and batch"),
    "no features": (lambda: st.Recurrent(st.Lif(), 0), ValueError, "of 0 inputs; give"),
    "features as text": (lambda: st.Recurrent(st.Lif(), "3"), ValueError, "of '3' inputs; give"),
    # Conversion of a network.
    "a number to convert": (lambda: st.convert_(3), TypeError, "net is int; give the network, an instance of torch.nn.Module"),
    "a class to convert": (lambda: st.convert_(torch.nn.Linear), TypeError, "net is Linear; give the network"),
    "weights to convert": (lambda: st.convert_(st.Plif().state_dict()), TypeError, "net is OrderedDict; give the network"),
    "a list to convert": (lambda: st.convert_([st.Lif()]), TypeError, "net is list; give the network"),
    # Kernels.
    "a direction of kernels": (lambda: st.Lif().kernel("up"), ValueError, "'up'; give \"forward\""),
    "a kernel without steps": (lambda: st.Lif().kernel(time_steps=0), ValueError, "time_steps is 0"),
    "a warm-up without a shape": (lambda: st.warmup(st.Lif(), ()), RuntimeError, r"expected \[T, N"),
    "equations of a layer": (
        lambda: _native.layer_equations(st.Dcls1d(3, 3, 3).definition), ValueError, "dcls.*not a neuron.*give"),
    # Operators.
    "a name as a definition": (lambda: op(1, 0, "lif", None), RuntimeError, "`lif` is not JSON.*pass an object"),
    "an unknown neuron": (lambda: op(1, 0, '{"name":"lfi"}', None), RuntimeError, "no neuron is called `lfi`"),
    "an unknown layer": (
        lambda: op(1, 0, '{"layer":{"linaer":3},"input":[3]}', None), RuntimeError, "`linaer` is not a layer.*`linear`"),
    "a layer without an input": (
        lambda: op(1, 0, '{"layer":{"dcls":3,"kernel_size":3}}', None), RuntimeError, "`input`.*it must be a list"),
    "a layer with other time steps": (
        lambda: op(1, 0, '{"layer":{"pad-time":3},"input":[3]}', None), RuntimeError, "keeps the time steps"),
    "an operator with other states": (
        lambda: op(2, 0, st.Lif().definition, None, None), RuntimeError, "has 2 states, the layer has 1"),
    "a parameter that is missing": (lambda: op(1, 0, st.Plif().definition, None), RuntimeError, "plif: operand 2 is missing"),
    # Neurons of one's own.
    "a condition": (lambda: own(condition), TypeError, r"use where\("),
    "a function of torch": (lambda: own(a_function_of_torch), TypeError, "`sigmoid` of torch.*expression.sigmoid"),
    "a neuron without a result": (lambda: own(no_result), TypeError, r"expected the result of n.emit"),
    "a state that was not declared": (lambda: own(an_unknown_state), ValueError, "`w` is not a state of the neuron; it has v"),
    "a function of a number": (lambda: expression.exp(1.0), TypeError, "expected an expression.*math"),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_call_says_what_is_wrong(name):
    call, kind, message = CALLS[name]
    with pytest.raises(kind, match="(?s)" + message) as caught:
        call()
    text = str(caught.value)
    assert "panic" not in text.lower() and "Traceback" not in text


def test_errors_leave_layers_as_they_were():
    layer, y = st.Lif(), st.Lif()(X)
    for _ in range(100):
        with pytest.raises(RuntimeError):
            layer(X.int())
    assert torch.equal(layer(X), y)
