"""SpikingJelly's neurons, run by spikelet: same names, arguments, states, spikes and gradients.

A neuron that spikelet cannot run, for example with a surrogate function of one's own, runs as SpikingJelly's;
``module.implementation`` says which of the two it is, and why.
"""

from __future__ import annotations

import importlib
from typing import Any, ClassVar, Optional

import torch
import torch.nn.functional as F
from torch import Tensor

from .. import _engine
from ._fused import Fused as _Fused
from ._fused import FusedNode as _FusedNode

_peer: Any = importlib.import_module("spikingjelly.activation_based.neuron")

BaseNode = _peer.BaseNode
PSN = _peer.PSN
MaskedPSN = _peer.MaskedPSN
SlidingPSN = _peer.SlidingPSN

_LEAK = {"tau": "tau", "decay_input": "decay_input"}


class IFNode(_FusedNode, _peer.IFNode):
    """Integrate-and-fire neuron."""

    _neuron = "if"


class SimpleIFNode(_Fused, _peer.SimpleIFNode):
    """Integrate-and-fire neuron whose subclasses can override ``neuronal_charge``."""

    _neuron = "if"


class HalfThresholdIFNode(_FusedNode, _peer.HalfThresholdIFNode):
    """Integrate-and-fire neuron that starts at half of its threshold."""

    _neuron = "if"


class LIFNode(_FusedNode, _peer.LIFNode):
    """Leaky integrate-and-fire neuron."""

    _neuron = "lif"
    _numbers: ClassVar[dict[str, str]] = _LEAK


class SimpleLIFNode(_Fused, _peer.SimpleLIFNode):
    """Leaky integrate-and-fire neuron whose subclasses can override ``neuronal_charge``."""

    _neuron = "lif"
    _numbers: ClassVar[dict[str, str]] = _LEAK


class ParametricLIFNode(_FusedNode, _peer.ParametricLIFNode):
    """Leaky integrate-and-fire neuron with a trained time constant."""

    _neuron = "plif"
    _numbers: ClassVar[dict[str, str]] = {"decay_input": "decay_input"}
    _learned = ("w",)


class QIFNode(_FusedNode, _peer.QIFNode):
    """Quadratic integrate-and-fire neuron."""

    _neuron = "qif"
    _numbers: ClassVar[dict[str, str]] = {"tau": "tau", "v_c": "v_c", "a0": "a0", "v_rest": "v_rest"}


class EIFNode(_FusedNode, _peer.EIFNode):
    """Exponential integrate-and-fire neuron."""

    _neuron = "eif"
    _numbers: ClassVar[dict[str, str]] = {
        "tau": "tau", "delta_T": "delta_t", "theta_rh": "theta_rh", "v_rest": "v_rest",
    }


class IzhikevichNode(_FusedNode, _peer.IzhikevichNode):
    """Quadratic integrate-and-fire neuron with an adaptation current."""

    _neuron = "izhikevich"
    _numbers: ClassVar[dict[str, str]] = {
        name: name for name in ("tau", "v_c", "a0", "v_rest", "w_rest", "tau_w", "a", "b")
    }


class KLIFNode(_FusedNode, _peer.KLIFNode):
    """Leaky integrate-and-fire neuron with a trained scale of its potential."""

    _neuron = "klif"
    _numbers: ClassVar[dict[str, str]] = {**_LEAK, "scale_reset": "scale_reset"}
    _learned = ("k",)


_ACTIVATIONS = {
    torch.relu: "relu", F.relu: "relu", torch.sigmoid: "sigmoid", F.sigmoid: "sigmoid", torch.tanh: "tanh", F.tanh: "tanh",
}
_ACTIVATION_MODULES = {torch.nn.ReLU: "relu", torch.nn.Sigmoid: "sigmoid", torch.nn.Tanh: "tanh"}


