"""Neurons of Norse: cells for one step, modules for sequences."""

from __future__ import annotations

from typing import Any, Callable, Optional, TYPE_CHECKING, Union

import norse.torch as norse
import torch
from norse.torch.functional.iaf import IAFFeedForwardState
from norse.torch.functional.lif import LIFFeedForwardState
from norse.torch.functional.lif_box import LIFBoxFeedForwardState
from norse.torch.functional.reset import reset_value
from torch import Tensor

from .. import _engine

Gate = dict[str, Any]

if TYPE_CHECKING:
    # The attributes of the module that it is mixed into.
    _Module = Any
else:
    _Module = object


def _scaled(name: str, alpha: float, factor: float) -> Gate:
    return {"name": name, "alpha": alpha, "factor": factor}


# The threshold functions of `norse.torch.functional.threshold`. `super` does not use its alpha.
_GATES: dict[str, Callable[[float], Gate]] = {
    "super": lambda k: {"name": "super_spike", "alpha": 1.0},
    "heaviside": lambda k: {"name": "leaky_k_relu", "leak": 0.0, "k": 0.0},
    "triangle": lambda k: _scaled("piecewise_quadratic", 1.0, k),
    "tanh": lambda k: _scaled("sigmoid", 2.0 * k, 2.0 / k),
    "circ": lambda k: {"name": "circ", "alpha": k},
    "heavi_erfc": lambda k: _scaled("erf", k, 2.0 / k),
}


class _Fused(_Module):
    """In front of a module of Norse in the list of bases: its steps are run by spikelet.

    The constants are numbers; a module with trained or different constants for each neuron runs as Norse's.
    """

    _neuron = "norse_lif"
    _names: tuple[str, ...] = ("v",)
    _kind: Any = IAFFeedForwardState

    @property
    def implementation(self) -> str:
        """``spikelet``, or ``norse`` with the reason."""
        spec = self._spec()
        return f"norse: {spec}" if isinstance(spec, str) else "spikelet"

    def _numbers(self) -> Union[dict[str, Any], str]:
        """The constants of ``p``. Reading them from a GPU once is enough."""
        kept = self.__dict__.get("_spikelet_numbers")
        if kept is not None and kept[0] is self.p and kept[1] == self.dt:
            return kept[2]
        numbers = {}
        for name, value in self.p._asdict().items():
            if isinstance(value, Tensor):
                if value.requires_grad or value.numel() != 1:
                    return f"{name} is trained or has several values"
                value = value.item()
            numbers[name] = value
        for name in ("tau_mem_inv", "tau_syn_inv"):
            if name in numbers:
                # The product as there, in the type of the constant.
                numbers[name] = (self.dt * torch.as_tensor(getattr(self.p, name))).item()
        self.__dict__["_spikelet_numbers"] = (self.p, self.dt, numbers)
        return numbers

    def _constants(self, p: dict[str, Any]) -> Union[dict[str, Any], str]:
        raise NotImplementedError

    @torch.compiler.assume_constant_result
    def _spec(self) -> Union[_engine.Spec, str]:
        """The definition of the neuron as it is now, or why there is none."""
        p = self._numbers()
        if isinstance(p, str):
            return p
        if p["method"] not in _GATES:
            return f"spikelet has no surrogate for {p['method']}"
        constants = self._constants(p)
        if isinstance(constants, str):
            return constants
        gate = _GATES[p["method"]](float(p["alpha"]))
        everything = {"v_threshold": p["v_th"], "v_reset": p["v_reset"], "strict": True, **constants}
        try:
            return _engine.spec(self._neuron, everything, gate, "surrogate")
        except ValueError as error:
            return str(error)

    def _rest(self, input_tensor: Tensor, x: Tensor) -> Any:
        """The state before the first step; `x` is the input of a step."""
        if not torch.compiler.is_compiling():
            return self.state_fallback(input_tensor)
        # Norse makes a tensor a leaf of the graph, which cannot be compiled.
        zero = torch.zeros_like(x, dtype=torch.float32)
        v = zero + (self.p.v_leak if hasattr(self.p, "v_leak") else self.p.v_reset)
        return self._kind(*(v if name == "v" else zero for name in self._names))

    def _states(self, state: Any, x: Tensor) -> tuple[Optional[Tensor], ...]:
        """The states before the first step; those that Norse keeps as one number get the shape of a step."""
        return tuple(_engine.as_state(torch.as_tensor(getattr(state, name)), x.unsqueeze(0)) for name in self._names)

    def _state(self, last: tuple[Tensor, ...], old: Any) -> Any:
        return type(old)(**dict(zip(self._names, last)))


