"""Neurons as modules: what all of them share."""

from __future__ import annotations

import json
import warnings
from collections import namedtuple
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, cast

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

from .. import _native, _part
from .._part import Field, _plain
from ._operators import call, describe, operators, state_dtype

__all__ = ["FileLayer", "Layer", "Neuron", "definition_of", "module_of", "state_of"]


def _json(value: Any) -> Any:
    """An argument of a part as JSON has it, with null where files have `"none"`."""
    return None if value is None else _plain(value)


def definition_of(spec: Mapping[str, Any]) -> str:
    """Return the text that defines a layer."""
    return json.dumps(spec, sort_keys=True, separators=(",", ":"))


class _NoState:
    """The default of `state`: the call starts from rest and returns the output alone."""

    def __repr__(self) -> str:
        return "from rest"


NO_STATE: Any = _NoState()


class Layer(nn.Module):
    """A layer that is one operator for all time steps, `[T, N, ...]` to `[T, N, ...]`."""

    #: The type of its state, a NamedTuple.
    State: Any

    def _setup(self, definition: str, shapes: Sequence[Sequence[int]]) -> None:
        """Set the definition and create the parameters, if they are the same for all of the shapes."""
        self.definition = definition
        found = [describe(definition, shape) for shape in shapes]
        first = found[0]
        self._states = tuple(name for name, _ in first.states)
        self._rest = (None,) * len(first.states)
        self._random: tuple[bool, ...] = ()
        self._params = tuple(name.replace(".", "_") for name, _, _ in first.params)
        self._is_parallel = first.parallel
        self._pending = any(other.params != first.params for other in found)
        if not self._pending:
            self._create(first.params, shapes[0])
            return
        for name, (_, _, trained) in zip(self._params, first.params):
            if trained:
                self.register_parameter(name, cast(nn.Parameter, UninitializedParameter()))
            else:
                self.register_buffer(name, UninitializedBuffer())

    def _create(self, params: Sequence[tuple[str, tuple[int, ...], bool]], shape: Sequence[int]) -> None:
        """Create the parameters for inputs of a shape, on the device of those that are replaced."""
        if not params:
            return
        seed = int(torch.randint(2**62, ()).item())
        values = _native.initial_params(self.definition, list(shape), seed)
        for name, (_, size, trained), initial in zip(self._params, params, values):
            before = getattr(self, name, None)
            device = before.device if before is not None else None
            dtype = before.dtype if before is not None else torch.get_default_dtype()
            tensor = torch.tensor(initial, dtype=dtype, device=device).reshape(size)
            if trained:
                self.register_parameter(name, nn.Parameter(tensor))
            else:
                self.register_buffer(name, tensor)
        self._pending = False

    def _materialize(self, shape: Sequence[int]) -> None:
        self._create(describe(self.definition, [int(size) for size in shape]).params, shape)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any, **kwargs: Any) -> None:
        if self._pending and all(prefix + name in state_dict for name in self._params):
            for name in self._params:
                given = state_dict[prefix + name]
                before = getattr(self, name)
                tensor = torch.empty(given.shape, dtype=before.dtype, device=before.device)
                if isinstance(before, nn.Parameter):
                    self.register_parameter(name, nn.Parameter(tensor))
                else:
                    self.register_buffer(name, tensor)
            self._pending = False
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def _operands(self, x: Tensor) -> Iterator[Tensor]:
        if self._pending:
            self._materialize(x.shape)
        dtype = state_dtype(x.dtype)
        for name in self._params:
            param = getattr(self, name)
            yield param if param.dtype == dtype else param.to(dtype)

    def forward(self, x: Tensor, state: Any = NO_STATE, time_steps: int = 0) -> Any:
        """Run a sequence.

        Parameters
        ----------
        x : Tensor [T, N, ...]
            The input.
        state : NamedTuple of Tensor [N, ...], optional
            The state before the first step. None, or a field that is None, starts from rest.
        time_steps : int
            Repeats an input of one step, `[1, N, ...]`, without a copy.

        Returns
        -------
        y : Tensor [T, N, ...]
            The output.
        state : NamedTuple of Tensor [N, ...]
            The state after the last step, if `state` was given.
        """
        params = tuple(self._operands(x)) if self._params else ()
        if state is NO_STATE or state is None:
            states: tuple[Tensor | None, ...] = self._rest
            if self._random:
                states = tuple(
                    torch.rand(x.shape[1:], dtype=state_dtype(x.dtype), device=x.device) if random else None
                    for random in self._random
                )
        else:
            if not isinstance(state, (tuple, list)):
                raise TypeError(
                    f"the state of {type(self).__name__} is of type {type(state).__name__}; give the state that an earlier call "
                    "returned, a tuple of tensors, or None"
                )
            states = tuple(state)
            if len(states) != len(self._rest):
                raise ValueError(
                    f"{type(self).__name__} has the states {', '.join(self._states) or 'none'}; "
                    f"{len(states)} tensors were given"
                )
        made = call(operators(len(states), len(params)), self.definition, time_steps, x, *states, *params)
        if not states:
            return made if state is NO_STATE else (made, self.State())
        if state is NO_STATE:
            return made[0]
        return made[0], self.State(*made[1:])

    def step(self, x: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        """Run one time step.

        Parameters
        ----------
        x : Tensor [N, ...]
            The input.
        state : NamedTuple of Tensor [N, ...], optional
            The state before the step; None at rest.

        Returns
        -------
        y : Tensor [N, ...]
            The output.
        state : NamedTuple of Tensor [N, ...]
            The state after the step.
        """
        if self._is_parallel:
            raise RuntimeError(
                f"{type(self).__name__} computes all time steps at once and has no single step; call it with [T, N, ...]"
            )
        y, state = self.forward(x.unsqueeze(0), state)
        return cast(Tensor, y.squeeze(0)), state


class FileLayer(Layer):
    """A layer as in the files of networks, with a definition for training and one for evaluation."""

    def __init__(self, layer: Mapping[str, Any], features: int) -> None:
        super().__init__()
        if not isinstance(features, int) or features < 1:
            raise ValueError(f"{type(self).__name__} of {features!r} inputs; give the length of axis 2 of the input, at least 1")
        self._modes = {}
        for training in (False, True):
            definition = definition_of({"layer": layer, "input": [features], "training": training})
            # Evaluation may use fewer parameters.
            params = describe(definition, (2, 1, features)).params
            self._modes[training] = definition, tuple(name.replace(".", "_") for name, _, _ in params)
        self._setup(self._modes[True][0], [(2, 1, features)])

    def train(self, mode: bool = True) -> Any:
        """Set whether the layer is trained; in evaluation, learned delays are rounded to time steps."""
        super().train(mode)
        self.definition, self._params = self._modes[bool(mode)]
        return self

    def forward(self, x: Tensor, state: Any = NO_STATE, time_steps: int = 0) -> Any:
        """Run a sequence.

        Parameters
        ----------
        x : Tensor [T, N, in]
            The input.
        state : NamedTuple of Tensor [N, ...], optional
            The state before the first step. None starts from rest.
        time_steps : int
            Repeats an input of one step, `[1, N, in]`, without a copy.

        Returns
        -------
        y : Tensor [T, N, out]
            The output.
        state : NamedTuple of Tensor [N, ...]
            The state after the last step, if `state` was given.
        """
        if not self._states and isinstance(state, self.State):
            # A layer without delays.
            state = None
        return super().forward(x, state, time_steps)


class Neuron(Layer):
    """A layer of neurons, `[T, N, ...]` to `[T, N, ...]`.

    `layer(x)` runs a sequence from rest. `layer(x, state)` continues from a state, `None` at first, and returns the output
    with the state after the last step. `layer.step(x, state)` runs one time step, `[N, ...]`. The module keeps no state.
    """

    #: The class of the declaration, such as `spikelet.Lif`: its arguments are those of the module.
    part: ClassVar[type[_part.Neuron]]

    declaration: _part.Neuron
    constants: dict[str, Any]

    def __init__(self, *args: Any, shape: Sequence[int] | None = None, **options: Any) -> None:
        super().__init__()
        if shape is not None and not (
            isinstance(shape, Sequence) and all(isinstance(size, int) and size >= 0 for size in shape)
        ):
            raise ValueError(f"shape is {shape!r}; give the sizes of the input, (T, N, ...)")
        self.declaration = part = self.part(*args, **options)
        constants = {field.name: getattr(part, field.name) for field in part._fields}
        # Random states are drawn here, by torch's generator.
        random = constants.get("random_start")
        definition = self._definition({**constants, "random_start": False} if random else constants)
        self._setup(definition, [shape] if shape is not None else [(2, 1, 3, 2, 2), (3, 1, 5, 3, 2)])
        warning = _native.layer_warning(definition)
        if warning is not None:
            warnings.warn(warning, stacklevel=2)
        if random:
            self._random = tuple(_native.random_states(self._definition(constants)))
        # The last attribute: from now on constants cannot be set.
        self.constants = constants

    def _definition(self, constants: Mapping[str, Any]) -> str:
        """Return the definition of the neuron: its name and constants as a table of JSON."""
        spec = {name.rstrip("_"): _json(value) for name, value in self._equation(constants).items()}
        spec["trainable"] = self.declaration._trainable()
        # Where these are not given, the native part has the defaults of the neuron.
        for name in ("surrogate", "trainable"):
            if spec.get(name) is None:
                spec.pop(name, None)
        return definition_of({**spec, "name": self.part.kind})

    def _equation(self, constants: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the entries of the definition for these constants."""
        return constants

    def __getattr__(self, name: str) -> Any:
        constants = self.__dict__.get("constants")
        if constants is not None and name in constants and name not in self.__dict__.get("_parameters", ()):
            return constants[name]
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        constants = self.__dict__.get("constants")
        if constants is not None and name in constants and not isinstance(value, (nn.Parameter, Tensor)):
            raise AttributeError(
                f"`{name}` of {type(self).__name__} is a constant of its kernels; make a new module with {name}={value!r}"
            )
        super().__setattr__(name, value)

    def equations(self) -> str:
        """Return the equations of a time step: the output and the next value of each state.

        Examples
        --------
        >>> import spikelet.torch as st
        >>> print(st.If().equations())
        s = v + x - 1 ≥ 0
        v = v + x - 1 ≥ 0 ? 0 : v + x
        """
        return "\n".join(f"{name} = {value}" for name, value in _native.layer_equations(self.definition))

    def gradient(self) -> str:
        """Return the gradients of a time step; `d_v` is the gradient of the state v."""
        return "\n".join(f"{name} = {value}" for name, value in _native.layer_gradients(self.definition))

    def kernel(
        self,
        direction: Literal["forward", "backward"] = "forward",
        *,
        time_steps: int = 4,
        neurons: int = 1 << 20,
        capability: tuple[int, int] = (9, 0),
    ) -> str:
        """Return the texts of the CUDA kernels of a call, for a GPU of a compute capability; no GPU is needed."""
        if direction not in ("forward", "backward"):
            raise ValueError(f"direction is {direction!r}; give \"forward\" or \"backward\"")
        if time_steps < 1 or neurons < 1:
            raise ValueError(f"time_steps is {time_steps} and neurons is {neurons}; give at least 1 of each")
        return _native.layer_kernel(self.definition, direction == "backward", time_steps, neurons, capability)

    def extra_repr(self) -> str:
        """Return the options that differ from the defaults."""
        return ", ".join(f"{name}={value!r}" for name, value in self.declaration.options().items())


#: The argument that a module has beside those of the declaration.
_SHAPE = Field(
    "shape", "Sequence[int] | None", None,
    "Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.",
)


class _Signature:
    """That of the declaration, and the shape."""

    def __get__(self, made: Any, owner: type[Neuron]) -> Any:
        import inspect

        declared = inspect.signature(owner.part)
        kind = inspect.Parameter.KEYWORD_ONLY
        shape = inspect.Parameter(_SHAPE.name, kind, default=_SHAPE.default, annotation=_SHAPE.annotation)
        return declared.replace(parameters=[*declared.parameters.values(), shape])


def module_of(part: type[_part.Neuron], states: Any, module: str, base: type[Neuron] = Neuron) -> Any:
    """The class of modules of a declaration."""
    doc = (part.__doc__ or "").rstrip() + f"\n{_SHAPE.name} : {_SHAPE.annotation}\n    {_SHAPE.doc}"
    return type(part.__name__, (base,), {
        "__module__": module, "__doc__": doc, "__signature__": _Signature(), "part": part, "State": states,
    })


def state_of(name: str, states: Sequence[str], module: str) -> Any:
    """The type of a neuron's state."""
    made = namedtuple(f"{name}State", list(states), defaults=[None] * len(states), module=module)  # type: ignore[misc]
    made.__doc__ = f"State of {name}."
    return made
