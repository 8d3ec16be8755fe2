"""Neurons of snnTorch, one step a call."""

from __future__ import annotations

from typing import Any, Optional, Union

import snntorch
import torch
from torch import Tensor

from .. import _engine
from ._gates import gate_of

_RESETS: dict[str, dict[str, Any]] = {
    "subtract": {"v_reset": None},
    "zero": {"v_reset": 0.0},
    "none": {"v_reset": None, "resets": False},
}


class _Fused:
    """In front of a neuron of snnTorch in the list of bases: its steps are run by spikelet.

    Constants that are parameters, or that have a value for each neuron, are operands of the kernel; the others are part of it.
    """

    _neuron = "rleaky"

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

    def _operands(self) -> Union[tuple[dict[str, Any], dict[str, Tensor]], str]:
        """The constants of the kernel and its operands."""
        constants, operands = {}, {}
        for theirs, ours, decay in self._constants():
            number = self._number(theirs)
            if number is not None:
                constants[ours] = min(max(number, 0.0), 1.0) if decay else number
                continue
            tensor = getattr(self, theirs)
            operands[ours] = tensor.clamp(0, 1) if decay else tensor
        return constants, operands

    def _constants(self) -> tuple[tuple[str, str, bool], ...]:
        """Attributes, their names in spikelet, and whether they are decay factors, which are clamped to [0, 1]."""
        return (("beta", "beta", True), ("threshold", "v_threshold", False))

    def _mechanism(self) -> dict[str, Any]:
        """The reset."""
        return {**_RESETS[self.reset_mechanism], "reset_delay": getattr(self, "reset_delay", True)}

    def _spec(self) -> Union[tuple[_engine.Spec, dict[str, Tensor]], str]:
        """The definition of the neuron as it is now with its operands, or why there is none."""
        if self.inhibition:
            return "inhibition between neurons"
        if self.state_quant:
            return "quantized states"
        gate = gate_of(self.spike_grad)
        if isinstance(gate, str):
            return gate
        found = self._operands()
        if isinstance(found, str):
            return found
        constants, operands = found
        grains = {name: "layer" if tensor.numel() == 1 else "neuron" for name, tensor in operands.items()}
        try:
            spec = _engine.spec(
                self._neuron, {**constants, **self._mechanism()}, gate, self._reset_grad(), trainable=grains
            )
        except ValueError as error:
            return str(error)
        return spec, operands

    def _step(
        self, found: tuple[_engine.Spec, dict[str, Tensor]], x: Tensor, states: tuple[Optional[Tensor], ...]
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        spec, operands = found
        shaped = {
            name: tensor.reshape(()) if tensor.numel() == 1 else tensor.expand(x.shape[1:])
            for name, tensor in operands.items()
        }
        return _engine.step(spec, x, states, shaped)

    def _reset_grad(self) -> str:
        return "surrogate"

    def _given(self, **states: Optional[Tensor]) -> bool:
        """Keeps the states that are arguments."""
        given = {name: state for name, state in states.items() if state is not None}
        for name, state in given.items():
            setattr(self, name, state)
        if given and self.init_hidden:
            raise TypeError(f"`{'` or `'.join(states)}` should not be passed as an argument while `init_hidden=True`")
        return bool(given)

    def _state(self, name: str, x: Tensor) -> Optional[Tensor]:
        """A state of the module; None, which is zero, before the first step and after a change of shape."""
        state = getattr(self, name)
        return state if state.shape == x.shape else None

    def _graded(self, spk: Tensor) -> Tensor:
        factor = self._number("graded_spikes_factor")
        return spk if factor == 1.0 else spk * self.graded_spikes_factor

    def _result(self, spk: Tensor, *states: Tensor) -> Any:
        return spk if self.init_hidden and not self.output else (spk, *states)


class Leaky(_Fused, snntorch.Leaky):
    """First-order leaky integrate-and-fire neuron."""

    def _mechanism(self) -> dict[str, Any]:
        return {**super()._mechanism(), "keeps_input": True}

    def forward(self, input_: Tensor, mem: Optional[Tensor] = None) -> Any:
        found = self._spec()
        if isinstance(found, str):
            return super().forward(input_, mem)
        self._given(mem=mem)
        y, (v,) = self._step(found, input_, (self._state("mem", input_),))
        self.mem = v
        return self._result(self._graded(y), v)


class Lapicque(_Fused, snntorch.Lapicque):
    """Leaky integrate-and-fire neuron of an RC circuit."""

    def _constants(self) -> tuple[tuple[str, str, bool], ...]:
        return (("threshold", "v_threshold", False),)

    def _operands(self) -> Union[tuple[dict[str, Any], dict[str, Tensor]], str]:
        if any(self._number(name) is None for name in ("R", "C", "time_step")):
            return "R, C or time_step are not one number"
        constants, operands = super()._operands()
        kept = self.__dict__.get("_spikelet_decay")
        key = (self._number("R"), self._number("C"), self._number("time_step"))
        if kept is None or kept[0] != key:
            kept = (key, (1 - (self.time_step / (self.R * self.C))).item())
            self.__dict__["_spikelet_decay"] = kept
        return {**constants, "beta": kept[1]}, operands

    def forward(self, input_: Tensor, mem: Optional[Tensor] = None) -> Any:
        found = self._spec()
        if isinstance(found, str):
            return super().forward(input_, mem)
        self._given(mem=mem)
        x = input_ * self.R * (1 / (self.R * self.C)) * self.time_step
        y, (v,) = self._step(found, x, (self._state("mem", input_),))
        self.mem = v
        return self._result(self._graded(y), v)


class Synaptic(_Fused, snntorch.Synaptic):
    """Second-order leaky integrate-and-fire neuron."""

    _neuron = "rsynaptic"

    def _constants(self) -> tuple[tuple[str, str, bool], ...]:
        return (("alpha", "alpha", True), *super()._constants())

    def forward(self, input_: Tensor, syn: Optional[Tensor] = None, mem: Optional[Tensor] = None) -> Any:
        found = self._spec()
        if isinstance(found, str):
            return super().forward(input_, syn, mem)
        self._given(syn=syn, mem=mem)
        states = (self._state("mem", input_), self._state("syn", input_))
        y, (self.mem, self.syn) = self._step(found, input_, states)
        return self._result(self._graded(y), self.syn, self.mem)


class Alpha(_Fused, snntorch.Alpha):
    """Neuron whose potential is an alpha function of its inputs."""

    _neuron = "alpha"

    def _constants(self) -> tuple[tuple[str, str, bool], ...]:
        return (("alpha", "alpha", True), *super()._constants())

    def _operands(self) -> Union[tuple[dict[str, Any], dict[str, Tensor]], str]:
        constants, operands = super()._operands()
        learned = [name for name in ("alpha", "beta") if name in operands]
        key = (constants.get("alpha"), constants.get("beta"))
        kept = self.__dict__.get("_spikelet_tau_alpha")
        if not learned and kept is not None and kept[0] == key:
            return {**constants, "tau_alpha": kept[1]}, operands
        # As there, in the type of alpha and beta.
        log_alpha, log_beta = self.alpha.clamp(0, 1).log(), self.beta.clamp(0, 1).log()
        tau_alpha = log_alpha / (log_beta - log_alpha) + 1
        if not learned and tau_alpha.numel() == 1:
            self.__dict__["_spikelet_tau_alpha"] = (key, tau_alpha.item())
            return {**constants, "tau_alpha": tau_alpha.item()}, operands
        return {**constants, "tau_alpha": 1.0}, {**operands, "tau_alpha": tau_alpha}

    def _mechanism(self) -> dict[str, Any]:
        return {**_RESETS[self.reset_mechanism], "resets_currents": True, "strict": True}

    def _reset_grad(self) -> str:
        return "detach"

    def forward(
        self,
        input_: Tensor,
        syn_exc: Optional[Tensor] = None,
        syn_inh: Optional[Tensor] = None,
        mem: Optional[Tensor] = None,
    ) -> Any:
        found = self._spec()
        if isinstance(found, str):
            return super().forward(input_, syn_exc, syn_inh, mem)
        self._given(syn_exc=syn_exc, syn_inh=syn_inh, mem=mem)
        v = self._state("mem", input_)
        fired = None if v is None else (v.detach() - self.threshold > 0).to(v)
        states = (v, self._state("syn_exc", input_), self._state("syn_inh", input_), fired)
        y, (self.mem, self.syn_exc, self.syn_inh, _) = self._step(found, input_, states)
        return self._result(self._graded(y), self.syn_exc, self.syn_inh, self.mem)
