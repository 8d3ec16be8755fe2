"""Neurons of snnTorch, one step a call."""

from __future__ import annotations

from typing import Any, Optional, TYPE_CHECKING, Union

import snntorch
import torch
from torch import Tensor

from .. import _engine
from ._gates import gate_of

if TYPE_CHECKING:
    # The attributes of the module that it is mixed into.
    _Module = Any
else:
    _Module = object

_RESETS: dict[str, dict[str, Any]] = {
    "subtract": {"v_reset": None},
    "zero": {"v_reset": 0.0},
    "none": {"v_reset": None, "resets": False},
}


class _Fused(_Module):
    """In front of a neuron of snnTorch in the list of bases: its steps are run by spikelet.

    Constants that are parameters, or that have a value for each neuron, are operands of the kernel; the others are part of it.
    """

    _neuron = "rleaky_cell"
    _reset_grad = "surrogate"
    _constants: dict[str, tuple[str, bool]] = {"beta": ("beta", True), "v_threshold": ("threshold", False)}
    """spikelet's names of constants; the attributes, and whether they are decay factors, which are clamped to [0, 1]."""

    @property
    def implementation(self) -> str:
        """``spikelet``, or ``snntorch`` with the reason."""
        found = self._spec()
        return f"snntorch: {found}" if isinstance(found, str) else "spikelet"

    def _number(self, name: str) -> Optional[float]:
        """A constant that is one number and not trained. Reading it from a GPU once is enough."""
        tensor = getattr(self, name)
        if not isinstance(tensor, Tensor):
            return float(tensor)
        if isinstance(tensor, torch.nn.Parameter) or tensor.requires_grad or tensor.numel() != 1:
            return None
        kept = self.__dict__.setdefault("_spikelet_numbers", {})
        found = kept.get(name)
        if found is None or found[0] is not tensor or found[1] != tensor._version:
            found = kept[name] = (tensor, tensor._version, tensor.item())
        return found[2]

    def _gate(self) -> Any:
        """The surrogate, or why there is none."""
        kept = self.__dict__.get("_spikelet_gate")
        if kept is None or kept[0] is not self.spike_grad:
            kept = self.__dict__["_spikelet_gate"] = (self.spike_grad, gate_of(self.spike_grad))
        return kept[1]

    def _values(self) -> tuple[dict[str, Any], dict[str, str]]:
        """The constants of the kernel, and the granularities of those that are operands."""
        constants, operands = {}, {}
        for name, (theirs, decay) in self._constants.items():
            number = self._number(theirs)
            if number is not None:
                constants[name] = min(max(number, 0.0), 1.0) if decay else number
            else:
                operands[name] = "layer" if getattr(self, theirs).numel() == 1 else "neuron"
        return constants, operands

    def _mechanism(self) -> dict[str, Any]:
        """The reset."""
        return {**_RESETS[self.reset_mechanism], "reset_delay": getattr(self, "reset_delay", True)}

    @torch.compiler.assume_constant_result
    def _spec(self) -> Union[_engine.Spec, str]:
        """The definition of the neuron as it is now, or why there is none."""
        if self.inhibition:
            return "inhibition between neurons"
        if self.state_quant:
            return "quantized states"
        gate = self._gate()
        if isinstance(gate, str):
            return gate
        constants, operands = self._values()
        try:
            return _engine.spec(self._neuron, {**constants, **self._mechanism()}, gate, self._reset_grad, operands)
        except ValueError as error:
            return str(error)

    def _operand(self, name: str) -> Tensor:
        theirs, decay = self._constants[name]
        tensor = getattr(self, theirs)
        return tensor.clamp(0, 1) if decay else tensor

    def _step(
        self, spec: _engine.Spec, x: Tensor, states: tuple[Optional[Tensor], ...]
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        operands = {}
        for name in spec.params:
            tensor = self._operand(name)
            operands[name] = tensor.reshape(()) if tensor.numel() == 1 else tensor.expand(x.shape[1:])
        return _engine.step(spec, x, states, operands)

    def _given(self, **states: Optional[Tensor]) -> None:
        """Keeps the states that are arguments."""
        for name, state in states.items():
            if state is None:
                continue
            setattr(self, name, state)
            if self.init_hidden:
                names = "` or `".join(states)
                raise TypeError(f"`{names}` should not be passed as an argument while `init_hidden=True`")

    def _state(self, name: str, x: Tensor) -> Optional[Tensor]:
        """A state of the module; None, which is zero, before the first step and after a change of shape."""
        state = getattr(self, name)
        return state if state.shape == x.shape else None

    @torch.compiler.assume_constant_result
    def _is_graded(self) -> bool:
        return self._number("graded_spikes_factor") != 1.0

    def _result(self, spk: Tensor, *states: Tensor) -> Any:
        if self._is_graded():
            spk = spk * self.graded_spikes_factor
        return spk if self.init_hidden and not self.output else (spk, *states)


class Leaky(_Fused, snntorch.Leaky):
    """First-order leaky integrate-and-fire neuron."""

    def _mechanism(self) -> dict[str, Any]:
        return {**super()._mechanism(), "keeps_input": True}

    def forward(self, input_: Tensor, mem: Optional[Tensor] = None) -> Any:
        spec = self._spec()
        if isinstance(spec, str):
            return super().forward(input_, mem)
        self._given(mem=mem)
        y, (v,) = self._step(spec, input_, (self._state("mem", input_),))
        self.mem = v
        return self._result(y, v)


class Lapicque(_Fused, snntorch.Lapicque):
    """Leaky integrate-and-fire neuron of an RC circuit."""

    _constants = {"v_threshold": ("threshold", False)}

    def _values(self) -> tuple[dict[str, Any], dict[str, str]]:
        constants, operands = super()._values()
        key = tuple(self._number(name) for name in ("R", "C", "time_step"))
        if None in key:
            raise ValueError("R, C or time_step is not one number")
        kept = self.__dict__.get("_spikelet_decay")
        if kept is None or kept[0] != key:
            # As there, in the type of the constants.
            kept = (key, float(1 - (self.time_step / (self.R * self.C))))
            self.__dict__["_spikelet_decay"] = kept
        return {**constants, "beta": kept[1]}, operands

    @torch.compiler.assume_constant_result
    def _spec(self) -> Union[_engine.Spec, str]:
        try:
            return super()._spec()
        except ValueError as error:
            return str(error)

    def forward(self, input_: Tensor, mem: Optional[Tensor] = None) -> Any:
        spec = self._spec()
        if isinstance(spec, str):
            return super().forward(input_, mem)
        self._given(mem=mem)
        x = input_ * self.R * (1 / (self.R * self.C)) * self.time_step
        y, (v,) = self._step(spec, x, (self._state("mem", input_),))
        self.mem = v
        return self._result(y, v)


class Synaptic(_Fused, snntorch.Synaptic):
    """Second-order leaky integrate-and-fire neuron."""

    _neuron = "rsynaptic_cell"
    _constants = {"alpha": ("alpha", True), **_Fused._constants}

    def forward(self, input_: Tensor, syn: Optional[Tensor] = None, mem: Optional[Tensor] = None) -> Any:
        spec = self._spec()
        if isinstance(spec, str):
            return super().forward(input_, syn, mem)
        self._given(syn=syn, mem=mem)
        states = (self._state("mem", input_), self._state("syn", input_))
        y, (self.mem, self.syn) = self._step(spec, input_, states)
        return self._result(y, self.syn, self.mem)


class Alpha(_Fused, snntorch.Alpha):
    """Neuron whose potential is an alpha function of its inputs."""

    _neuron = "alpha"
    _reset_grad = "detach"
    _constants = Synaptic._constants

    def _tau_alpha(self) -> Tensor:
        # As there, in the type of alpha and beta.
        log_alpha, log_beta = self.alpha.clamp(0, 1).log(), self.beta.clamp(0, 1).log()
        return log_alpha / (log_beta - log_alpha) + 1

    def _values(self) -> tuple[dict[str, Any], dict[str, str]]:
        constants, operands = super()._values()
        grains = {operands[name] for name in ("alpha", "beta") if name in operands}
        if grains:
            operands["tau_alpha"] = "neuron" if "neuron" in grains else "layer"
            return {**constants, "tau_alpha": 1.0}, operands
        key = (constants["alpha"], constants["beta"])
        kept = self.__dict__.get("_spikelet_tau_alpha")
        if kept is None or kept[0] != key:
            kept = self.__dict__["_spikelet_tau_alpha"] = (key, self._tau_alpha().item())
        return {**constants, "tau_alpha": kept[1]}, operands

    def _operand(self, name: str) -> Tensor:
        return self._tau_alpha() if name == "tau_alpha" else super()._operand(name)

    def _mechanism(self) -> dict[str, Any]:
        return {**_RESETS[self.reset_mechanism], "resets_currents": True, "strict": True}

    def forward(
        self,
        input_: Tensor,
        syn_exc: Optional[Tensor] = None,
        syn_inh: Optional[Tensor] = None,
        mem: Optional[Tensor] = None,
    ) -> Any:
        spec = self._spec()
        if isinstance(spec, str):
            return super().forward(input_, syn_exc, syn_inh, mem)
        self._given(syn_exc=syn_exc, syn_inh=syn_inh, mem=mem)
        v = self._state("mem", input_)
        fired = None if v is None else (v.detach() - self.threshold > 0).to(v)
        states = (v, self._state("syn_exc", input_), self._state("syn_inh", input_), fired)
        y, (self.mem, self.syn_exc, self.syn_inh, _) = self._step(spec, input_, states)
        return self._result(y, self.syn_exc, self.syn_inh, self.mem)
