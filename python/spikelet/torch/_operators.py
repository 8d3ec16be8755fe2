"""Layers as operators of PyTorch: registration, gradients, fake tensors and vmap.

An operator runs the layer with a definition, a text: `spikelet::layer_1_0(x, v, definition, time_steps)` has one state
and no parameters. Kernels for the CPU and for CUDA are registered by the native part; the rules are here.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .. import _native
from ._libraries import libtorch, use_libraries_of_torch

__all__ = ["Description", "call", "describe", "operators", "state_dtype"]


class Description(NamedTuple):
    """The operands of a layer."""

    name: str
    #: Whether each element is computed independently of its position.
    elementwise: bool
    #: Whether all time steps are computed at once, so that the layer cannot run step by step.
    parallel: bool
    #: Whether the output has one step only.
    reduces_time: bool
    #: The shapes of a step of the output and of the states for one sample; None if they are that of the input.
    shapes: tuple[tuple[int, ...], tuple[tuple[int, ...], ...]] | None
    #: Names and reset values.
    states: tuple[tuple[str, float], ...]
    #: Names, shapes and whether they are trained.
    params: tuple[tuple[str, tuple[int, ...], bool], ...]


def describe(definition: str, shape: Sequence[int]) -> Description:
    """Return the operands of a layer for inputs of a shape `[T, N, ...]`."""
    found = _native.describe_layer(definition, list(shape))
    return Description(
        name=found["name"],
        elementwise=found["elementwise"],
        parallel=found["parallel"],
        reduces_time=found["output"][0] != shape[0],
        shapes=found["shapes"] and (tuple(found["shapes"][0]), tuple(map(tuple, found["shapes"][1]))),
        states=tuple(found["states"]),
        params=tuple((name, tuple(size), trained) for name, size, trained in found["params"]),
    )


#: The most time steps of a call on a GPU that saves no checkpoints of the states for its backward pass.
_SAVING = 4


@functools.cache
def _layout(definition: str) -> Description:
    """Return how a layer's tensors are laid out; its parameters are those of some input."""
    spec = json.loads(definition)
    features = spec.get("input") or [spec.get("features", 1)]
    return describe(definition, (2, 1, *features))


def state_dtype(dtype: torch.dtype) -> torch.dtype:
    """Return the type of the states and parameters for inputs of a type."""
    return torch.float64 if dtype == torch.float64 else torch.float32


_is_functorch = torch._C._are_functorch_transforms_active
# torch.library has no annotations.
_make_library: Any = torch.library.Library
_LIBRARY = _make_library("spikelet", "FRAGMENT")


class Operators(NamedTuple):
    """The operators for a number of states and parameters."""

    forward: Callable[..., Any]
    #: The same without a rule for gradients.
    eager: Callable[..., Any]
    backward: Callable[..., Any]
    #: An `autograd.Function` around them, for eager mode.
    function: Any
    #: The same under the transforms of `torch.func`.
    transformed: Any


def _contiguous_strides(sizes: Sequence[Any]) -> list[Any]:
    strides, stride = [], 1
    for size in reversed(sizes):
        strides.append(stride)
        stride = stride * max(size, 1) if isinstance(size, int) else stride * size
    return strides[::-1]


def _is_dense(x: Tensor) -> bool:
    """Whether the elements of a time step are dense in memory, in whatever order of the axes."""
    axes = sorted((stride, size) for stride, size in zip(x.stride()[1:], x.shape[1:]) if size != 1)
    expected = 1
    for stride, size in axes:
        if stride != expected:
            return False
        expected *= size
    return True


def _strides_of_call(x: Tensor, definition: str) -> list[Any]:
    """The strides that all sequences of a call have."""
    follows = _layout(definition).elementwise and _is_dense(x)
    strides = list(x.stride()[1:]) if follows else _contiguous_strides(x.shape[1:])
    step = 1
    for size in x.shape[1:]:
        step = step * size
    return [step, *strides]


