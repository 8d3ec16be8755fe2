"""The part of the drop-in neurons that calls spikelet."""

from __future__ import annotations

import inspect
import numbers
from typing import Any, ClassVar, Optional, TYPE_CHECKING, Union

import torch
from torch import Tensor

from .. import _engine
from ._gates import gate_of

# Methods that define the equations of a subclass.
_EQUATIONS = (
    "single_step_functional_forward", "multi_step_functional_forward", "neuronal_charge", "neuronal_fire",
    "neuronal_reset",
)
_PACKAGE = __name__.rpartition(".")[0]
_COUNTERS = "spikingjelly.activation_based.op_counter"

if TYPE_CHECKING:
    # The attributes of the module that it is mixed into.
    _Module = Any
else:
    _Module = object


def _is_counted() -> bool:
    """Whether a counter of SpikingJelly is active: it sees PyTorch's operations, not those inside of a kernel."""
    if torch.compiler.is_compiling():
        return False
    dispatch, function = torch._C._len_torch_dispatch_stack(), torch._C._len_torch_function_stack()
    if not (dispatch or function):
        return False
    modes = [torch._C._get_dispatch_stack_at(k) for k in range(dispatch)]
    modes += [torch._C._get_function_stack_at(k) for k in range(function)]
    return any(kind.__module__.startswith(_COUNTERS) for mode in modes for kind in type(mode).__mro__)


