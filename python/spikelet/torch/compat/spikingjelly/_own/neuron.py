"""The constructors and states of SpikingJelly's neurons; their equations are spikelet's."""

from __future__ import annotations

import math
from typing import Any, Callable, Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import surrogate
from .base import MemoryModule, MultiStepModule, States, Tensors


class BaseNode(MemoryModule):
    """A neuron with the potential ``v``."""

    def __init__(
        self,
        v_threshold: float = 1.0,
        v_reset: Optional[float] = 0.0,
        surrogate_function: Callable[[Tensor], Tensor] = surrogate.Sigmoid(),
        detach_reset: bool = False,
        step_mode: str = "s",
        store_v_seq: bool = False,
    ) -> None:
        assert isinstance(v_reset, float) or v_reset is None
        assert isinstance(v_threshold, float)
        assert isinstance(detach_reset, bool)
        super().__init__()
        self.register_memory("v", 0.0 if v_reset is None else v_reset)
        self.v_threshold = v_threshold
        self.v_reset = v_reset
        self.detach_reset = detach_reset
        self.surrogate_function = surrogate_function
        self.step_mode = step_mode
        self.store_v_seq = store_v_seq

    @property
    def store_v_seq(self) -> bool:
        return self._store_v_seq

    @store_v_seq.setter
    def store_v_seq(self, value: bool) -> None:
        self._store_v_seq = value
        self.v_seq: Optional[Tensor] = None

    def reset(self) -> None:
        super().reset()
        self.v_seq = None

    def detach(self) -> None:
        super().detach()
        if self.v_seq is not None:
            self.v_seq = self.v_seq.detach()

    def extra_repr(self) -> str:
        return (
            f"v_threshold={self.v_threshold}, v_reset={self.v_reset}, detach_reset={self.detach_reset}, "
            f"step_mode={self.step_mode}"
        )

    def materialize_states(self, inputs: Tensors, states: States, step_mode: str) -> States:
        x = inputs[0][0] if step_mode == "m" else inputs[0]
        starts = self._memories_rv.items()
        return tuple(_filled(x, state, start) for state, (_, start) in zip(states, starts))


def _filled(x: Tensor, state: Any, start: Any) -> Tensor:
    if not isinstance(state, Tensor):
        return torch.full_like(x, state, requires_grad=False)
    if state.shape != x.shape:
        return torch.full_like(x, start, requires_grad=False)
    return state.to(dtype=x.dtype, device=x.device)


class IFNode(BaseNode):
    pass


class SimpleIFNode(IFNode):
    def __init__(
        self,
        v_threshold: float = 1.0,
        v_reset: Optional[float] = 0.0,
        surrogate_function: Callable[[Tensor], Tensor] = surrogate.Sigmoid(),
        detach_reset: bool = False,
        step_mode: str = "s",
    ) -> None:
        super().__init__(v_threshold, v_reset, surrogate_function, detach_reset, step_mode)
        self.v = 0.0
        self.set_reset_value("v", 0.0)


class HalfThresholdIFNode(BaseNode):
    def __init__(
        self,
        v_threshold: float = 1.0,
        surrogate_function: Callable[[Tensor], Tensor] = surrogate.Sigmoid(),
        detach_reset: bool = False,
        step_mode: str = "s",
        store_v_seq: bool = False,
    ) -> None:
        v_threshold = float(v_threshold)
        if not math.isfinite(v_threshold) or v_threshold <= 0.0:
            raise ValueError("v_threshold must be finite positive.")
        super().__init__(v_threshold, None, surrogate_function, detach_reset, step_mode, store_v_seq)
        self.set_reset_value("v", v_threshold / 2.0)
        self.v = v_threshold / 2.0


class LIFNode(BaseNode):
    def __init__(
        self,
        tau: float = 2.0,
        decay_input: bool = True,
        v_threshold: float = 1.0,
        v_reset: Optional[float] = 0.0,
        surrogate_function: Callable[[Tensor], Tensor] = surrogate.Sigmoid(),
        detach_reset: bool = False,
        step_mode: str = "s",
        store_v_seq: bool = False,
    ) -> None:
        assert isinstance(tau, float) and tau > 1.0
        super().__init__(v_threshold, v_reset, surrogate_function, detach_reset, step_mode, store_v_seq)
        self.tau = tau
        self.decay_input = decay_input

    def extra_repr(self) -> str:
        return super().extra_repr() + f", tau={self.tau}"


