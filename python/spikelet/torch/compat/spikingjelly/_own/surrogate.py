"""Surrogate functions with SpikingJelly's names and defaults."""

from __future__ import annotations

from typing import Any, Optional

from torch import Tensor, nn

from ... import _engine

__all__ = [
    "ATan", "DeterministicPass", "Erf", "FakeNumericalGradient", "LeakyKReLU", "LogTailedReLU", "MultiLevelSpikeCount",
    "NonzeroSignLogAbs", "PiecewiseExp", "PiecewiseLeakyReLU", "PiecewiseQuadratic", "QPseudoSpike", "Rect", "S2NN", "Sigmoid",
    "SoftSign", "SquarewaveFourierSeries", "SuperSpike",
]


def heaviside(x: Tensor) -> Tensor:
    """1 where ``x >= 0``, without a gradient."""
    return (x >= 0).to(x)


class SurrogateFunctionBase(nn.Module):
    """Θ(x) with a surrogate derivative; with ``spiking=False`` its primitive."""

    def __init__(self, spiking: bool = True, **constants: Any) -> None:
        super().__init__()
        self.spiking = spiking
        self._sg_param_names = tuple(constants)
        for name, value in constants.items():
            setattr(self, name, value)

    def set_spiking_mode(self, spiking: bool) -> None:
        self.spiking = spiking

    def extra_repr(self) -> str:
        constants = [f"{name}={getattr(self, name)}" for name in self._sg_param_names]
        return ", ".join([*constants, f"spiking={self.spiking}"])

    def forward(self, x: Tensor) -> Tensor:
        from .._gates import gate_of

        gate = gate_of(self)
        if isinstance(gate, str):
            raise NotImplementedError(f"{gate}; install SpikingJelly, which has it")
        surrogate, spiking = gate
        constants = {"v_threshold": 0.0, "strict": False, "spiking": spiking}
        return _engine.spikes(_engine.spec("heaviside", constants, surrogate), x)


class ATan(SurrogateFunctionBase):
    def __init__(self, alpha: float = 2.0, spiking: bool = True) -> None:
        super().__init__(spiking, alpha=alpha)


class Sigmoid(SurrogateFunctionBase):
    def __init__(self, alpha: float = 4.0, spiking: bool = True) -> None:
        super().__init__(spiking, alpha=alpha)


class PiecewiseQuadratic(SurrogateFunctionBase):
    def __init__(self, alpha: float = 1.0, spiking: bool = True) -> None:
        super().__init__(spiking, alpha=alpha)


class PiecewiseExp(SurrogateFunctionBase):
    def __init__(self, alpha: float = 1.0, spiking: bool = True) -> None:
        super().__init__(spiking, alpha=alpha)


class SoftSign(SurrogateFunctionBase):
    def __init__(self, alpha: float = 2.0, spiking: bool = True) -> None:
        super().__init__(spiking, alpha=alpha)


class SuperSpike(SurrogateFunctionBase):
    def __init__(self, alpha: float = 1.0, spiking: bool = True) -> None:
        super().__init__(spiking, alpha=alpha)


class NonzeroSignLogAbs(SurrogateFunctionBase):
    def __init__(self, alpha: float = 1.0, spiking: bool = True) -> None:
        super().__init__(spiking, alpha=alpha)


class Erf(SurrogateFunctionBase):
    def __init__(self, alpha: float = 2.0, spiking: bool = True) -> None:
        super().__init__(spiking, alpha=alpha)


class Rect(SurrogateFunctionBase):
    def __init__(self, alpha: float = 1.0, spiking: bool = True) -> None:
        super().__init__(spiking, alpha=alpha)


class QPseudoSpike(SurrogateFunctionBase):
    def __init__(self, alpha: float = 2.0, spiking: bool = True) -> None:
        super().__init__(spiking, alpha=alpha)


class LogTailedReLU(SurrogateFunctionBase):
    def __init__(self, alpha: float = 0.0, spiking: bool = True) -> None:
        super().__init__(spiking, alpha=alpha)


class FakeNumericalGradient(SurrogateFunctionBase):
    def __init__(self, alpha: float = 0.3) -> None:
        super().__init__(True, alpha=alpha)


class PiecewiseLeakyReLU(SurrogateFunctionBase):
    def __init__(self, w: float = 1.0, c: float = 0.01, spiking: bool = True) -> None:
        super().__init__(spiking, w=w, c=c)


class SquarewaveFourierSeries(SurrogateFunctionBase):
    def __init__(self, n: int = 2, T_period: float = 8, spiking: bool = True) -> None:
        super().__init__(spiking, n=n, T_period=T_period)


class S2NN(SurrogateFunctionBase):
    def __init__(self, alpha: float = 4.0, beta: float = 1.0, spiking: bool = True) -> None:
        super().__init__(spiking, alpha=alpha, beta=beta)


class LeakyKReLU(SurrogateFunctionBase):
    def __init__(self, leak: float = 0.0, k: float = 1.0, spiking: bool = True) -> None:
        super().__init__(spiking, leak=leak, k=k)


class DeterministicPass(SurrogateFunctionBase):
    def __init__(self, spiking: bool = True) -> None:
        super().__init__(spiking)


class MultiLevelSpikeCount(SurrogateFunctionBase):
    def __init__(
        self, max_spike_count: int, spiking: bool = True, grad_window: Optional[tuple[float, float]] = None
    ) -> None:
        low, high = (0.0, float(max_spike_count)) if grad_window is None else grad_window
        super().__init__(spiking, max_spike_count=int(max_spike_count), grad_min=low, grad_max=high)