class LIAFNode(LIFNode, _peer.LIAFNode):
    """Leaky integrate-and-fire neuron with real outputs."""

    _neuron = "liaf"
    differs = "on sequences it returns act(H - v_threshold); SpikingJelly 2.0.0 returns the spikes there"

    def _constants(self) -> Any:
        act = _ACTIVATIONS.get(self.act, _ACTIVATION_MODULES.get(type(self.act)))
        if act is None:
            return "act is not relu, sigmoid or tanh"
        own = super()._constants()
        return own if isinstance(own, str) else {**own, "act": act, "threshold_related": bool(self.threshold_related)}


class CUBALIFNode(_FusedNode, _peer.CUBALIFNode):
    """Leaky integrate-and-fire neuron with a current that decays."""

    _neuron = "cuba_lif"
    _numbers: ClassVar[dict[str, str]] = {"c_decay": "c_decay", "v_decay": "v_decay"}


class ComplementaryLIFNode(_FusedNode, _peer.ComplementaryLIFNode):
    """Leaky integrate-and-fire neuron with a complementary potential."""

    _neuron = "clif"
    _numbers: ClassVar[dict[str, str]] = {"tau": "tau"}

    def _surrogate(self) -> Any:
        spikes = self.training or not getattr(self.surrogate_function, "spiking", True)
        return self.surrogate_function if spikes else _gates_heaviside()

    def multi_step_forward(self, x_seq: Tensor, *args: Any, **kwargs: Any) -> Any:
        if not self.store_state_seqs:
            return super().multi_step_forward(x_seq, *args, **kwargs)
        steps, v_seq, m_seq = [], [], []
        for x in x_seq:
            steps.append(self.single_step_forward(x))
            v_seq.append(self.v)
            m_seq.append(self.m)
        self.state_seqs = [torch.stack(v_seq), torch.stack(m_seq)]
        return torch.stack(steps)


class RAFNode(_FusedNode, _peer.RAFNode):
    """Resonate-and-fire neuron."""

    _neuron = "raf"
    _numbers: ClassVar[dict[str, str]] = {"b": "b", "omega": "omega", "dt": "dt"}


class ILIFNode(LIFNode, _peer.ILIFNode):
    """Leaky integrate-and-fire neuron with integer spike counts."""

    _neuron = "ilif"
    _numbers: ClassVar[dict[str, str]] = {"tau": "tau"}


class TernaryIFNode(_FusedNode, _peer.TernaryIFNode):
    """Integrate-and-fire neuron with positive and negative spikes."""

    _neuron = "ternary_if"


class TernaryLIFNode(_FusedNode, _peer.TernaryLIFNode):
    """Leaky integrate-and-fire neuron with positive and negative spikes."""

    _neuron = "ternary_lif"
    _numbers: ClassVar[dict[str, str]] = _LEAK


def _gates_heaviside() -> Any:
    from . import surrogate

    return surrogate.heaviside


class _Online(LIFNode):
    """Each step of a training starts from a potential without a gradient."""

    def _surrogate(self) -> Any:
        return self.surrogate_function if self.training else _gates_heaviside()

    def _before(self, states: tuple[Any, ...]) -> tuple[Any, ...]:
        v = states[0]
        return (v.detach() if self.training and isinstance(v, Tensor) else v,)

    def multi_step_functional_forward(self, inputs: Any, states: Any, **kwargs: Any) -> Any:
        return self._by_single_steps(inputs, states, **kwargs)


class SLTTLIFNode(_Online, _peer.SLTTLIFNode):
    """Leaky integrate-and-fire neuron without gradients through time."""


class OTTTLIFNode(_Online, _peer.OTTTLIFNode):
    """As :class:`SLTTLIFNode`; in training it returns ``[spikes, trace]``, the trace that weights are learned from."""

    def single_step_functional_forward(self, inputs: Any, states: Any, **kwargs: Any) -> Any:
        outputs, (v,) = super().single_step_functional_forward(inputs, states[:1], **kwargs)
        if not self.training:
            return outputs, (v, states[1])
        trace = self.track_trace(outputs[0], states[1], self.tau)
        return (outputs[0], trace), (v, trace)

    def single_step_forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Any:
        states = self.materialize_states((x, *args), tuple(self._memories.values()), "s")
        outputs, (self.v, self.trace) = self.single_step_functional_forward((x, *args), states, **kwargs)
        self._record_v()
        return list(outputs) if len(outputs) > 1 else outputs[0]