class SimpleLIFNode(LIFNode):
    def __init__(
        self,
        tau: float,
        decay_input: bool,
        v_threshold: float = 1.0,
        v_reset: float = 0.0,
        surrogate_function: Callable[[Tensor], Tensor] = surrogate.Sigmoid(),
        detach_reset: bool = False,
        step_mode: str = "s",
    ) -> None:
        super().__init__(tau, decay_input, v_threshold, v_reset, surrogate_function, detach_reset, step_mode)
        self.v = 0.0
        self.set_reset_value("v", 0.0)


class ParametricLIFNode(BaseNode):
    def __init__(
        self,
        init_tau: float = 2.0,
        decay_input: bool = True,
        v_threshold: float = 1.0,
        v_reset: Optional[float] = 0.0,
        surrogate_function: Callable[[Tensor], Tensor] = surrogate.Sigmoid(),
        detach_reset: bool = False,
        step_mode: str = "s",
        store_v_seq: bool = False,
    ) -> None:
        assert isinstance(init_tau, float) and init_tau > 1.0
        super().__init__(v_threshold, v_reset, surrogate_function, detach_reset, step_mode, store_v_seq)
        self.decay_input = decay_input
        self.w = nn.Parameter(torch.as_tensor(-math.log(init_tau - 1.0)))

    def extra_repr(self) -> str:
        with torch.no_grad():
            return super().extra_repr() + f", tau={1.0 / self.w.sigmoid()}"


class QIFNode(BaseNode):
    def __init__(
        self,
        tau: float = 2.0,
        v_c: float = 0.8,
        a0: float = 1.0,
        v_threshold: float = 1.0,
        v_rest: float = 0.0,
        v_reset: Optional[float] = -0.1,
        surrogate_function: Callable[[Tensor], Tensor] = surrogate.Sigmoid(),
        detach_reset: bool = False,
        step_mode: str = "s",
        store_v_seq: bool = False,
    ) -> None:
        assert isinstance(tau, float) and tau > 1.0
        assert v_reset is None or v_threshold > v_reset and v_rest >= v_reset
        assert a0 > 0
        super().__init__(v_threshold, v_reset, surrogate_function, detach_reset, step_mode, store_v_seq)
        self.tau, self.v_c, self.v_rest, self.a0 = tau, v_c, v_rest, a0

    def extra_repr(self) -> str:
        return super().extra_repr() + f", tau={self.tau}, v_c={self.v_c}, a0={self.a0}, v_rest={self.v_rest}"


class EIFNode(BaseNode):
    def __init__(
        self,
        tau: float = 2.0,
        delta_T: float = 1.0,
        theta_rh: float = 0.8,
        v_threshold: float = 1.0,
        v_rest: float = 0.0,
        v_reset: Optional[float] = -0.1,
        surrogate_function: Callable[[Tensor], Tensor] = surrogate.Sigmoid(),
        detach_reset: bool = False,
        step_mode: str = "s",
        store_v_seq: bool = False,
    ) -> None:
        assert isinstance(tau, float) and tau > 1.0
        assert v_reset is None or v_threshold > v_reset and v_rest >= v_reset
        assert delta_T > 0
        super().__init__(v_threshold, v_reset, surrogate_function, detach_reset, step_mode, store_v_seq)
        self.tau, self.delta_T, self.v_rest, self.theta_rh = tau, delta_T, v_rest, theta_rh

    def extra_repr(self) -> str:
        return super().extra_repr() + f", tau={self.tau}, delta_T={self.delta_T}, theta_rh={self.theta_rh}"