class _Cell(_Fused):
    """One step a call."""

    def forward(self, input_tensor: Tensor, state: Optional[Any] = None) -> Any:
        spec = "the input is sparse" if input_tensor.is_sparse else self._spec()
        if isinstance(spec, str):
            return super().forward(input_tensor, state)
        state = state if state is not None else self._rest(input_tensor, input_tensor)
        y, last = _engine.step(spec, input_tensor, self._states(state, input_tensor), {})
        return y, self._state(last, state)


class _Sequence(_Fused):
    """All steps in one call."""

    def forward(self, input_tensor: Tensor, state: Optional[Any] = None) -> Any:
        spec = "the input is sparse" if input_tensor.is_sparse else self._spec()
        if isinstance(spec, str):
            return super().forward(input_tensor, state)
        state = state if state is not None else self._rest(input_tensor, input_tensor[0])
        states = self._states(state, input_tensor[0])
        if not self.record_states:
            y, last = _engine.run(spec, input_tensor, states, {})
            return y, self._state(last, state)
        steps, recorded = [], []
        for x in input_tensor.split(1):
            y, states = _engine.run(spec, x, states, {})
            steps.append(y)
            recorded.append(states)
        sequences = tuple(torch.stack(sequence) for sequence in zip(*recorded))
        return torch.cat(steps), self._state(sequences, state)


def _lif(p: dict[str, Any]) -> dict[str, Any]:
    own = {name: p[name] for name in ("tau_mem_inv", "tau_syn_inv", "v_leak")}
    return {"dt": 1.0, **own}


class LIFCell(_Cell, norse.LIFCell):
    """Leaky integrate-and-fire neuron with a current, one step a call."""

    _names = ("v", "i")
    _kind = LIFFeedForwardState

    def _constants(self, p: dict[str, Any]) -> Union[dict[str, Any], str]:
        return _lif(p)


class LIF(_Sequence, norse.LIF):
    """Leaky integrate-and-fire neuron with a current, for sequences."""

    _names = ("v", "i")
    _kind = LIFFeedForwardState

    def _constants(self, p: dict[str, Any]) -> Union[dict[str, Any], str]:
        return _lif(p)


class LIFBoxCell(_Cell, norse.LIFBoxCell):
    """Leaky integrate-and-fire neuron without a current, one step a call."""

    _kind = LIFBoxFeedForwardState

    def _constants(self, p: dict[str, Any]) -> Union[dict[str, Any], str]:
        if p["v_leak"] != 0.0:
            return "v_leak is not 0: sums are in another order"
        if p["reset_method"] is not reset_value:
            return "a reset method other than reset_value"
        # A current that is gone after each step.
        return {"dt": 1.0, "tau_mem_inv": p["tau_mem_inv"], "tau_syn_inv": 1.0, "v_leak": 0.0}

    def _states(self, state: Any, x: Tensor) -> tuple[Optional[Tensor], ...]:
        return (*super()._states(state, x), None)

    def _state(self, last: tuple[Tensor, ...], old: Any) -> Any:
        return type(old)(v=last[0])


class _IntegrateAndFire(_Fused):
    _neuron = "if"

    def _rest(self, input_tensor: Tensor, x: Tensor) -> Any:
        if torch.compiler.is_compiling():
            return super()._rest(input_tensor, x)
        # Norse makes the constant a leaf of the graph, which is trained then, also in other modules that have it.
        return self._kind(v=self.p.v_reset.detach().to(x.device, copy=True).requires_grad_())


class IAFCell(_IntegrateAndFire, _Cell, norse.IAFCell):
    """Integrate-and-fire neuron, one step a call."""

    def _constants(self, p: dict[str, Any]) -> Union[dict[str, Any], str]:
        return {}


class IAF(_IntegrateAndFire, _Sequence, norse.IAF):
    """Integrate-and-fire neuron, for sequences."""

    def _constants(self, p: dict[str, Any]) -> Union[dict[str, Any], str]:
        return {}