class GatedLIFNode(_Fused, _peer.GatedLIFNode):
    """Leaky integrate-and-fire neuron with trained gates between two ways of leaking, charging and resetting."""

    _neuron = "gated_lif"
    _learned = ("alpha", "beta", "gamma", "tau", "linear_decay", "v_subreset", "v_threshold", "conduct")

    def _common(self) -> dict[str, Any]:
        return {}

    def _constants(self) -> Any:
        return {"inplane": self.alpha.numel() if self.alpha.ndim else None, "v_threshold": 0.5}

    def _example(self) -> tuple[int, ...]:
        return (self.T, 1, self.alpha.numel(), 1, 1)

    def _is_fused(self, x_seq: Tensor) -> Optional[str]:
        # Its parameters are those of images there; see the gates' view(1, -1, 1, 1).
        if x_seq.ndim != 5:
            return f"the input has {x_seq.ndim} axes, expected [T, N, C, H, W]"
        return None

    def multi_step_functional_forward(self, inputs: Any, states: Any, **kwargs: Any) -> Any:
        spec = self._spec()
        x_seq = inputs[0]
        if isinstance(spec, str) or self._is_fused(x_seq) is not None or x_seq.shape[0] != self.T:
            return super(_Fused, self).multi_step_functional_forward(inputs, states, **kwargs)
        # There, no neuron has fired before the first step of a call.
        y, (v, _) = _engine.run(spec, x_seq, (_engine.as_state(states[0], x_seq), None), self._operands())
        return (y,), (v, v)

    def multi_step_forward(self, x_seq: Tensor, *args: Any, **kwargs: Any) -> Any:
        return super(_Fused, self).multi_step_forward(x_seq, *args, **kwargs)


class _NonSpiking:
    """Readouts of potentials. They keep no state from call to call."""

    v: Tensor
    decode: Optional[str]
    tau: float

    def _potentials(self) -> _engine.Spec:
        raise NotImplementedError

    def forward(self, x_seq: Tensor) -> Any:
        v_seq, (self.v,) = _engine.run(self._potentials(), x_seq, (None,), {})
        if self.decode == "max-mem":
            return torch.max(v_seq, 0).values
        if self.decode == "max-abs-mem":
            high, low = torch.max(v_seq, 0).values, torch.min(v_seq, 0).values
            is_high = high.abs() > low.abs()
            return high * is_high + low * is_high.logical_not()
        if self.decode == "mean-mem":
            return torch.mean(v_seq, 0)
        return v_seq[-1] if self.decode == "last_mem" else list(v_seq.unbind(0))


class NonSpikingIFNode(_NonSpiking, _peer.NonSpikingIFNode):
    """Integrator that never fires."""

    def _potentials(self) -> _engine.Spec:
        return _engine.spec("non_spiking_if", {}, None)


class NonSpikingLIFNode(_NonSpiking, _peer.NonSpikingLIFNode):
    """Leaky integrator that never fires."""

    def _potentials(self) -> _engine.Spec:
        return _engine.spec("non_spiking_lif", {"tau": float(self.tau)}, None)


# Neurons of research that spikelet has not are SpikingJelly's own.
_OTHERS = [name for name in dir(_peer) if name.endswith(("Node", "SN")) and name not in globals()]
for _name in _OTHERS:
    globals()[_name] = getattr(_peer, _name)

__all__ = sorted(
    name
    for name, value in globals().items()
    if isinstance(value, type) and not name.startswith("_") and name.endswith(("Node", "PSN", "SN"))
)