class IzhikevichNode(BaseNode):
    def __init__(
        self,
        tau: float = 2.0,
        v_c: float = 0.8,
        a0: float = 1.0,
        v_threshold: float = 1.0,
        v_reset: Optional[float] = 0.0,
        v_rest: float = -0.1,
        w_rest: float = 0.0,
        tau_w: float = 2.0,
        a: float = 0.0,
        b: float = 0.0,
        surrogate_function: Callable[[Tensor], Tensor] = surrogate.Sigmoid(),
        detach_reset: bool = False,
        step_mode: str = "s",
        store_v_seq: bool = False,
    ) -> None:
        assert isinstance(tau, float) and tau > 1.0
        assert a0 > 0
        super().__init__(v_threshold, v_reset, surrogate_function, detach_reset, step_mode, store_v_seq)
        self.register_memory("w", w_rest)
        self.tau, self.v_c, self.a0 = tau, v_c, a0
        self.v_rest, self.w_rest, self.tau_w, self.a, self.b = v_rest, w_rest, tau_w, a, b

    def extra_repr(self) -> str:
        return super().extra_repr() + (
            f", v_rest={self.v_rest}, w_rest={self.w_rest}, tau_w={self.tau_w}, a={self.a}, b={self.b}, tau={self.tau}, "
            f"v_c={self.v_c}, a0={self.a0}"
        )


class KLIFNode(BaseNode):
    def __init__(
        self,
        scale_reset: bool = False,
        tau: float = 2.0,
        decay_input: bool = True,
        v_threshold: float = 1.0,
        v_reset: Optional[float] = 0.0,
        surrogate_function: Callable[[Tensor], Tensor] = surrogate.Sigmoid(),
        detach_reset: bool = False,
        step_mode: str = "s",
        store_v_seq: bool = False,
    ) -> None:
        assert isinstance(tau, float) and tau > 1.0
        super().__init__(v_threshold, v_reset, surrogate_function, detach_reset, step_mode, store_v_seq)
        self.scale_reset, self.tau, self.decay_input = scale_reset, tau, decay_input
        self.k = nn.Parameter(torch.as_tensor(1.0))