def _empty(sizes: Sequence[Any], strides: Sequence[Any], like: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.empty_strided(sizes, strides, dtype=dtype, device=like.device)


def _flatten(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def _one_or_tuple(tensors: Sequence[Any]) -> Any:
    return tuple(tensors) if len(tensors) > 1 else tensors[0]


def _make(states: int, params: int) -> Operators:
    torch_path, gpu_path = libtorch()
    _native.register_layer(torch_path, gpu_path, states, params)
    (name, _), (backward_name, _) = _native.layer_schemas(states, params)
    forward_op = getattr(torch.ops.spikelet, name).default
    backward_op = getattr(torch.ops.spikelet, backward_name).default
    eager_op = getattr(torch.ops.spikelet, name).eager
    eager_backward_op = getattr(torch.ops.spikelet, backward_name).eager
    saving_op = getattr(torch.ops.spikelet, name).saving
    of_saved_op = getattr(torch.ops.spikelet, backward_name).of_saved
    operands = 1 + states + params

    def fake_state(x: Tensor, definition: str, k: int, strides: Sequence[Any]) -> Tensor:
        shapes = _layout(definition).shapes
        if shapes is None:
            return _empty(x.shape[1:], strides[1:], x, state_dtype(x.dtype))
        return x.new_empty((x.shape[1], *shapes[1][k]), dtype=state_dtype(x.dtype))

    def fake(x: Tensor, *rest: Any) -> Any:
        definition, time_steps = rest[-2], rest[-1]
        strides, layout = _strides_of_call(x, definition), _layout(definition)
        steps = 1 if layout.reduces_time else time_steps or x.shape[0]
        if layout.shapes is None:
            y = _empty((steps, *x.shape[1:]), strides, x, x.dtype)
        else:
            y = x.new_empty((steps, x.shape[1], *layout.shapes[0]))
        return _one_or_tuple([y, *(fake_state(x, definition, k, strides) for k in range(states))])

    def fake_backward(*args: Any) -> Any:
        x, definition, wanted = args[1 + states], args[-3], args[-1]
        strides = _strides_of_call(x, definition)
        float_type = state_dtype(x.dtype)
        made = []
        for k in range(operands):
            if not wanted >> k & 1:
                made.append(_empty((0,), (1,), x, float_type))
            elif k == 0:
                made.append(_empty(x.shape, strides, x, x.dtype))
            elif k <= states:
                made.append(fake_state(x, definition, k - 1, strides))
            else:
                param = args[1 + states + k]
                made.append(_empty(param.shape, _contiguous_strides(param.shape), x, float_type))
        return _one_or_tuple(made)

    def gradients(saved: Sequence[Any], needed: Sequence[bool], definition: str, time_steps: int,
                  grads: Sequence[Any], checkpoints: Sequence[Any] = ()) -> list[Any]:
        wanted = 0
        for k in range(operands):
            if needed[k] and saved[k] is not None:
                wanted |= 1 << k
        if wanted == 0 or all(grad is None for grad in grads):
            return [None] * operands
        run: Any = eager_backward_op
        if torch.compiler.is_compiling():
            run = backward_op
        elif torch.is_grad_enabled():
            run = Gradient.apply
        elif _is_functorch():
            run = backward_op
        elif checkpoints:
            run = functools.partial(of_saved_op, checkpoints[0])
        made = _flatten(run(*grads, *saved, definition, time_steps, wanted))
        return [grad if wanted >> k & 1 else None for k, grad in enumerate(made)]

    def fake_saving(x: Tensor, *rest: Any) -> Any:
        # The size of the checkpoints is that of the device; without them the backward pass computes the states again.
        return (*_flatten(fake(x, *rest)), x.new_empty((0,), dtype=torch.uint8))

    def fake_of_saved(saved: Tensor, *args: Any) -> Any:
        return fake_backward(*args)

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        *tensors, ctx.definition, ctx.time_steps = inputs
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)

    def backward(ctx: Any, *grads: Any) -> Any:
        made = gradients(ctx.saved_tensors, ctx.needs_input_grad, ctx.definition, ctx.time_steps, grads)
        return (*made, None, None)

    def refuse(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(
            "a layer of spikelet has no second derivative: the slope of its surrogate is not differentiated; "
            "compute gradients without create_graph=True"
        )

    def merges(definition: str) -> bool:
        """Whether a batch of batches must be one batch: other layers than elementwise ones know their axes by position."""
        return not _layout(definition).elementwise

    def batched(tensor: Tensor | None, dim: int | None, size: int, axis: int, merge: bool) -> Tensor | None:
        """Move the axis of a batch behind time (`axis` is 1) or to the front of a step (0)."""
        if tensor is None:
            return None
        if dim is not None:
            tensor = tensor.movedim(dim, axis)
        else:
            tensor = tensor.unsqueeze(axis)
            tensor = tensor.expand(*tensor.shape[:axis], size, *tensor.shape[axis + 1 :])
        return tensor.flatten(axis, axis + 1) if merge else tensor

    def split(tensor: Any, axis: int, size: int) -> Tensor:
        """Split the axis of a merged batch."""
        made: Tensor = tensor.unflatten(axis, (size, -1))
        return made

    def unmerged(made: Sequence[Tensor], size: int, merge: bool) -> list[Tensor]:
        """Results of a merged batch: a sequence, then steps."""
        if not merge:
            return list(made)
        return [split(made[0], 1, size), *(split(step, 0, size) for step in made[1:])]

    def vmap(info: Any, in_dims: Sequence[Any], x: Tensor, *rest: Any) -> Any:
        definition, time_steps = rest[-2], rest[-1]
        if any(dim is not None for dim in in_dims[1 + states : operands]):
            raise RuntimeError("vmap over the parameters of a layer is not supported; loop over them")
        size, merge = info.batch_size, merges(definition)
        sequence = batched(x, in_dims[0], size, 1, merge)
        steps = [batched(s, d, size, 0, merge) for s, d in zip(rest[:states], in_dims[1:])]
        made = _flatten(forward_op(sequence, *steps, *rest[states:-2], definition, time_steps))
        return _one_or_tuple(unmerged(made, size, merge)), _one_or_tuple([1] + [0] * states)

    def vmap_backward(info: Any, in_dims: Sequence[Any], *args: Any) -> Any:
        size, (definition, time_steps, wanted) = info.batch_size, args[-3:]
        tensors, dims = args[:-3], in_dims[: len(args) - 3]
        of_params = dims[2 + 2 * states :]
        if wanted >> (1 + states) or any(dim is not None for dim in of_params):
            # The gradient of a parameter is one of each member of the batch.
            each = []
            for k in range(size):
                one = [t if t is None or d is None else t.select(d, k) for t, d in zip(tensors, dims)]
                each.append(_flatten(backward_op(*one, definition, time_steps, wanted)))
            stacked = [torch.stack(grads) for grads in zip(*each)]
            return _one_or_tuple(stacked), _one_or_tuple([0] * operands)
        merge = merges(definition)
        axes = [1] + [0] * states + [1] + [0] * states
        moved = [batched(t, d, size, axis, merge) for t, d, axis in zip(tensors, dims, axes)]
        made = _flatten(backward_op(*moved, *tensors[2 + 2 * states :], definition, time_steps, wanted))
        results: list[Tensor] = []
        for k, grad in enumerate(made):
            if not wanted >> k & 1:
                results.append(grad.unsqueeze(0).expand(size, 0))
            elif k == 0:
                results.append((split(grad, 1, size) if merge else grad).movedim(1, 0))
            else:
                results.append(split(grad, 0, size) if merge else grad)
        return _one_or_tuple(results), _one_or_tuple([0] * operands)

    torch.library.register_fake(f"spikelet::{name}", fake)
    torch.library.register_fake(f"spikelet::{backward_name}", fake_backward)
    rules = {
        f"{name}.eager": fake,
        f"{backward_name}.eager": fake_backward,
        f"{name}.saving": fake_saving,
        f"{backward_name}.of_saved": fake_of_saved,
    }
    for overload, rule in rules.items():
        torch.library.register_fake(f"spikelet::{overload}", rule)
        _LIBRARY.impl(overload, torch.library.fallthrough_kernel, "Autograd")
    torch.library.register_autograd(f"spikelet::{name}", backward, setup_context=setup_context)
    torch.library.register_autograd(f"spikelet::{backward_name}", refuse)
    torch.library.register_vmap(f"spikelet::{name}", vmap)
    torch.library.register_vmap(f"spikelet::{backward_name}", vmap_backward)

    class Gradient(torch.autograd.Function):
        """The backward operator where a graph of it is recorded, so that a second derivative is refused."""

        @staticmethod
        def forward(*args: Any) -> Any:
            return backward_op(*args) if _is_functorch() else eager_backward_op(*args)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            refuse(ctx, *grads)

        @staticmethod
        def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
            return vmap_backward(info, in_dims, *args)

    class Layer(torch.autograd.Function):
        """The operator with its gradient, without the generality of `register_autograd`."""

        @staticmethod
        def forward(ctx: Any, definition: str, time_steps: int, *tensors: Any) -> Any:
            ctx.definition, ctx.time_steps = definition, time_steps
            ctx.set_materialize_grads(False)
            x = tensors[0]
            if x.is_cuda and (time_steps or x.shape[0]) > _SAVING:
                *made, saved = saving_op(*tensors, definition, time_steps)
                ctx.save_for_backward(*tensors, saved)
                return _one_or_tuple(made)
            ctx.save_for_backward(*tensors)
            return eager_op(*tensors, definition, time_steps)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            needed, tensors = ctx.needs_input_grad[2:], ctx.saved_tensors
            made = gradients(tensors[:operands], needed, ctx.definition, ctx.time_steps, grads, tensors[operands:])
            return None, None, *made

    class TransformedLayer(torch.autograd.Function):
        """The same for the transforms of `torch.func`."""

        @staticmethod
        def forward(*args: Any) -> Any:
            return forward_op(*args)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            setup_context(ctx, inputs, output)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return backward(ctx, *grads)

        @staticmethod
        def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
            return vmap(info, in_dims, *args)

    return Operators(forward_op, eager_op, backward_op, Layer, TransformedLayer)


_MADE: dict[tuple[int, int], Operators] = {}


def operators(states: int, params: int) -> Operators:
    """Return the operators for a number of states and parameters."""
    found = _MADE.get((states, params))
    if found is None:
        found = _MADE[states, params] = _make(states, params)
    return found


def _not_an_input(x: Any) -> TypeError:
    if not isinstance(x, Tensor):
        return TypeError(f"x is of type {type(x).__name__}; give a torch.Tensor [T, N, ...]")
    return TypeError(f"x is a tensor with the layout {x.layout}; give a dense one, such as x.to_dense()")


def _not_a_tensor(tensors: Sequence[Any]) -> TypeError:
    for k, tensor in enumerate(tensors):
        if tensor is not None and not isinstance(tensor, Tensor):
            what = "a state or a parameter" if k else "x"
            return TypeError(f"{what} is of type {type(tensor).__name__}; give a torch.Tensor")
    return TypeError("an operand of a layer has no `requires_grad`; give tensors of torch")


def call(ops: Operators, definition: str, time_steps: int, *tensors: Tensor | None) -> Any:
    """Call a layer with its input, states and parameters."""
    if torch.compiler.is_compiling():
        return ops.forward(*tensors, definition, time_steps)
    x = tensors[0]
    if not isinstance(x, Tensor) or x.layout is not torch.strided:
        raise _not_an_input(x)
    if torch.is_grad_enabled():
        tracked = False
        try:
            for tensor in tensors:
                if tensor is not None and tensor.requires_grad:
                    tracked = True
                    break
        except AttributeError:
            raise _not_a_tensor(tensors) from None
        if tracked:
            if _is_functorch():
                return ops.transformed.apply(*tensors, definition, time_steps)
            return ops.function.apply(definition, time_steps, *tensors)
    if _is_functorch():
        return ops.forward(*tensors, definition, time_steps)
    return ops.eager(*tensors, definition, time_steps)


use_libraries_of_torch()
# Those of a loaded program, which was exported, must be known before a layer is made.
for _states in range(3):
    for _params in range(3):
        operators(_states, _params)
