"""All neurons of the library as modules.

Written by python/generator from the parts of the engine; change that program instead of this file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from torch import Tensor

from ._layer import Learn, Neuron, ResetGrad
from .surrogate import Surrogate

__all__ = [
    "AdLifCell",
    "AdLifCellState",
    "Adex",
    "AdexState",
    "Alif",
    "AlifState",
    "Alpha",
    "AlphaState",
    "Brf",
    "BrfState",
    "CSiLifCell",
    "CSiLifCellState",
    "Clif",
    "ClifState",
    "CubaLif",
    "CubaLifState",
    "DecayLif",
    "DecayLifState",
    "EfAdLifCell",
    "EfAdLifCellState",
    "Eif",
    "EifState",
    "EpropAlif",
    "EpropAlifState",
    "GatedLif",
    "GatedLifState",
    "HalfThresholdIf",
    "HalfThresholdIfState",
    "Heaviside",
    "HeavisideState",
    "If",
    "IfState",
    "Ilif",
    "IlifState",
    "Izhikevich",
    "IzhikevichState",
    "Klif",
    "KlifState",
    "LeakyIntegrator",
    "LeakyIntegratorState",
    "Liaf",
    "LiafState",
    "Lif",
    "LifState",
    "MaskedPsn",
    "MaskedPsnState",
    "NirCubaLi",
    "NirCubaLiState",
    "NirCubaLif",
    "NirCubaLifState",
    "NirI",
    "NirIState",
    "NirIf",
    "NirIfState",
    "NirLi",
    "NirLiState",
    "NirLif",
    "NirLifState",
    "NonSpikingIf",
    "NonSpikingIfState",
    "NonSpikingLif",
    "NonSpikingLifState",
    "NorseLif",
    "NorseLifState",
    "OtttLif",
    "OtttLifState",
    "Plif",
    "PlifState",
    "Psn",
    "PsnState",
    "Qif",
    "QifState",
    "RLeakyCell",
    "RLeakyCellState",
    "RSynapticCell",
    "RSynapticCellState",
    "Raf",
    "RafState",
    "RefractoryLif",
    "RefractoryLifState",
    "SeAdLifCell",
    "SeAdLifCellState",
    "SiLifCell",
    "SiLifCellState",
    "SlidingPsn",
    "SlidingPsnState",
    "SlttLif",
    "SlttLifState",
    "SoftPulseIf",
    "SoftPulseIfState",
    "SoftPulseLif",
    "SoftPulseLifState",
    "SparchLif",
    "SparchLifState",
    "Synaptic",
    "SynapticState",
    "TernaryIf",
    "TernaryIfState",
    "TernaryLif",
    "TernaryLifState",
    "YinAlif",
    "YinAlifState",
]


class IfState(NamedTuple):
    """State of If."""

    v: Tensor | None = None


class If(Neuron):
    """Integrate-and-fire.

    H[t] = V[t−1] + X[t]

    Source: SpikingFlow's softbp tutorial.

    Parameters
    ----------
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "if"
    State = IfState

    def __init__(
        self,
        *,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"v_threshold": v_threshold, "v_reset": v_reset, "strict": strict, "fire_on": fire_on, "resets":
            resets},
            surrogate, reset_grad, learn, shape,
        )


class LifState(NamedTuple):
    """State of Lif."""

    v: Tensor | None = None