class LIAFNode(LIFNode):
    def __init__(self, act: Callable[[Tensor], Tensor], threshold_related: bool, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.act = act
        self.threshold_related = threshold_related


class CUBALIFNode(BaseNode):
    def __init__(
        self,
        c_decay: float = 0.5,
        v_decay: float = 0.75,
        v_threshold: float = 0.5,
        v_reset: Optional[float] = 0.0,
        surrogate_function: Callable[[Tensor], Tensor] = surrogate.Rect(),
    ) -> None:
        super().__init__(v_threshold, v_reset, surrogate_function)
        self.register_memory("c", 0.0)
        self.c_decay, self.v_decay = c_decay, v_decay


class ComplementaryLIFNode(BaseNode):
    def __init__(
        self,
        tau: float = 2.0,
        v_threshold: float = 1.0,
        surrogate_function: Callable[[Tensor], Tensor] = surrogate.Rect(alpha=1.0),
        step_mode: str = "s",
        store_state_seqs: bool = False,
    ) -> None:
        assert isinstance(tau, float) and tau > 1.0
        super().__init__(v_threshold, None, surrogate_function, False, step_mode)
        self.tau = tau
        self.register_memory("m", 0.0)
        self.store_state_seqs = store_state_seqs
        self.state_seqs: Optional[list[Tensor]] = None

    def extra_repr(self) -> str:
        return super().extra_repr() + f", tau={self.tau}"


class RAFNode(BaseNode):
    def __init__(
        self,
        b: float = -0.2,
        omega: float = 1.0,
        dt: float = 1.0,
        v_threshold: float = 1.0,
        v_reset: Optional[float] = 0.0,
        surrogate_function: Callable[[Tensor], Tensor] = surrogate.Sigmoid(),
        detach_reset: bool = False,
        step_mode: str = "s",
        store_v_seq: bool = False,
    ) -> None:
        assert isinstance(b, float) and b < 0.0
        assert isinstance(omega, float) and omega > 0.0
        assert isinstance(dt, float) and dt > 0.0
        super().__init__(v_threshold, v_reset, surrogate_function, detach_reset, step_mode, store_v_seq)
        self.register_memory("u", 0.0)
        self.b, self.omega, self.dt = b, omega, dt

    def extra_repr(self) -> str:
        return super().extra_repr() + f", b={self.b}, omega={self.omega}, dt={self.dt}"


class ILIFNode(LIFNode):
    def __init__(
        self,
        tau: float = 4.0 / 3.0,
        v_threshold: float = 1.0,
        surrogate_function: surrogate.MultiLevelSpikeCount = surrogate.MultiLevelSpikeCount(4),
        detach_reset: bool = False,
        step_mode: str = "s",
        store_v_seq: bool = False,
    ) -> None:
        if not isinstance(surrogate_function, surrogate.MultiLevelSpikeCount) or not surrogate_function.spiking:
            raise ValueError("surrogate_function must be a spiking MultiLevelSpikeCount.")
        super().__init__(tau, False, v_threshold, None, surrogate_function, detach_reset, step_mode, store_v_seq)


class TernaryIFNode(BaseNode):
    pass


class TernaryLIFNode(LIFNode):
    def extra_repr(self) -> str:
        return super().extra_repr() + f", decay_input={self.decay_input}"


class GatedLIFNode(MemoryModule):
    def __init__(
        self,
        T: int,
        inplane: Optional[int] = None,
        init_linear_decay: Optional[float] = None,
        init_v_subreset: Optional[float] = None,
        init_tau: float = 0.25,
        init_v_threshold: float = 0.5,
        init_conduct: float = 0.5,
        surrogate_function: Callable[[Tensor], Tensor] = surrogate.Sigmoid(),
        step_mode: str = "m",
    ) -> None:
        assert step_mode == "m"
        super().__init__()
        self.surrogate_function = surrogate_function
        self.step_mode = step_mode
        self.T = T
        self.register_memory("v", 0.0)
        self.register_memory("u", 0.0)
        shape = () if inplane is None else (inplane,)
        for name in ("alpha", "beta", "gamma"):
            setattr(self, name, nn.Parameter(0.2 * (torch.rand(shape) - 0.5)))
        linear_decay = init_v_threshold / (T * 2) if init_linear_decay is None else init_linear_decay
        v_subreset = init_v_threshold if init_v_subreset is None else init_v_subreset
        starts = {
            "tau": init_tau, "v_threshold": init_v_threshold, "linear_decay": linear_decay, "v_subreset": v_subreset,
            "conduct": init_conduct,
        }
        for name, start in starts.items():
            own = (T, *shape) if name == "conduct" else shape
            setattr(self, name, nn.Parameter(torch.full(own, -math.log(1 / start - 1))))

    def materialize_states(self, inputs: Tensors, states: States, step_mode: str) -> States:
        v = states[0] if isinstance(states[0], Tensor) else torch.full_like(inputs[0][0], states[0])
        return (v, states[1])


class SLTTLIFNode(LIFNode):
    def __init__(
        self,
        tau: float = 2.0,
        decay_input: bool = True,
        v_threshold: float = 1.0,
        v_reset: Optional[float] = 0.0,
        surrogate_function: Callable[[Tensor], Tensor] = surrogate.Sigmoid(),
        detach_reset: bool = True,
        step_mode: str = "s",
        store_v_seq: bool = False,
    ) -> None:
        super().__init__(
            tau, decay_input, v_threshold, v_reset, surrogate_function, detach_reset, step_mode, store_v_seq
        )
        assert step_mode == "s", "Please use single-step mode to enable memory-efficient training."


class OTTTLIFNode(SLTTLIFNode):
    def __init__(
        self,
        tau: float = 2.0,
        decay_input: bool = False,
        v_threshold: float = 1.0,
        v_reset: Optional[float] = None,
        surrogate_function: Callable[[Tensor], Tensor] = surrogate.Sigmoid(),
        detach_reset: bool = True,
        step_mode: str = "s",
        store_v_seq: bool = False,
    ) -> None:
        super().__init__(
            tau, decay_input, v_threshold, v_reset, surrogate_function, detach_reset, step_mode, store_v_seq
        )
        self.register_memory("trace", None)

    def materialize_states(self, inputs: Tensors, states: States, step_mode: str) -> States:
        (v,) = super().materialize_states(inputs, states[:1], step_mode)
        return v, torch.zeros_like(v) if self.training and states[1] is None else states[1]

    @staticmethod
    def track_trace(spike: Tensor, trace: Tensor, tau: float) -> Tensor:
        with torch.no_grad():
            return trace * (1.0 - 1.0 / tau) + spike


class NonSpikingBaseNode(nn.Module, MultiStepModule):
    def __init__(self, decode: Optional[str] = None) -> None:
        super().__init__()
        self.decode = decode


class NonSpikingIFNode(NonSpikingBaseNode):
    pass


class NonSpikingLIFNode(NonSpikingBaseNode):
    def __init__(self, tau: float = 2.0, decode: Optional[str] = None) -> None:
        super().__init__(decode)
        self.tau = tau


class _Parallel(MemoryModule):
    """H = W·X + b over the time axis."""

    weight: nn.Parameter
    bias: nn.Parameter
    surrogate_function: Callable[[Tensor], Tensor]

    def __init__(self, surrogate_function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.step_mode = "m"
        self.surrogate_function = surrogate_function

    def supported_step_mode(self) -> tuple[str, ...]:
        return ("m",)

    def _full(self, T: int) -> Tensor:
        raise NotImplementedError

    def multi_step_functional_forward(self, inputs: Tensors, states: States, **kwargs: Any) -> tuple[Tensors, States]:
        (x_seq,) = inputs
        h_seq = torch.addmm(self.bias, self._full(x_seq.shape[0]), x_seq.flatten(1))
        return (self.surrogate_function(h_seq).view(x_seq.shape),), states


def _square(T: int) -> tuple[nn.Parameter, nn.Parameter]:
    weight, bias = nn.Parameter(torch.zeros(T, T)), nn.Parameter(torch.full((T, 1), -1.0))
    nn.init.kaiming_uniform_(weight, a=math.sqrt(5))
    return weight, bias


class PSN(_Parallel):
    def __init__(self, T: int, surrogate_function: Callable[[Tensor], Tensor] = surrogate.ATan()) -> None:
        super().__init__(surrogate_function)
        self.T = T
        self.weight, self.bias = _square(T)

    def _full(self, T: int) -> Tensor:
        return self.weight

    def extra_repr(self) -> str:
        return f"T={self.T}"


class MaskedPSN(_Parallel):
    def __init__(
        self,
        k: int,
        T: int,
        lambda_init: float = 0.0,
        surrogate_function: Callable[[Tensor], Tensor] = surrogate.ATan(),
        step_mode: str = "m",
    ) -> None:
        super().__init__(surrogate_function)
        self.step_mode = step_mode
        self.k, self.T = k, T
        self.register_buffer("_lambda_", torch.as_tensor(lambda_init))
        self.weight, self.bias = _square(T)
        ones = torch.ones(T, T)
        self.register_buffer("mask0", ones.tril() * ones.triu(-(k - 1)))
        self.register_buffer("mask1", ones)

    @property
    def lambda_(self) -> Tensor:
        return self._lambda_

    @lambda_.setter
    def lambda_(self, value: float) -> None:
        self._lambda_.fill_(value)

    def _full(self, T: int) -> Tensor:
        if self.lambda_ >= 1.0:
            return self.weight * self.mask0
        return (self.lambda_ * self.mask0 + (1.0 - self.lambda_) * self.mask1) * self.weight

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, lambda_={self.lambda_}, T={self.T}"


class SlidingPSN(_Parallel):
    def __init__(
        self,
        k: int,
        exp_init: bool = True,
        surrogate_function: Callable[[Tensor], Tensor] = surrogate.ATan(),
        step_mode: str = "m",
    ) -> None:
        super().__init__(surrogate_function)
        self.step_mode = step_mode
        self.k = k
        weight = 2.0 ** torch.arange(1.0 - k, 1.0)
        if not exp_init:
            nn.init.kaiming_uniform_(weight.unsqueeze(0), a=math.sqrt(5))
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(torch.as_tensor(-1.0))

    def _full(self, T: int) -> Tensor:
        rows = [F.pad(self.weight[max(0, self.k - i - 1) :], (max(0, i + 1 - self.k), T - 1 - i)) for i in range(T)]
        return torch.stack(rows)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, order={self.k}"