class Fused(_Module):
    """In front of a neuron of SpikingJelly in the list of bases: its steps are run by spikelet.

    States stay where they are there, in ``_memories``; parameters as well, so that state dicts are the same.
    """

    _neuron: ClassVar[str]
    """spikelet's name of the neuron."""
    _numbers: ClassVar[dict[str, str]] = {}
    """Attributes that are constants, and their names in spikelet."""
    _learned: ClassVar[tuple[str, ...]] = ()
    """Parameters."""
    _custom: ClassVar[Optional[str]] = None
    backend: Optional[str] = None
    """The argument of SpikingJelly 1, which has no effect."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not cls.__module__.startswith(_PACKAGE):
            own = [name for name in _EQUATIONS if name in cls.__dict__]
            if own:
                cls._custom = f"{cls.__name__} has its own {own[0]}"
            return
        peer = next((base for base in cls.__mro__ if not issubclass(base, Fused) and base is not Fused), None)
        if peer is not None and "__init__" not in cls.__dict__:
            signature = inspect.signature(peer)
            parameters = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
            backend = inspect.Parameter("backend", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Any")
            others = [p for p in signature.parameters.values() if p.kind is p.VAR_KEYWORD]
            cls.__signature__ = signature.replace(parameters=[*parameters, backend, *others])

    def __init__(self, *args: Any, backend: Optional[str] = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.backend = backend

    @property
    def supported_backends(self) -> tuple[str, ...]:
        """The names that ``backend`` of SpikingJelly 1 accepts; none has an effect."""
        return ("torch", "cupy", "triton", "inductor")

    @property
    def implementation(self) -> str:
        """``spikelet``, or ``spikingjelly`` with the reason."""
        spec = self._spec()
        return f"spikingjelly: {spec}" if isinstance(spec, str) else "spikelet"

    # What spikelet runs.

    def _common(self) -> Union[dict[str, Any], str]:
        common = {"v_threshold": self.v_threshold, "v_reset": self.v_reset}
        for name, value in common.items():
            if value is not None and not isinstance(value, numbers.Real):
                return f"{name} is {type(value).__name__}, not a number"
        return common

    def _constants(self) -> Union[dict[str, Any], str]:
        constants = {}
        for theirs, ours in self._numbers.items():
            value = getattr(self, theirs)
            if not isinstance(value, numbers.Real):
                return f"{theirs} is {type(value).__name__}, not a number"
            constants[ours] = value
        return constants

    def _surrogate(self) -> Any:
        return self.surrogate_function

    def _operands(self) -> dict[str, Tensor]:
        return {name: getattr(self, name) for name in self._learned}

    def _spec(self) -> Union[_engine.Spec, str]:
        """The definition of the neuron as it is now, or why there is none."""
        if self._custom is not None:
            return self._custom
        if getattr(self, "_neuron_precision", None) is not None:
            return "its precision is set by SpikingJelly's policy"
        if _is_counted():
            return "SpikingJelly counts its operations"
        gate = gate_of(self._surrogate())
        if isinstance(gate, str):
            return gate
        common, constants = self._common(), self._constants()
        for part in (common, constants):
            if isinstance(part, str):
                return part
        assert isinstance(common, dict) and isinstance(constants, dict)
        surrogate, spiking = gate
        detach = getattr(self, "detach_reset", False)
        everything = {**common, **constants, "spiking": spiking}
        try:
            return _engine.spec(
                self._neuron, everything, surrogate, "detach" if detach else "surrogate", shape=self._example()
            )
        except ValueError as error:
            return str(error)

    def _example(self) -> tuple[int, ...]:
        """The shape of an input."""
        return (2, 1, 1)

    def _before(self, states: tuple[Any, ...]) -> tuple[Any, ...]:
        """The states that a step starts from."""
        return states

    def _run(self, spec: _engine.Spec, x_seq: Tensor, states: tuple[Any, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
        before = self._before(states)
        rest = getattr(self, "v_reset", None) or 0.0
        # The kernel starts from the resting potential itself.
        before = (None if not isinstance(before[0], Tensor) and before[0] == rest else before[0], *before[1:])
        operands = tuple(_engine.as_state(state, x_seq) for state in before)
        return _engine.run(spec, x_seq, operands, self._operands())

    # The methods of SpikingJelly's modules.

    def _by_single_steps(self, inputs: Any, states: Any, **kwargs: Any) -> Any:
        steps = []
        for t in range(inputs[0].shape[0]):
            outputs, states = self.single_step_functional_forward(tuple(x[t] for x in inputs), states, **kwargs)
            steps.append(outputs)
        return tuple(torch.stack(step) for step in zip(*steps)), states

    def multi_step_functional_forward(self, inputs: Any, states: Any, **kwargs: Any) -> Any:
        if self._custom is not None:
            return self._by_single_steps(inputs, states, **kwargs)
        spec = self._spec()
        if isinstance(spec, str) or len(inputs) != 1:
            return super().multi_step_functional_forward(inputs, states, **kwargs)
        y, states = self._run(spec, inputs[0], states)
        return (y,), states

    def single_step_functional_forward(self, inputs: Any, states: Any, **kwargs: Any) -> Any:
        spec = self._spec()
        if isinstance(spec, str) or len(inputs) != 1:
            return super().single_step_functional_forward(inputs, states, **kwargs)
        y, states = self._run(spec, inputs[0].unsqueeze(0), states)
        return (y.squeeze(0),), states

    def single_step_forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Any:
        spec = self._spec()
        if isinstance(spec, str) or args or kwargs:
            return super().single_step_forward(x, *args, **kwargs)
        y = self._forward(spec, x.unsqueeze(0)).squeeze(0)
        self._record_v()
        return y

    def multi_step_forward(self, x_seq: Tensor, *args: Any, **kwargs: Any) -> Any:
        spec = self._spec()
        if isinstance(spec, str) or args or kwargs:
            return super().multi_step_forward(x_seq, *args, **kwargs)
        return self._forward(spec, x_seq)

    def _forward(self, spec: _engine.Spec, x_seq: Tensor) -> Tensor:
        """Runs the steps, and keeps the states."""
        memories = self._memories
        states = tuple(memories.values())
        if any(isinstance(state, Tensor) and state.shape != x_seq.shape[1:] for state in states):
            states = self.materialize_states((x_seq,), states, "m")
        y, last = self._run(spec, x_seq, states)
        for name, state in zip(memories, last):
            memories[name] = state
        return y

    def _record_v(self) -> None:
        """Keeps the potential of a single step, where the neuron does so."""


class FusedNode(Fused):
    """A neuron with ``store_v_seq``."""

    v_seq: Optional[Tensor]

    def _record_v(self) -> None:
        if not self.store_v_seq:
            return
        v = self._memories["v"].unsqueeze(0)
        kept = self.v_seq
        if kept is None or kept.shape[1:] != v.shape[1:] or kept.device != v.device or kept.dtype != v.dtype:
            self.v_seq = v.clone()
        else:
            self.v_seq = torch.cat((kept, v))

    def multi_step_forward(self, x_seq: Tensor, *args: Any, **kwargs: Any) -> Any:
        spec = self._spec()
        if isinstance(spec, str) or not self.store_v_seq or args or kwargs:
            return super().multi_step_forward(x_seq, *args, **kwargs)
        steps, v_seq = [], []
        for x in x_seq.split(1):
            steps.append(self._forward(spec, x))
            v_seq.append(self._memories["v"])
        self.v_seq = torch.stack(v_seq)
        return torch.cat(steps)