class Lif(Neuron):
    """Leaky integrate-and-fire.

    τ dV/dt = −(V − v_rest) + X. Discretized with a step of one:

    H[t] = V[t−1] + (X[t] − (V[t−1] − v_rest)) / τ, or, if the input does not decay,
    H[t] = V[t−1] − (V[t−1] − v_rest) / τ + X[t].

    Source: SpikingFlow's softbp tutorial; Gerstner & Kistler, Spiking Neuron Models, ch. 4.

    Parameters
    ----------
    tau : float
        Membrane time constant, > 1, in steps.
    decay_input : bool
        Whether X is divided by τ as well.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "lif"
    State = LifState

    def __init__(
        self,
        tau: float = 2.0,
        *,
        decay_input: bool = True,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"tau": tau, "decay_input": decay_input, "v_threshold": v_threshold, "v_reset": v_reset, "strict":
            strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class PlifState(NamedTuple):
    """State of Plif."""

    v: Tensor | None = None


class Plif(Neuron):
    """Leaky integrate-and-fire with a trainable time constant.

    1/τ = σ(w) in the two forms of the leaky integrate-and-fire neuron:

    H[t] = V[t−1] + (X[t] − (V[t−1] − v_rest))·σ(w), or, if the input does not decay,
    H[t] = V[t−1] − (V[t−1] − v_rest)·σ(w) + X[t].

    Source: Fang et al., Incorporating Learnable Membrane Time Constant to Enhance Learning of
    Spiking Neural Networks, ICCV 2021.

    Parameters
    ----------
    init_tau : float
        Time constant before training, > 1, in steps.
    decay_input : bool
        Whether X is scaled by σ(w) as well.
    granularity : str
        One w for the layer, each channel or each neuron.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "plif"
    State = PlifState

    def __init__(
        self,
        init_tau: float = 2.0,
        *,
        decay_input: bool = True,
        granularity: str = "layer",
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"init_tau": init_tau, "decay_input": decay_input, "granularity": granularity, "v_threshold":
            v_threshold, "v_reset": v_reset, "strict": strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class QifState(NamedTuple):
    """State of Qif."""

    v: Tensor | None = None


class Qif(Neuron):
    """Quadratic integrate-and-fire.

    τ dV/dt = a₀·(V − v_rest)·(V − v_c) + X. Discretized with a step of one:

    H[t] = V[t−1] + (X[t] + a₀·(V[t−1] − v_rest)·(V[t−1] − v_c)) / τ

    Above v_c the potential grows without input.

    Source: Gerstner et al., Neuronal Dynamics, ch. 5.3; the discretization is SpikingJelly's.

    Parameters
    ----------
    tau : float
        Membrane time constant, > 1, in steps.
    v_c : float
        Critical potential.
    a0 : float
        Strength of the quadratic term, > 0.
    v_rest : float
        Resting potential.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "qif"
    State = QifState

    def __init__(
        self,
        tau: float = 2.0,
        *,
        v_c: float = 0.8,
        a0: float = 1.0,
        v_rest: float = 0.0,
        v_threshold: float = 1.0,
        v_reset: float | None = -0.1,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"tau": tau, "v_c": v_c, "a0": a0, "v_rest": v_rest, "v_threshold": v_threshold, "v_reset": v_reset,
            "strict": strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class EifState(NamedTuple):
    """State of Eif."""

    v: Tensor | None = None


class Eif(Neuron):
    """Exponential integrate-and-fire.

    τ dV/dt = −(V − v_rest) + Δ_T·exp((V − θ_rh)/Δ_T) + X. Discretized with a step of one:

    H[t] = V[t−1] + (X[t] + v_rest − V[t−1] + Δ_T·exp((V[t−1] − θ_rh)/Δ_T)) / τ

    Source: Fourcaud-Trocmé et al., How spike generation mechanisms determine the neuronal response
    to fluctuating inputs, Journal of Neuroscience 23:11628, 2003; the discretization is
    SpikingJelly's.

    Parameters
    ----------
    tau : float
        Membrane time constant, > 1, in steps.
    delta_t : float
        Sharpness of the onset of a spike, > 0.
    theta_rh : float
        Rheobase threshold, where the onset begins.
    v_rest : float
        Resting potential.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "eif"
    State = EifState

    def __init__(
        self,
        tau: float = 2.0,
        *,
        delta_t: float = 1.0,
        theta_rh: float = 0.8,
        v_rest: float = 0.0,
        v_threshold: float = 1.0,
        v_reset: float | None = -0.1,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"tau": tau, "delta_t": delta_t, "theta_rh": theta_rh, "v_rest": v_rest, "v_threshold": v_threshold,
            "v_reset": v_reset, "strict": strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class IzhikevichState(NamedTuple):
    """State of Izhikevich."""

    v: Tensor | None = None
    w: Tensor | None = None


class Izhikevich(Neuron):
    """Quadratic integrate-and-fire with an adaptation current.

    H[t] = V[t−1] + (X[t] + a₀·(V[t−1] − v_rest)·(V[t−1] − v_c) − W[t−1]) / τ

    W[t] = W[t−1] + (a·(H[t] − v_rest) − W[t−1]) / τ_w + b·S[t]

    Source: Izhikevich, Simple model of spiking neurons, IEEE Transactions on Neural Networks
    14:1569, 2003; the form and the discretization are SpikingJelly's.

    Parameters
    ----------
    tau : float
        Membrane time constant, > 1, in steps.
    v_c : float
        Critical potential.
    a0 : float
        Strength of the quadratic term, > 0.
    v_rest : float
        Resting potential.
    w_rest : float
        The adaptation current before the first step.
    tau_w : float
        Time constant of the adaptation, > 1, in steps.
    a : float
        Coupling of the adaptation to the potential.
    b : float
        Increment of the adaptation at each spike, whatever `reset_grad` is.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "izhikevich"
    State = IzhikevichState

    def __init__(
        self,
        tau: float = 2.0,
        *,
        v_c: float = 0.8,
        a0: float = 1.0,
        v_rest: float = -0.1,
        w_rest: float = 0.0,
        tau_w: float = 2.0,
        a: float = 0.0,
        b: float = 0.0,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"tau": tau, "v_c": v_c, "a0": a0, "v_rest": v_rest, "w_rest": w_rest, "tau_w": tau_w, "a": a, "b": b,
            "v_threshold": v_threshold, "v_reset": v_reset, "strict": strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class KlifState(NamedTuple):
    """State of Klif."""

    v: Tensor | None = None


class Klif(Neuron):
    """Leaky integrate-and-fire with a trainable scale of the potential.

    H[t] = relu(k·F[t]), with F the charge of the leaky integrate-and-fire neuron and k trainable.
    If the reset is scaled, it acts on H/k with the threshold v_threshold/k.

    Source: Jiang & Zhang, KLIF: an optimized spiking neuron unit for tuning surrogate gradient
    slope and membrane potential, arXiv:2302.09238 (2023).

    Parameters
    ----------
    tau : float
        Membrane time constant, > 1, in steps.
    decay_input : bool
        Whether X is divided by τ as well.
    scale_reset : bool
        Whether the reset undoes the scale.
    granularity : str
        One k for the layer, each channel or each neuron.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "klif"
    State = KlifState

    def __init__(
        self,
        tau: float = 2.0,
        *,
        decay_input: bool = True,
        scale_reset: bool = False,
        granularity: str = "layer",
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"tau": tau, "decay_input": decay_input, "scale_reset": scale_reset, "granularity": granularity,
            "v_threshold": v_threshold, "v_reset": v_reset, "strict": strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class LiafState(NamedTuple):
    """State of Liaf."""

    v: Tensor | None = None


class Liaf(Neuron):
    """Leaky integrate-and-fire with real outputs.

    V and S are those of the leaky integrate-and-fire neuron; the output is
    Y[t] = act(H[t] − v_threshold), or act(H[t]) if it is not related to the threshold.

    Source: Wu et al., LIAF-Net: leaky integrate and analog fire network for lightweight and
    efficient spatiotemporal information processing, IEEE Transactions on Neural Networks and
    Learning Systems 33:6249, 2022.

    Parameters
    ----------
    tau : float
        Membrane time constant, > 1, in steps.
    decay_input : bool
        Whether X is divided by τ as well.
    act : str
        Relu, sigmoid or tanh.
    threshold_related : bool
        Whether it acts on H − v_threshold, or on H.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "liaf"
    State = LiafState

    def __init__(
        self,
        tau: float = 2.0,
        *,
        decay_input: bool = True,
        act: str = "relu",
        threshold_related: bool = True,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"tau": tau, "decay_input": decay_input, "act": act, "threshold_related": threshold_related,
            "v_threshold": v_threshold, "v_reset": v_reset, "strict": strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class CubaLifState(NamedTuple):
    """State of CubaLif."""

    v: Tensor | None = None
    i: Tensor | None = None


class CubaLif(Neuron):
    """Leaky integrate-and-fire with a current that decays too.

    I[t] = I[t−1]·c_decay + X[t], H[t] = V[t−1]·v_decay + I[t]

    Source: Davies et al., Loihi: a neuromorphic manycore processor with on-chip learning, IEEE
    Micro 38:82, 2018; the discretization and the defaults are SpikingJelly's.

    Parameters
    ----------
    c_decay : float
        Decay factor of the current.
    v_decay : float
        Decay factor of the potential.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Rect(alpha=1.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "cuba_lif"
    State = CubaLifState

    def __init__(
        self,
        c_decay: float = 0.5,
        *,
        v_decay: float = 0.75,
        v_threshold: float = 0.5,
        v_reset: float | None = 0.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"c_decay": c_decay, "v_decay": v_decay, "v_threshold": v_threshold, "v_reset": v_reset, "strict":
            strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class GatedLifState(NamedTuple):
    """State of GatedLif."""

    v: Tensor | None = None
    fired: Tensor | None = None


class GatedLif(Neuron):
    """Leaky integrate-and-fire with trainable gates between two ways of leaking, charging and resetting.

    Each of three gates interpolates between two variants: α between exponential and linear decay, β between an input
    that is weighted by the time step and one that is not, γ between a reset by a factor and one by a constant.

    K[t] = (1 − α·(1 − τ))·V[t−1], the potential after the exponential decay

    H[t] = K[t] − (1 − α)·linear_decay + X[t]·(1 − β·(1 − g[t]))
           − K[t]·γ·S[t−1] − (1 − γ)·v_subreset·S[t−1]

    S[t] = Θ(H[t] − v_threshold), V[t] = H[t]; all of α, β, γ, τ, linear_decay, v_subreset,
    v_threshold and the conductances g[t] are σ of learned parameters.

    Source: Yao et al., GLIF: a unified gated leaky integrate-and-fire neuron for spiking neural
    networks, NeurIPS 2022.

    Parameters
    ----------
    inplane : int | None
        Channels, each with values of its own; none: the layer shares them.
    tau : float
        Factor of the exponential decay of the potential, 0 to 1.
    linear_decay : float
        Amount of the linear decay of the potential, 0 to 1.
    v_subreset : float
        Amount of the constant reset, 0 to 1.
    conduct : float
        G, one for each time step, 0 to 1.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "gated_lif"
    State = GatedLifState

    def __init__(
        self,
        inplane: int | None = None,
        *,
        tau: float = 0.25,
        linear_decay: float = 0.03,
        v_subreset: float = 0.5,
        conduct: float = 0.5,
        v_threshold: float = 0.5,
        v_reset: float | None = 0.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"inplane": inplane, "tau": tau, "linear_decay": linear_decay, "v_subreset": v_subreset, "conduct":
            conduct, "v_threshold": v_threshold, "v_reset": v_reset, "strict": strict, "fire_on": fire_on, "resets":
            resets},
            surrogate, reset_grad, learn, shape,
        )


class IlifState(NamedTuple):
    """State of Ilif."""

    v: Tensor | None = None


class Ilif(Neuron):
    """Leaky integrate-and-fire with integer spike counts.

    H[t] = V[t−1] − V[t−1]/τ + X[t]

    S[t] = round(clamp(H[t]/v_threshold, 0, D)), ties to even; V[t] = H[t] − S[t]·v_threshold

    Source: Luo et al., Integer-valued training and spike-driven inference spiking neural network
    for high-performance and energy-efficient object detection, ECCV 2024.

    Parameters
    ----------
    tau : float
        Membrane time constant, > 1, in steps.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `MultiLevelSpikeCount(grad_max=None, grad_min=0.0, max_spike_count=4)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "ilif"
    State = IlifState

    def __init__(
        self,
        tau: float = 1.3333333333333333,
        *,
        v_threshold: float = 1.0,
        v_reset: float | None = None,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"tau": tau, "v_threshold": v_threshold, "v_reset": v_reset, "strict": strict, "fire_on": fire_on,
            "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class ClifState(NamedTuple):
    """State of Clif."""

    v: Tensor | None = None
    m: Tensor | None = None


class Clif(Neuron):
    """Leaky integrate-and-fire with a complementary potential for gradients.

    H[t] = V[t−1] − V[t−1]/τ + X[t]

    M[t] = M[t−1]·σ(H[t]/τ) + S[t], V[t] = H[t] − S[t]·(v_threshold + σ(M[t]))

    M accumulates the part of V that decays, so that gradients reach further back in time.

    Source: Huang et al., CLIF: complementary leaky integrate-and-fire neuron for spiking neural
    networks, ICML 2024.

    Parameters
    ----------
    tau : float
        Membrane time constant, > 1, in steps.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Rect(alpha=1.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "clif"
    State = ClifState

    def __init__(
        self,
        tau: float = 2.0,
        *,
        v_threshold: float = 1.0,
        v_reset: float | None = None,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"tau": tau, "v_threshold": v_threshold, "v_reset": v_reset, "strict": strict, "fire_on": fire_on,
            "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class RafState(NamedTuple):
    """State of Raf."""

    v: Tensor | None = None
    u: Tensor | None = None


class Raf(Neuron):
    """Resonate-and-fire.

    dz/dt = (b + iω)·z + X for a complex z = u + iv. Discretized with a step of dt:

    u[t] = e^(b·dt)·(u[t−1]·cos(ω·dt) − V[t−1]·sin(ω·dt)) + X[t]

    H[t] = e^(b·dt)·(u[t−1]·sin(ω·dt) + V[t−1]·cos(ω·dt))

    It responds to inputs with a frequency near ω. Only V is reset.

    Source: Izhikevich, Resonate-and-fire neurons, Neural Networks 14:883, 2001; the discretization
    is SpikingJelly's.

    Parameters
    ----------
    b : float
        Damping, < 0, in 1/time.
    omega : float
        Angular frequency, in 1/time.
    dt : float
        Length of a step, in time.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "raf"
    State = RafState

    def __init__(
        self,
        b: float = -0.2,
        *,
        omega: float = 1.0,
        dt: float = 1.0,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"b": b, "omega": omega, "dt": dt, "v_threshold": v_threshold, "v_reset": v_reset, "strict": strict,
            "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class HalfThresholdIfState(NamedTuple):
    """State of HalfThresholdIf."""

    v: Tensor | None = None


class HalfThresholdIf(Neuron):
    """Integrate-and-fire that starts at half its threshold, for converted networks.

    H[t] = V[t−1] + X[t], soft reset, V[0] = v_threshold/2

    The number of spikes over T steps is the sum of the inputs rounded to the nearest integer instead of rounded
    down. Used in the conversion of non-spiking networks.

    Source: Bu et al., Optimal ANN-SNN conversion for high-accuracy and ultra-low-latency spiking
    neural networks, ICLR 2022.

    Parameters
    ----------
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "half_threshold_if"
    State = HalfThresholdIfState

    def __init__(
        self,
        *,
        v_threshold: float = 1.0,
        v_reset: float | None = None,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"v_threshold": v_threshold, "v_reset": v_reset, "strict": strict, "fire_on": fire_on, "resets":
            resets},
            surrogate, reset_grad, learn, shape,
        )


class SlttLifState(NamedTuple):
    """State of SlttLif."""

    v: Tensor | None = None


class SlttLif(Neuron):
    """Leaky integrate-and-fire without gradients through time.

    Forward, the leaky integrate-and-fire neuron; backward, no gradient passes from a step to the
    one before it. Training does not store earlier steps.

    Source: Meng et al., Towards memory- and time-efficient backpropagation for training spiking
    neural networks, ICCV 2023.

    Parameters
    ----------
    tau : float
        Membrane time constant, > 1, in steps.
    decay_input : bool
        Whether X is divided by τ as well.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "sltt_lif"
    State = SlttLifState

    def __init__(
        self,
        tau: float = 2.0,
        *,
        decay_input: bool = True,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "detach",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"tau": tau, "decay_input": decay_input, "v_threshold": v_threshold, "v_reset": v_reset, "strict":
            strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class OtttLifState(NamedTuple):
    """State of OtttLif."""

    v: Tensor | None = None
    trace: Tensor | None = None


class OtttLif(Neuron):
    """Leaky integrate-and-fire without gradients through time, with a trace of its spikes.

    Forward, the leaky integrate-and-fire neuron, and the trace A[t] = A[t−1]·(1 − 1/τ) + S[t];
    backward, no gradient passes from a step to the one before it. The weights of the next
    layer are trained with the trace instead of the spikes: see `TraceLearning`.

    Source: Xiao et al., Online training through time for spiking neural networks, NeurIPS 2022.

    Parameters
    ----------
    tau : float
        Membrane time constant, > 1, in steps.
    decay_input : bool
        Whether X is divided by τ as well.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "ottt_lif"
    State = OtttLifState

    def __init__(
        self,
        tau: float = 2.0,
        *,
        decay_input: bool = False,
        v_threshold: float = 1.0,
        v_reset: float | None = None,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "detach",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"tau": tau, "decay_input": decay_input, "v_threshold": v_threshold, "v_reset": v_reset, "strict":
            strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class TernaryIfState(NamedTuple):
    """State of TernaryIf."""

    v: Tensor | None = None


class TernaryIf(Neuron):
    """Integrate-and-fire with positive and negative spikes.

    H[t] = V[t−1] + X[t], S[t] = Θ(H[t] − v_threshold) − Θ(−H[t] − v_threshold)

    V[t] = |S|·v_reset + (1 − |S|)·H (hard) or H − S·v_threshold (soft)

    Source: Guo et al., Ternary spike: learning ternary spikes for spiking neural networks,
    AAAI 2024.

    Parameters
    ----------
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "ternary_if"
    State = TernaryIfState

    def __init__(
        self,
        *,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"v_threshold": v_threshold, "v_reset": v_reset, "strict": strict, "fire_on": fire_on, "resets":
            resets},
            surrogate, reset_grad, learn, shape,
        )


class TernaryLifState(NamedTuple):
    """State of TernaryLif."""

    v: Tensor | None = None


class TernaryLif(Neuron):
    """Leaky integrate-and-fire with positive and negative spikes.

    H is that of the leaky integrate-and-fire neuron, S[t] = Θ(H[t] − v_threshold) −
    Θ(−H[t] − v_threshold); the hard reset is applied to spikes of both signs.

    Source: Guo et al., Ternary spike: learning ternary spikes for spiking neural networks,
    AAAI 2024.

    Parameters
    ----------
    tau : float
        Membrane time constant, > 1, in steps.
    decay_input : bool
        Whether X is divided by τ as well.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "ternary_lif"
    State = TernaryLifState

    def __init__(
        self,
        tau: float = 2.0,
        *,
        decay_input: bool = True,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"tau": tau, "decay_input": decay_input, "v_threshold": v_threshold, "v_reset": v_reset, "strict":
            strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class PsnState(NamedTuple):
    """State of Psn."""



class Psn(Neuron):
    """Parallel: a product over the time axis, no reset.

    H = W·X + b over the time axis, S = Θ(H): every step depends on all steps, and nothing is reset, so
    that all steps are computed at once. W `[T, T]` and b `[T]` are learned.

    Source: Fang et al., Parallel spiking neurons with high efficiency and ability to learn
    long-term dependencies, NeurIPS 2023.

    Parameters
    ----------
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Atan(alpha=2.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "psn"
    State = PsnState

    def __init__(
        self,
        *,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"v_threshold": v_threshold, "v_reset": v_reset, "strict": strict, "fire_on": fire_on, "resets":
            resets},
            surrogate, reset_grad, learn, shape,
        )


class MaskedPsnState(NamedTuple):
    """State of MaskedPsn."""



class MaskedPsn(Neuron):
    """Parallel, with a mask over the time axis.

    H = (W ∘ M(λ))·X + b over the time axis, S = Θ(H). The mask is M(λ) = λ·B + (1 − λ)·1, where the
    band B has the current step and the k − 1 before it. λ = 0 is the parallel spiking neuron, λ = 1 the band only;
    λ can be increased during training.

    Source: Fang et al., Parallel spiking neurons with high efficiency and ability to learn
    long-term dependencies, NeurIPS 2023.

    Parameters
    ----------
    k : int
        Steps in the window when the mask is on, the current one included.
    lambda_ : float
        Weight of the mask, 0 to 1.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Atan(alpha=2.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "masked_psn"
    State = MaskedPsnState

    def __init__(
        self,
        k: int = 4,
        *,
        lambda_: float = 1.0,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"k": k, "lambda": lambda_, "v_threshold": v_threshold, "v_reset": v_reset, "strict": strict, "fire_on":
            fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class SlidingPsnState(NamedTuple):
    """State of SlidingPsn."""



class SlidingPsn(Neuron):
    """Parallel, with the same few weights at every step.

    H[t] = Σ wᵢ·X[t − k + 1 + i] + b over i = 0 … k − 1, S = Θ(H): the same k weights at every step,
    for sequences of any length. w is initialized with 2^(i−k+1), or uniformly; w and b are trained.

    Source: Fang et al., Parallel spiking neurons with high efficiency and ability to learn
    long-term dependencies, NeurIPS 2023.

    Parameters
    ----------
    k : int
        Steps in the window, the current one included.
    exp_init : bool
        Whether the weights start at powers of 2; otherwise uniform, bound 1/√k.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Atan(alpha=2.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "sliding_psn"
    State = SlidingPsnState

    def __init__(
        self,
        k: int = 4,
        *,
        exp_init: bool = True,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"k": k, "exp_init": exp_init, "v_threshold": v_threshold, "v_reset": v_reset, "strict": strict,
            "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class NonSpikingIfState(NamedTuple):
    """State of NonSpikingIf."""

    v: Tensor | None = None


class NonSpikingIf(Neuron):
    """Integrator that never fires: for the readout of a membrane.

    V[t] = V[t−1] + X[t]; the output is V, or one value for all time steps.

    Source: SpikingJelly's `NonSpikingIFNode`; as an output layer, Lee et al., Enabling spike-based
    backpropagation for training deep neural network architectures, Frontiers in Neuroscience
    14:119, 2020.

    Parameters
    ----------
    readout : str | None
        Last, max, max_abs or mean over time; none: every step is returned.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "non_spiking_if"
    State = NonSpikingIfState

    def __init__(
        self,
        readout: str | None = None,
        *,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"readout": readout, "v_threshold": v_threshold, "v_reset": v_reset, "strict": strict, "fire_on":
            fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class NonSpikingLifState(NamedTuple):
    """State of NonSpikingLif."""

    v: Tensor | None = None


class NonSpikingLif(Neuron):
    """Leaky integrator that never fires: for the readout of a membrane.

    V is charged as in the leaky integrate-and-fire neuron; the output is V, or one value for all
    time steps.

    Source: SpikingJelly's `NonSpikingLIFNode`; as an output layer, Bellec et al., Long short-term
    memory and learning-to-learn in networks of spiking neurons, NeurIPS 2018.

    Parameters
    ----------
    tau : float
        Membrane time constant, > 1, in steps.
    decay_input : bool
        Whether X is divided by τ as well.
    readout : str | None
        Last, max, max_abs or mean over time; none: every step is returned.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "non_spiking_lif"
    State = NonSpikingLifState

    def __init__(
        self,
        tau: float = 2.0,
        *,
        decay_input: bool = True,
        readout: str | None = None,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"tau": tau, "decay_input": decay_input, "readout": readout, "v_threshold": v_threshold, "v_reset":
            v_reset, "strict": strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class AlifState(NamedTuple):
    """State of Alif."""

    v: Tensor | None = None
    a: Tensor | None = None


class Alif(Neuron):
    """Leaky integrate-and-fire whose threshold rises with each spike.

    H[t] = e^(−1/τ)·V[t−1] + (1 − e^(−1/τ))·X[t]

    S[t] = Θ(H[t] − B[t]) with B[t] = v_threshold + β·A[t−1]

    A[t] = e^(−1/τ_a)·A[t−1] + (1 − e^(−1/τ_a))·S[t]; the soft reset subtracts B[t].

    Source: Bellec et al., Long short-term memory and learning-to-learn in networks of spiking
    neurons, NeurIPS 2018.

    Parameters
    ----------
    tau : float
        Membrane time constant, in steps.
    tau_a : float
        Time constant of the adaptation, in steps.
    beta : float
        Increase of the threshold per unit of adaptation.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "alif"
    State = AlifState

    def __init__(
        self,
        tau: float = 20.0,
        *,
        tau_a: float = 200.0,
        beta: float = 1.8,
        v_threshold: float = 1.0,
        v_reset: float | None = None,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"tau": tau, "tau_a": tau_a, "beta": beta, "v_threshold": v_threshold, "v_reset": v_reset, "strict":
            strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class AdexState(NamedTuple):
    """State of Adex."""

    v: Tensor | None = None
    w: Tensor | None = None


class Adex(Neuron):
    """Exponential integrate-and-fire with an adaptation current.

    τ dV/dt = v_rest − V + Δ_T·exp((V − θ_rh)/Δ_T) − W + X, τ_w dW/dt = a·(V − v_rest) − W, and W
    grows by b with each spike. Discretized with a step of dt:

    H[t] = V[t−1] + dt/τ·(v_rest − V[t−1] + Δ_T·exp((V[t−1] − θ_rh)/Δ_T) − W[t−1] + X[t])

    W[t] = W[t−1] + dt/τ_w·(a·(V[t−1] − v_rest) − W[t−1]) + b·S[t]

    Source: Brette & Gerstner, Adaptive exponential integrate-and-fire model as an effective
    description of neuronal activity, Journal of Neurophysiology 94:3637, 2005.

    Parameters
    ----------
    tau : float
        Membrane time constant, in ms.
    delta_t : float
        Sharpness of the onset of a spike, > 0.
    theta_rh : float
        Rheobase threshold, where the onset begins.
    v_rest : float
        Resting potential.
    tau_w : float
        Time constant of the adaptation, in ms.
    a : float
        Coupling of the adaptation to the potential.
    b : float
        Increment of the adaptation at each spike.
    dt : float
        Length of a step, in ms.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "adex"
    State = AdexState

    def __init__(
        self,
        tau: float = 9.37,
        *,
        delta_t: float = 0.099,
        theta_rh: float = 1.0,
        v_rest: float = 0.0,
        tau_w: float = 144.0,
        a: float = 0.133,
        b: float = 0.133,
        dt: float = 1.0,
        v_threshold: float = 2.0,
        v_reset: float | None = 0.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"tau": tau, "delta_t": delta_t, "theta_rh": theta_rh, "v_rest": v_rest, "tau_w": tau_w, "a": a, "b": b,
            "dt": dt, "v_threshold": v_threshold, "v_reset": v_reset, "strict": strict, "fire_on": fire_on,
            "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class SynapticState(NamedTuple):
    """State of Synaptic."""

    v: Tensor | None = None
    syn: Tensor | None = None
    fired: Tensor | None = None


class Synaptic(Neuron):
    """Leaky integrate-and-fire with a synaptic current, as in snnTorch.

    I[t] = α·I[t−1] + X[t]

    H[t] = β·V[t−1] + I[t] − S[t−1]·v_threshold, or v_reset where S[t−1] is 1; V[t] = H[t]

    The reset comes one step after the spike, as in snnTorch.

    Source: Eshraghian et al., Training spiking neural networks using lessons from deep learning,
    Proceedings of the IEEE 111:1016, 2023 (snnTorch's `Synaptic`).

    Parameters
    ----------
    alpha : float
        Decay factor of the current, 0 to 1.
    beta : float
        Decay factor of the potential, 0 to 1.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Atan(alpha=2.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "synaptic"
    State = SynapticState

    def __init__(
        self,
        alpha: float = 0.9,
        *,
        beta: float = 0.8,
        v_threshold: float = 1.0,
        v_reset: float | None = None,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "detach",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"alpha": alpha, "beta": beta, "v_threshold": v_threshold, "v_reset": v_reset, "strict": strict,
            "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class AlphaState(NamedTuple):
    """State of Alpha."""

    v: Tensor | None = None
    exc: Tensor | None = None
    inh: Tensor | None = None
    fired: Tensor | None = None


class Alpha(Neuron):
    """Alpha-function neuron: inputs cause potentials that rise and fall.

    E[t] = α·E[t−1] + X[t], I[t] = β·I[t−1] − X[t]

    H[t] = τ_α·(E[t] + I[t]) − S[t−1]·v_threshold, with τ_α = ln α/(ln β − ln α) + 1; with a hard
    reset E, I and H are reset where S[t−1] is 1. V[t] = H[t].

    The reset comes one step after the spike, as in snnTorch; the soft one has no lasting effect,
    since H does not depend on the previous V. With `resets_currents` it is that of snnTorch 1.0, which acts on the
    currents: where S[t−1] is 1, v_threshold is subtracted from E[t], I[t] is 0, and H[t] = τ_α·(E[t] + I[t]) + I[t−1]
    with the currents before the reset.

    Source: Eshraghian et al., Training spiking neural networks using lessons from deep learning,
    Proceedings of the IEEE 111:1016, 2023 (snnTorch's `Alpha`); Rall, Distinguishing theoretical
    synaptic potentials computed for different soma-dendritic distributions of synaptic input,
    Journal of Neurophysiology 30:1138, 1967.

    Parameters
    ----------
    alpha : float
        Decay factor of the excitatory current, `beta` to 1.
    beta : float
        Decay factor of the inhibitory current, 0 to `alpha`.
    tau_alpha : float | None
        Τ_α; without one it follows from α and β.
    resets_currents : bool
        Whether the soft reset acts on the currents.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Atan(alpha=2.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "alpha"
    State = AlphaState

    def __init__(
        self,
        alpha: float = 0.9,
        *,
        beta: float = 0.8,
        tau_alpha: float | None = None,
        resets_currents: bool = False,
        v_threshold: float = 1.0,
        v_reset: float | None = None,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "detach",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"alpha": alpha, "beta": beta, "tau_alpha": tau_alpha, "resets_currents": resets_currents,
            "v_threshold": v_threshold, "v_reset": v_reset, "strict": strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class BrfState(NamedTuple):
    """State of Brf."""

    v: Tensor | None = None
    u: Tensor | None = None
    q: Tensor | None = None


class Brf(Neuron):
    """Balanced resonate-and-fire, with a refractory threshold in place of a reset.

    threshold in place of a reset.

    b[t] = p(ω) − b′ − q[t−1], where p(ω) = (√(1 − (ω·dt)²) − 1)/dt is the damping at which the
    discretization neither grows nor falls

    H[t] = V[t−1] + dt·(b[t]·V[t−1] − ω·u[t−1] + X[t]), u[t] = u[t−1] + dt·(ω·V[t−1] + b[t]·u[t−1])

    S[t] = Θ(H[t] − v_threshold − q[t−1]), q[t] = γ·q[t−1] + S[t], V[t] = H[t]

    Source: Higuchi et al., Balanced resonate-and-fire neurons, ICML 2024.

    Parameters
    ----------
    omega : float
        Angular frequency, below 1/dt, in 1/time.
    b_offset : float
        B′, damping beyond balance, > 0, in 1/time.
    gamma : float
        Decay factor of the refractoriness.
    dt : float
        Length of a step, in time.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "brf"
    State = BrfState

    def __init__(
        self,
        omega: float = 10.0,
        *,
        b_offset: float = 1.0,
        gamma: float = 0.9,
        dt: float = 0.01,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"omega": omega, "b_offset": b_offset, "gamma": gamma, "dt": dt, "v_threshold": v_threshold, "v_reset":
            v_reset, "strict": strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class RefractoryLifState(NamedTuple):
    """State of RefractoryLif."""

    v: Tensor | None = None
    silent: Tensor | None = None


class RefractoryLif(Neuron):
    """Leaky integrate-and-fire with an absolute refractory period.

    H is that of the leaky integrate-and-fire neuron; for R steps after a spike the potential is constant
    and the neuron does not fire: H[t] = V[t−1], S[t] = 0.

    Source: Gerstner & Kistler, Spiking Neuron Models, ch. 4.1.

    Parameters
    ----------
    decay_input : bool
        See the equations. Default True.
    refractory : int
        See the equations. Default 2.
    tau : float
        See the equations. Default 2.0.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "refractory_lif"
    State = RefractoryLifState

    def __init__(
        self,
        decay_input: bool = True,
        *,
        refractory: int = 2,
        tau: float = 2.0,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"decay_input": decay_input, "refractory": refractory, "tau": tau, "v_threshold": v_threshold,
            "v_reset": v_reset, "strict": strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class SoftPulseIfState(NamedTuple):
    """State of SoftPulseIf."""

    v: Tensor | None = None


class SoftPulseIf(Neuron):
    """Integrate-and-fire of SpikingFlow's softbp, with the soft reset gradient.

    H[t] = V[t−1] + X[t]; backward, the reset is the soft one:
    V_soft = v_reset·g(H − v_threshold) + H·(1 − g(H − v_threshold)).

    Source: SpikingFlow's softbp tutorial.

    Parameters
    ----------
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=1.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "soft_pulse_if"
    State = SoftPulseIfState

    def __init__(
        self,
        *,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "soft",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"v_threshold": v_threshold, "v_reset": v_reset, "strict": strict, "fire_on": fire_on, "resets":
            resets},
            surrogate, reset_grad, learn, shape,
        )


class SoftPulseLifState(NamedTuple):
    """State of SoftPulseLif."""

    v: Tensor | None = None


class SoftPulseLif(Neuron):
    """Leaky integrate-and-fire of SpikingFlow's softbp, with the soft reset gradient.

    H[t] = V[t−1] + (X[t] − (V[t−1] − v_rest)) / τ; backward, the reset is the soft one:
    V_soft = v_reset·g(H − v_threshold) + H·(1 − g(H − v_threshold)).

    Source: SpikingFlow's softbp tutorial.

    Parameters
    ----------
    decay_input : bool
        See the equations. Default True.
    tau : float
        See the equations. Default 100.0.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=1.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "soft_pulse_lif"
    State = SoftPulseLifState

    def __init__(
        self,
        decay_input: bool = True,
        *,
        tau: float = 100.0,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "soft",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"decay_input": decay_input, "tau": tau, "v_threshold": v_threshold, "v_reset": v_reset, "strict":
            strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class SparchLifState(NamedTuple):
    """State of SparchLif."""

    v: Tensor | None = None
    fired: Tensor | None = None


class SparchLif(Neuron):
    """Leaky integrate-and-fire of sparch, with a late reset and a trained decay for each neuron.

    H[t] = α·(V[t−1] − S[t−1]) + (1 − α)·X[t], V[t] = H[t]

    S[t] = Θ(H[t] − v_threshold), which is 0 at the threshold

    α is trained for each neuron and clamped to its limits in the forward pass. V and S start from random values,
    uniform on [0, 1), also in evaluation.

    Source: Bittar & Garner, A surrogate gradient spiking baseline for speech command recognition, Frontiers in
    Neuroscience 16:865897, 2022.

    Parameters
    ----------
    alpha : float
        Decay factor of the potential, 0 to 1; trained: uniform on e^(−1/5) … e^(−1/25) before training, clamped to
        these.
    random_start : bool
        Whether states start from random values on [0, 1).
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Boxcar(alpha=1.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "sparch_lif"
    State = SparchLifState

    def __init__(
        self,
        alpha: float = 0.9,
        *,
        random_start: bool = True,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"alpha": alpha, "random_start": random_start, "v_threshold": v_threshold, "v_reset": v_reset, "strict":
            strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class AdLifCellState(NamedTuple):
    """State of AdLifCell."""

    v: Tensor | None = None
    w: Tensor | None = None
    fired: Tensor | None = None


class AdLifCell(Neuron):
    """Adaptive leaky integrate-and-fire of sparch, with trained constants for each neuron.

    W[t] = β·W[t−1] + a·V[t−1] + b·S[t−1]

    H[t] = α·(V[t−1] − S[t−1]) + (1 − α)·(X[t] − W[t]), V[t] = H[t]

    S[t] = Θ(H[t] − v_threshold), which is 0 at the threshold

    α, β, a and b are trained for each neuron and clamped to their limits in the forward pass. V, W and S start from
    random values, uniform on [0, 1), also in evaluation.

    Source: Bittar & Garner, A surrogate gradient spiking baseline for speech command recognition, Frontiers in
    Neuroscience 16:865897, 2022 (sparch); the limits of CadLIF: Fabre et al., Structured state space model dynamics
    and parametrization for spiking neural networks, arXiv:2506.06374, 2025.

    Parameters
    ----------
    alpha : float
        Decay factor of the potential, 0 to 1; trained: e^(−1/5) … e^(−1/25).
    beta : float
        Decay factor of the adaptation, 0 to 1; trained: e^(−1/30) … e^(−1/120).
    a : float
        Coupling of the adaptation to the potential; trained: −1 … 1.
    b : float
        Coupling of the adaptation to the spikes; trained: 0 … 2.
    random_start : bool
        Whether states start from random values on [0, 1).
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Boxcar(alpha=1.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "adlif"
    State = AdLifCellState

    def __init__(
        self,
        alpha: float = 0.9,
        *,
        beta: float = 0.98,
        a: float = 0.0,
        b: float = 1.0,
        random_start: bool = True,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"alpha": alpha, "beta": beta, "a": a, "b": b, "random_start": random_start, "v_threshold": v_threshold,
            "v_reset": v_reset, "strict": strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class SiLifCellState(NamedTuple):
    """State of SiLifCell."""

    v: Tensor | None = None
    w: Tensor | None = None
    fired: Tensor | None = None


class SiLifCell(Neuron):
    """Adaptive leaky integrate-and-fire in the parametrization of state space models.

    α = exp(−e^(alpha)·e^(dt)), β = exp(−e^(beta)·e^(dt)): logarithms of decay rates, and of a time step

    W[t] = β·W[t−1] + a·V[t−1] + b·S[t−1]

    H[t] = α·(V[t−1] − S[t−1]) + (1 − α)·(X[t] − W[t]), V[t] = H[t]

    S[t] = Θ(H[t] − v_threshold), which is 0 at the threshold

    All five constants are trained for each neuron; a and b are clamped in the forward pass. V, W and S start from
    random values, uniform on [0, 1), also in evaluation.

    Source: Fabre et al., Structured state space model dynamics and parametrization for spiking neural networks,
    arXiv:2506.06374, 2025.

    Parameters
    ----------
    alpha : float
        Logarithm of the decay rate of the potential; trained: uniform on ln 10 … ln 250 before training.
    beta : float
        Logarithm of the decay rate of the adaptation; trained: uniform on ln 2.5 … ln 10 before training.
    dt : float
        Logarithm of the time step; trained.
    a : float
        Coupling of the adaptation to the potential; trained: 0 … 1.
    b : float
        Coupling of the adaptation to the spikes; trained: 0 … 2.
    random_start : bool
        Whether states start from random values on [0, 1).
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Boxcar(alpha=1.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "silif"
    State = SiLifCellState

    def __init__(
        self,
        alpha: float = 3.912023005428146,
        *,
        beta: float = 1.6094379124341003,
        dt: float = -5.521460917862246,
        a: float = 0.5,
        b: float = 1.0,
        random_start: bool = True,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"alpha": alpha, "beta": beta, "dt": dt, "a": a, "b": b, "random_start": random_start, "v_threshold":
            v_threshold, "v_reset": v_reset, "strict": strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class CSiLifCellState(NamedTuple):
    """State of CSiLifCell."""

    v: Tensor | None = None
    i: Tensor | None = None
    fired: Tensor | None = None


class CSiLifCell(Neuron):
    """Complex potential that turns and decays, as in diagonal state space models.

    r = exp(−e^(log_log_alpha)·e^(log_dt)), φ = alpha_img·e^(log_dt)

    P = V[t−1] − ½·S[t−1]

    H[t] = r·cos φ·P − r·sin φ·I[t−1] + b·X[t], I[t] = r·cos φ·I[t−1] + r·sin φ·P, V[t] = H[t]

    S[t] = Θ(2·H[t] − v_threshold), which is 0 at the threshold: V and I are real and imaginary part of one of two
    conjugate states

    The four constants are trained for each neuron. V, I and S start from random values, uniform on [0, 1), also in
    evaluation.

    Source: Fabre et al., Structured state space model dynamics and parametrization for spiking neural networks,
    arXiv:2506.06374, 2025.

    Parameters
    ----------
    log_log_alpha : float
        Logarithm of the decay rate; trained.
    alpha_img : float
        Angular frequency; trained.
    log_dt : float
        Logarithm of the time step; trained: uniform on ln 0.01 … ln 0.5 before training.
    b : float
        Scale of the input; trained: uniform on 0 … 1 before training.
    random_start : bool
        Whether states start from random values on [0, 1).
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Boxcar(alpha=1.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "csilif"
    State = CSiLifCellState

    def __init__(
        self,
        log_log_alpha: float = -0.6931471805599453,
        *,
        alpha_img: float = 3.141592653589793,
        log_dt: float = -2.659260036932778,
        b: float = 0.5,
        random_start: bool = True,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"log_log_alpha": log_log_alpha, "alpha_img": alpha_img, "log_dt": log_dt, "b": b, "random_start":
            random_start, "v_threshold": v_threshold, "v_reset": v_reset, "strict": strict, "fire_on": fire_on,
            "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class DecayLifState(NamedTuple):
    """State of DecayLif."""

    v: Tensor | None = None


class DecayLif(Neuron):
    """Leaky integrate-and-fire with an exact decay and trained time constants between limits.

    H[t] = d·V[t−1] + (1 − d)·X[t] with d = e^(−1/τ)

    S[t] = Θ(H[t] − v_threshold), which is 0 at the threshold; hard reset

    τ is trained for each neuron: τ = p·τ_max + (1 − p)·τ_min, with p clamped to 0 and 1 after each update.

    Source: Baronig et al., Advancing spatio-temporal processing through adaptation in spiking neural networks, Nature
    Communications 16:5776, 2025.

    Parameters
    ----------
    tau_u : float
        Membrane time constant (trained: 5 … 25), > 0, in steps.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Slayer(alpha=5.0, c=0.4)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "decay_lif"
    State = DecayLifState

    def __init__(
        self,
        tau_u: float = 15.0,
        *,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "detach",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"tau_u": tau_u, "v_threshold": v_threshold, "v_reset": v_reset, "strict": strict, "fire_on": fire_on,
            "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class SeAdLifCellState(NamedTuple):
    """State of SeAdLifCell."""

    v: Tensor | None = None
    w: Tensor | None = None


class SeAdLifCell(Neuron):
    """Adaptive leaky integrate-and-fire in the symplectic Euler discretization.

    H[t] = d_u·V[t−1] + (1 − d_u)·(X[t] − W[t−1]) with d_u = e^(−1/τ_u)

    S[t] = Θ(H[t] − v_threshold), which is 0 at the threshold; hard reset

    W[t] = d_w·W[t−1] + (1 − d_w)·(a·V[t] + b·S[t])·q with d_w = e^(−1/τ_w): the new potential and the new spike

    τ_u, τ_w, a and b are trained for each neuron: τ = p·τ_max + (1 − p)·τ_min, with p clamped to 0 and 1, and a and b
    to their limits, after each update.

    Source: Baronig et al., Advancing spatio-temporal processing through adaptation in spiking neural networks, Nature
    Communications 16:5776, 2025.

    Parameters
    ----------
    tau_u : float
        Membrane time constant (trained: 5 … 25), > 0, in steps.
    tau_w : float
        Time constant of the adaptation (trained: 60 … 300), > 0, in steps.
    a : float
        Coupling of the adaptation to the potential; trained: 0 … 1.
    b : float
        Coupling of the adaptation to the spikes; trained: 0 … 2.
    q : float
        Scale of both couplings.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Slayer(alpha=5.0, c=0.4)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "se_adlif"
    State = SeAdLifCellState

    def __init__(
        self,
        tau_u: float = 15.0,
        *,
        tau_w: float = 180.0,
        a: float = 0.5,
        b: float = 1.0,
        q: float = 120.0,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "detach",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"tau_u": tau_u, "tau_w": tau_w, "a": a, "b": b, "q": q, "v_threshold": v_threshold, "v_reset": v_reset,
            "strict": strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class EfAdLifCellState(NamedTuple):
    """State of EfAdLifCell."""

    v: Tensor | None = None
    w: Tensor | None = None
    fired: Tensor | None = None


class EfAdLifCell(Neuron):
    """Adaptive leaky integrate-and-fire in the Euler forward discretization.

    As SE-adLIF, but the adaptation follows the potential and the spike of the step before:

    W[t] = d_w·W[t−1] + (1 − d_w)·(a·V[t−1] + b·S[t−1])·q

    Source: Baronig et al., Advancing spatio-temporal processing through adaptation in spiking neural networks, Nature
    Communications 16:5776, 2025.

    Parameters
    ----------
    tau_u : float
        Membrane time constant (trained: 5 … 25), > 0, in steps.
    tau_w : float
        Time constant of the adaptation (trained: 60 … 300), > 0, in steps.
    a : float
        Coupling of the adaptation to the potential; trained: 0 … 1.
    b : float
        Coupling of the adaptation to the spikes; trained: 0 … 2.
    q : float
        Scale of both couplings.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Slayer(alpha=5.0, c=0.4)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "ef_adlif"
    State = EfAdLifCellState

    def __init__(
        self,
        tau_u: float = 15.0,
        *,
        tau_w: float = 180.0,
        a: float = 0.5,
        b: float = 1.0,
        q: float = 60.0,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "detach",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"tau_u": tau_u, "tau_w": tau_w, "a": a, "b": b, "q": q, "v_threshold": v_threshold, "v_reset": v_reset,
            "strict": strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class EpropAlifState(NamedTuple):
    """State of EpropAlif."""

    v: Tensor | None = None
    b: Tensor | None = None
    fired: Tensor | None = None
    silent: Tensor | None = None


class EpropAlif(Neuron):
    """Adaptive leaky integrate-and-fire of e-prop, with a late reset and a refractory period.

    threshold, and a refractory period in which the neuron integrates.

    B[t] = ρ·B[t−1] + S[t−1] with ρ = e^(−dt/τ_a)

    H[t] = α·V[t−1] + X[t] − v_threshold·S[t−1] with α = e^(−dt/τ_m), V[t] = H[t]

    S[t] = Θ((H[t] − v_threshold − β·B[t]) / v_threshold), which is 0 at the threshold and for the steps after a spike
    until `refractory` steps, with that of the spike, have passed

    The surrogate's argument is divided by v_threshold, not by the raised threshold; the reset passes no gradient by default.

    Source: Bellec et al., A solution to the learning dilemma for recurrent networks of spiking neurons, Nature
    Communications 2020; the authors' program, `EligALIF`.

    Parameters
    ----------
    beta : float
        See the equations. Default 1.8.
    dt : float
        See the equations. Default 1.0.
    refractory : int
        See the equations. Default 5.
    tau_a : float
        See the equations. Default 200.0.
    tau_m : float
        See the equations. Default 20.0.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `PiecewiseQuadratic(alpha=1.0, factor=0.3)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "eprop_alif"
    State = EpropAlifState

    def __init__(
        self,
        beta: float = 1.8,
        *,
        dt: float = 1.0,
        refractory: int = 5,
        tau_a: float = 200.0,
        tau_m: float = 20.0,
        v_threshold: float = 0.6,
        v_reset: float | None = None,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "detach",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"beta": beta, "dt": dt, "refractory": refractory, "tau_a": tau_a, "tau_m": tau_m, "v_threshold":
            v_threshold, "v_reset": v_reset, "strict": strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class YinAlifState(NamedTuple):
    """State of YinAlif."""

    v: Tensor | None = None
    a: Tensor | None = None
    fired: Tensor | None = None


class YinAlif(Neuron):
    """Adaptive leaky integrate-and-fire whose raised threshold is subtracted one step late.

    A[t] = ρ·A[t−1] + (1 − ρ)·S[t−1] with ρ = e^(−dt/τ_adp), B[t] = v_threshold + β·A[t]

    H[t] = α·V[t−1] + (1 − α)·r_m·X[t] − B[t]·S[t−1]·dt with α = e^(−dt/τ_m), V[t] = H[t]

    S[t] = Θ(H[t] − B[t]), which is 0 at the threshold

    Both time constants are trained for each neuron, without bounds. V starts from random values, uniform on [0, 1),
    also in evaluation; A starts at v_threshold.

    Source: Yin, Corradi & Bohté, Accurate and efficient time-domain classification with adaptive spiking recurrent
    neural networks, Nature Machine Intelligence 3:905, 2021.

    Parameters
    ----------
    tau_m : float
        Membrane time constant (trained: normal with standard deviation 5 before training), > 0, in steps.
    tau_adp : float
        Time constant of the adaptation (trained: normal with standard deviation 10 before training), > 0, in steps.
    beta : float
        Increase of the threshold per unit of adaptation.
    r_m : float
        Membrane resistance.
    dt : float
        Length of a step, > 0, in steps.
    random_start : bool
        Whether V starts from random values on [0, 1).
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `MultiGaussian(gamma=0.5, height=0.15, scale=6.0, sigma=0.5)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "yin_alif"
    State = YinAlifState

    def __init__(
        self,
        tau_m: float = 20.0,
        *,
        tau_adp: float = 150.0,
        beta: float = 1.8,
        r_m: float = 1.0,
        dt: float = 1.0,
        random_start: bool = True,
        v_threshold: float = 0.01,
        v_reset: float | None = 0.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"tau_m": tau_m, "tau_adp": tau_adp, "beta": beta, "r_m": r_m, "dt": dt, "random_start": random_start,
            "v_threshold": v_threshold, "v_reset": v_reset, "strict": strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class RLeakyCellState(NamedTuple):
    """State of RLeakyCell."""

    v: Tensor | None = None


class RLeakyCell(Neuron):
    """Leaky integrate-and-fire of snnTorch, with a late reset and feedback.

    R[t] = Θ(V[t−1] − v_threshold): the potential after the last step was above the threshold

    G[t] = β·V[t−1] + X[t] + feedback·S[t−1] (the last term with `one_to_one`)

    H[t] = G[t] − R[t]·v_threshold for the soft reset, v_reset where R[t] = 1 for the hard reset

    S[t] = Θ(H[t] − v_threshold), which is 0 at the threshold; V[t] = H[t]: the reset comes one step after the spike

    With `keeps_input`, the hard reset comes before the charge: V[t−1] is v_reset where R[t] = 1, and H[t] = G[t]

    Without `reset_delay`, D = S[t] − R[t] and V[t] = H[t] − D·v_threshold for the soft reset, H[t] − D·(H[t] −
    v_reset) for the hard reset: the reset comes in the step of the spike.

    Source: Eshraghian et al., Training spiking neural networks using lessons from deep learning, Proceedings of the
    IEEE 111:1016, 2023 (snnTorch's `Leaky` and `RLeaky`).

    Parameters
    ----------
    beta : float
        Decay factor of the potential, 0 to 1.
    one_to_one : bool
        Whether each neuron's last spike is added to its input.
    feedback : float
        Weight of the own spike (snnTorch's `V`).
    reset_delay : bool
        Whether the reset comes one step after the spike.
    keeps_input : bool
        Whether a hard reset keeps the input of its step, as that of snnTorch's `Leaky`.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Atan(alpha=2.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "rleaky"
    State = RLeakyCellState

    def __init__(
        self,
        beta: float = 0.9,
        *,
        one_to_one: bool = False,
        feedback: float = 1.0,
        reset_delay: bool = True,
        keeps_input: bool = False,
        v_threshold: float = 1.0,
        v_reset: float | None = None,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"beta": beta, "one_to_one": one_to_one, "feedback": feedback, "reset_delay": reset_delay,
            "keeps_input": keeps_input, "v_threshold": v_threshold, "v_reset": v_reset, "strict": strict, "fire_on":
            fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class RSynapticCellState(NamedTuple):
    """State of RSynapticCell."""

    v: Tensor | None = None
    syn: Tensor | None = None


class RSynapticCell(Neuron):
    """Leaky integrate-and-fire with a synaptic current of snnTorch, with a late reset and feedback.

    I[t] = α·I[t−1] + X[t] + feedback·S[t−1] (the last term with `one_to_one`)

    G[t] = β·V[t−1] + I[t]; H[t], S[t] and V[t] follow from G[t] as in `rleaky`. The current is not reset.

    Source: Eshraghian et al., Training spiking neural networks using lessons from deep learning, Proceedings of the
    IEEE 111:1016, 2023 (snnTorch's `Synaptic` and `RSynaptic`).

    Parameters
    ----------
    alpha : float
        Decay factor of the current, 0 to 1.
    beta : float
        Decay factor of the potential, 0 to 1.
    one_to_one : bool
        Whether each neuron's last spike is added to its input.
    feedback : float
        Weight of the own spike (snnTorch's `V`).
    reset_delay : bool
        Whether the reset comes one step after the spike.
    keeps_input : bool
        See the equations. Default False.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Atan(alpha=2.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "rsynaptic"
    State = RSynapticCellState

    def __init__(
        self,
        alpha: float = 0.9,
        *,
        beta: float = 0.9,
        one_to_one: bool = False,
        feedback: float = 1.0,
        reset_delay: bool = True,
        keeps_input: bool = False,
        v_threshold: float = 1.0,
        v_reset: float | None = None,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"alpha": alpha, "beta": beta, "one_to_one": one_to_one, "feedback": feedback, "reset_delay":
            reset_delay, "keeps_input": keeps_input, "v_threshold": v_threshold, "v_reset": v_reset, "strict":
            strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class NorseLifState(NamedTuple):
    """State of NorseLif."""

    v: Tensor | None = None
    i: Tensor | None = None


class NorseLif(Neuron):
    """Leaky integrate-and-fire with a current, as in Norse.

    J = I[t−1] + X[t], I[t] = J − dt·tau_syn_inv·J: the membrane is charged by the current before it decays

    H[t] = V[t−1] + dt·tau_mem_inv·((v_leak − V[t−1]) + J)

    S[t] = Θ(H[t] − v_threshold), which is 0 at the threshold; hard reset

    Source: Pehle & Pedersen, Norse: a deep learning library for spiking neural networks, 2021 (`lif_step`).

    Parameters
    ----------
    dt : float
        Length of a step, > 0, in s.
    tau_mem_inv : float
        Inverse membrane time constant, > 0, in 1/s.
    tau_syn_inv : float
        Inverse time constant of the current, > 0, in 1/s.
    v_leak : float
        Resting potential.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `FastSigmoid(slope=100.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "norse_lif"
    State = NorseLifState

    def __init__(
        self,
        dt: float = 0.001,
        *,
        tau_mem_inv: float = 100.0,
        tau_syn_inv: float = 200.0,
        v_leak: float = 0.0,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "detach",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"dt": dt, "tau_mem_inv": tau_mem_inv, "tau_syn_inv": tau_syn_inv, "v_leak": v_leak, "v_threshold":
            v_threshold, "v_reset": v_reset, "strict": strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class LeakyIntegratorState(NamedTuple):
    """State of LeakyIntegrator."""

    v: Tensor | None = None


class LeakyIntegrator(Neuron):
    """Leaky integrator with an exact decay that never fires: for readouts.

    V[t] = α·V[t−1] + (1 − α)·X[t]; the output is V, or one value for all time steps.

    Source: the output layers of Bittar & Garner, Frontiers in Neuroscience 16:865897, 2022 (sparch), of Baronig et
    al., Nature Communications 16:5776, 2025, and of Yin, Corradi & Bohté, Nature Machine Intelligence 3:905, 2021.

    Parameters
    ----------
    alpha : float
        Decay factor, 0 to 1; e^(−1/τ) of a time constant τ in steps.
    readout : str | None
        Last, max, max_abs, mean, sum or softmax_sum over time; none: every step is returned.
    random_start : bool
        Whether V starts from random values on [0, 1).
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "leaky_integrator"
    State = LeakyIntegratorState

    def __init__(
        self,
        alpha: float = 0.9355069850316178,
        *,
        readout: str | None = None,
        random_start: bool = False,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"alpha": alpha, "readout": readout, "random_start": random_start, "v_threshold": v_threshold,
            "v_reset": v_reset, "strict": strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class NirIState(NamedTuple):
    """State of NirI."""

    v: Tensor | None = None


class NirI(Neuron):
    """Integrator of NIR, which never fires.

    dV/dt = r·X, with a step of one: V[t] = V[t−1] + r·X[t]; the output is V.

    Source: Pedersen et al., Neuromorphic intermediate representation: a unified instruction set for interoperable
    brain-inspired computing, Nature Communications 15:8122, 2024.

    Parameters
    ----------
    r : float
        Resistance: the factor of X; that of NIR, times the length of a step, in 1/steps.
    readout : str | None
        Last, max, max_abs or mean over time; none: every step is returned.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "nir_i"
    State = NirIState

    def __init__(
        self,
        r: float = 1.0,
        *,
        readout: str | None = None,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"r": r, "readout": readout, "v_threshold": v_threshold, "v_reset": v_reset, "strict": strict,
            "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class NirIfState(NamedTuple):
    """State of NirIf."""

    v: Tensor | None = None


class NirIf(Neuron):
    """Integrate-and-fire of NIR, with a strict threshold.

    dV/dt = r·X, with a step of one: H[t] = V[t−1] + r·X[t]

    S[t] = 1 where H[t] > v_threshold; V[t] = v_reset there

    Source: Pedersen et al., Neuromorphic intermediate representation: a unified instruction set for interoperable
    brain-inspired computing, Nature Communications 15:8122, 2024.

    Parameters
    ----------
    r : float
        Resistance: the factor of X; that of NIR, times the length of a step, in 1/steps.
    reset_delay : bool
        Whether the reset comes one step after the spike: `H[t]` is reset where `S[t−1]` = 1, and `V[t]` = `H[t]`.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "nir_if"
    State = NirIfState

    def __init__(
        self,
        r: float = 1.0,
        *,
        reset_delay: bool = False,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"r": r, "reset_delay": reset_delay, "v_threshold": v_threshold, "v_reset": v_reset, "strict": strict,
            "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class NirLiState(NamedTuple):
    """State of NirLi."""

    v: Tensor | None = None


class NirLi(Neuron):
    """Leaky integrator of NIR, which never fires.

    τ dV/dt = (v_leak − V) + r·X, discretized: V[t] = V[t−1] + a·((v_leak − V[t−1]) + r·X[t]), a = 1/τ or 1 − e^(−1/τ);
    the output is V.

    Source: Pedersen et al., Neuromorphic intermediate representation: a unified instruction set for interoperable
    brain-inspired computing, Nature Communications 15:8122, 2024.

    Parameters
    ----------
    tau : float
        Membrane time constant, > 0, in steps.
    r : float
        Resistance: the factor of X.
    v_leak : float
        Potential without input.
    discretization : str
        Euler, euler_seq, exact or exact_seq.
    readout : str | None
        Last, max, max_abs or mean over time; none: every step is returned.
    reset_delay : bool
        See the equations. Default False.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "nir_li"
    State = NirLiState

    def __init__(
        self,
        tau: float = 2.0,
        *,
        r: float = 1.0,
        v_leak: float = 0.0,
        discretization: str = "euler_seq",
        readout: str | None = None,
        reset_delay: bool = False,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"tau": tau, "r": r, "v_leak": v_leak, "discretization": discretization, "readout": readout,
            "reset_delay": reset_delay, "v_threshold": v_threshold, "v_reset": v_reset, "strict": strict, "fire_on":
            fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class NirLifState(NamedTuple):
    """State of NirLif."""

    v: Tensor | None = None


class NirLif(Neuron):
    """Leaky integrate-and-fire of NIR, with a strict threshold and a choice of discretizations.

    τ dV/dt = (v_leak − V) + r·X, discretized: H[t] = V[t−1] + a·((v_leak − V[t−1]) + r·X[t]), a = 1/τ or 1 − e^(−1/τ)

    S[t] = 1 where H[t] > v_threshold; V[t] = v_reset there

    Source: Pedersen et al., Neuromorphic intermediate representation: a unified instruction set for interoperable
    brain-inspired computing, Nature Communications 15:8122, 2024.

    Parameters
    ----------
    tau : float
        Membrane time constant, > 0, in steps.
    r : float
        Resistance: the factor of X.
    v_leak : float
        Potential without input.
    discretization : str
        Euler, euler_seq, exact or exact_seq.
    reset_delay : bool
        Whether the reset comes one step after the spike: `H[t]` is reset where `S[t−1]` = 1, and `V[t]` = `H[t]`.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "nir_lif"
    State = NirLifState

    def __init__(
        self,
        tau: float = 2.0,
        *,
        r: float = 1.0,
        v_leak: float = 0.0,
        discretization: str = "euler_seq",
        reset_delay: bool = False,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"tau": tau, "r": r, "v_leak": v_leak, "discretization": discretization, "reset_delay": reset_delay,
            "v_threshold": v_threshold, "v_reset": v_reset, "strict": strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class NirCubaLiState(NamedTuple):
    """State of NirCubaLi."""

    v: Tensor | None = None
    i: Tensor | None = None


class NirCubaLi(Neuron):
    """Leaky integrator of NIR with a current, which never fires.

    τ_syn dI/dt = −I + w_in·X, τ_mem dV/dt = (v_leak − V) + r·I, discretized as those of `nir_cuba_lif`; the output is V.

    Source: Pedersen et al., Neuromorphic intermediate representation: a unified instruction set for interoperable
    brain-inspired computing, Nature Communications 15:8122, 2024.

    Parameters
    ----------
    tau_syn : float
        Time constant of the current, > 0, in steps.
    tau_mem : float
        Membrane time constant, > 0, in steps.
    r : float
        Resistance: the factor of the current.
    v_leak : float
        Potential without current.
    w_in : float
        The factor of X.
    discretization : str
        Euler, euler_seq, exact or exact_seq.
    readout : str | None
        Last, max, max_abs or mean over time; none: every step is returned.
    reset_delay : bool
        See the equations. Default False.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "nir_cuba_li"
    State = NirCubaLiState

    def __init__(
        self,
        tau_syn: float = 2.0,
        *,
        tau_mem: float = 4.0,
        r: float = 1.0,
        v_leak: float = 0.0,
        w_in: float = 1.0,
        discretization: str = "euler_seq",
        readout: str | None = None,
        reset_delay: bool = False,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"tau_syn": tau_syn, "tau_mem": tau_mem, "r": r, "v_leak": v_leak, "w_in": w_in, "discretization":
            discretization, "readout": readout, "reset_delay": reset_delay, "v_threshold": v_threshold, "v_reset":
            v_reset, "strict": strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class NirCubaLifState(NamedTuple):
    """State of NirCubaLif."""

    v: Tensor | None = None
    i: Tensor | None = None


class NirCubaLif(Neuron):
    """Leaky integrate-and-fire of NIR with a current, with a strict threshold and a choice of discretizations.

    τ_syn dI/dt = −I + w_in·X, τ_mem dV/dt = (v_leak − V) + r·I, discretized:

    I[t] = I[t−1] + a_syn·(w_in·X[t] − I[t−1]), H[t] = V[t−1] + a_mem·((v_leak − V[t−1]) + r·I), a = 1/τ or 1 − e^(−1/τ),
    with I = I[t−1] (euler) or I[t] (euler_seq, exact_seq); exact solves both equations jointly.

    S[t] = 1 where H[t] > v_threshold; V[t] = v_reset there

    Source: Pedersen et al., Neuromorphic intermediate representation: a unified instruction set for interoperable
    brain-inspired computing, Nature Communications 15:8122, 2024.

    Parameters
    ----------
    tau_syn : float
        Time constant of the current, > 0, in steps.
    tau_mem : float
        Membrane time constant, > 0, in steps.
    r : float
        Resistance: the factor of the current.
    v_leak : float
        Potential without current.
    w_in : float
        The factor of X.
    discretization : str
        Euler, euler_seq, exact or exact_seq.
    reset_delay : bool
        Whether the reset comes one step after the spike: `H[t]` is reset where `S[t−1]` = 1, and `V[t]` = `H[t]`.
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "nir_cuba_lif"
    State = NirCubaLifState

    def __init__(
        self,
        tau_syn: float = 2.0,
        *,
        tau_mem: float = 4.0,
        r: float = 1.0,
        v_leak: float = 0.0,
        w_in: float = 1.0,
        discretization: str = "euler_seq",
        reset_delay: bool = False,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"tau_syn": tau_syn, "tau_mem": tau_mem, "r": r, "v_leak": v_leak, "w_in": w_in, "discretization":
            discretization, "reset_delay": reset_delay, "v_threshold": v_threshold, "v_reset": v_reset, "strict":
            strict, "fire_on": fire_on, "resets": resets},
            surrogate, reset_grad, learn, shape,
        )


class HeavisideState(NamedTuple):
    """State of Heaviside."""



class Heaviside(Neuron):
    """Threshold without a state.

    H[t] = X[t], S[t] = 1 where H[t] > v_threshold

    Source: McCulloch & Pitts, A logical calculus of the ideas immanent in nervous activity, Bulletin of Mathematical
    Biophysics 5:115, 1943.

    Parameters
    ----------
    v_threshold : float
        The neuron fires if its potential reaches it.
    v_reset : float | None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    strict : bool
        Whether a potential that equals the threshold causes no spike.
    fire_on : str
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool
        Whether the potential is reset.
    surrogate : Surrogate | None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : ResetGrad
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.
    """

    name = "heaviside"
    State = HeavisideState

    def __init__(
        self,
        *,
        v_threshold: float = 1.0,
        v_reset: float | None = 0.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        surrogate: Surrogate | None = None,
        reset_grad: ResetGrad = "surrogate",
        learn: Mapping[str, Learn | str] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__(
            {"v_threshold": v_threshold, "v_reset": v_reset, "strict": strict, "fire_on": fire_on, "resets":
            resets},
            surrogate, reset_grad, learn, shape,
        )
