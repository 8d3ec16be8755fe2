"""Neurons.

Written by python/generator from the parts of the engine; change that program instead of this file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._part import Neuron, SurrogateLike

__all__ = [
    "AdLifCell",
    "Adex",
    "Alif",
    "Alpha",
    "Brf",
    "CSiLifCell",
    "Clif",
    "CubaLif",
    "DecayLif",
    "EfAdLifCell",
    "Eif",
    "EpropAlif",
    "GatedLif",
    "HalfThresholdIf",
    "Heaviside",
    "If",
    "Ilif",
    "Izhikevich",
    "Klif",
    "LeakyIntegrator",
    "Liaf",
    "Lif",
    "MaskedPsn",
    "NirCubaLi",
    "NirCubaLif",
    "NirI",
    "NirIf",
    "NirLi",
    "NirLif",
    "NonSpikingIf",
    "NonSpikingLif",
    "NorseLif",
    "OtttLif",
    "Plif",
    "Psn",
    "Qif",
    "RLeakyCell",
    "RSynapticCell",
    "Raf",
    "RefractoryLif",
    "SeAdLifCell",
    "SiLifCell",
    "SlidingPsn",
    "SlttLif",
    "SoftPulseIf",
    "SoftPulseLif",
    "SparchLif",
    "Synaptic",
    "TernaryIf",
    "TernaryLif",
    "YinAlif",
]


class If(Neuron):
    """Integrate-and-fire neuron: an ideal integrator, its potential does not leak.

    H[t] = V[t−1] + X[t]

    Source: SpikingFlow's softbp tutorial.

    Parameters
    ----------
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "if"

    def __init__(
        self,
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class Lif(Neuron):
    """Leaky integrate-and-fire neuron.

    τ dV/dt = −(V − v_rest) + X. Discretized with a step of one:

    H[t] = V[t−1] + (X[t] − (V[t−1] − v_rest)) / τ, or, if the input does not decay, H[t] = V[t−1] − (V[t−1] − v_rest) /
    τ + X[t].

    Source: SpikingFlow's softbp tutorial; Gerstner & Kistler, Spiking Neuron Models, ch. 4.

    Parameters
    ----------
    tau : float, default 2.0
        Membrane time constant, > 1, in steps.
    decay_input : bool, default True
        Whether X is divided by τ as well.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "lif"

    def __init__(
        self,
        tau: float = 2.0,
        decay_input: bool = True,
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.tau = tau
        self.decay_input = decay_input
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class Plif(Neuron):
    """Parametric leaky integrate-and-fire neuron.

    1/τ = σ(w) in the two forms of the leaky integrate-and-fire neuron:

    H[t] = V[t−1] + (X[t] − (V[t−1] − v_rest))·σ(w), or, if the input does not decay, H[t] = V[t−1] − (V[t−1] −
    v_rest)·σ(w) + X[t].

    Source: Fang et al., Incorporating Learnable Membrane Time Constant to Enhance Learning of Spiking Neural Networks,
    ICCV 2021.

    Parameters
    ----------
    init_tau : float, default 2.0
        Time constant before training, > 1, in steps.
    decay_input : bool, default True
        Whether X is scaled by σ(w) as well.
    granularity : str, default "layer"
        One w for the layer, each channel or each neuron.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "plif"

    def __init__(
        self,
        init_tau: float = 2.0,
        decay_input: bool = True,
        granularity: str = "layer",
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.init_tau = init_tau
        self.decay_input = decay_input
        self.granularity = granularity
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class Qif(Neuron):
    """Quadratic integrate-and-fire neuron.

    τ dV/dt = a₀·(V − v_rest)·(V − v_c) + X. Discretized with a step of one:

    H[t] = V[t−1] + (X[t] + a₀·(V[t−1] − v_rest)·(V[t−1] − v_c)) / τ

    Above v_c the potential grows without input.

    Source: Gerstner et al., Neuronal Dynamics, ch. 5.3; the discretization is SpikingJelly's.

    Parameters
    ----------
    tau : float, default 2.0
        Membrane time constant, > 1, in steps.
    v_c : float, default 0.8
        Critical potential.
    a0 : float, default 1.0
        Strength of the quadratic term, > 0.
    v_rest : float, default 0.0
        Resting potential.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default -0.1
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "qif"

    def __init__(
        self,
        tau: float = 2.0,
        v_c: float = 0.8,
        a0: float = 1.0,
        v_rest: float = 0.0,
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = -0.1,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.tau = tau
        self.v_c = v_c
        self.a0 = a0
        self.v_rest = v_rest
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class Eif(Neuron):
    """Exponential integrate-and-fire neuron.

    τ dV/dt = −(V − v_rest) + Δ_T·exp((V − θ_rh)/Δ_T) + X. Discretized with a step of one:

    H[t] = V[t−1] + (X[t] + v_rest − V[t−1] + Δ_T·exp((V[t−1] − θ_rh)/Δ_T)) / τ

    Source: Fourcaud-Trocmé et al., How spike generation mechanisms determine the neuronal response to fluctuating
    inputs, Journal of Neuroscience 23:11628, 2003; the discretization is SpikingJelly's.

    Parameters
    ----------
    tau : float, default 2.0
        Membrane time constant, > 1, in steps.
    delta_t : float, default 1.0
        Sharpness of the onset of a spike, > 0.
    theta_rh : float, default 0.8
        Rheobase threshold, where the onset begins.
    v_rest : float, default 0.0
        Resting potential.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default -0.1
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "eif"

    def __init__(
        self,
        tau: float = 2.0,
        delta_t: float = 1.0,
        theta_rh: float = 0.8,
        v_rest: float = 0.0,
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = -0.1,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.tau = tau
        self.delta_t = delta_t
        self.theta_rh = theta_rh
        self.v_rest = v_rest
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class Izhikevich(Neuron):
    """Izhikevich's neuron.

    H[t] = V[t−1] + (X[t] + a₀·(V[t−1] − v_rest)·(V[t−1] − v_c) − W[t−1]) / τ

    W[t] = W[t−1] + (a·(H[t] − v_rest) − W[t−1]) / τ_w + b·S[t]

    Source: Izhikevich, Simple model of spiking neurons, IEEE Transactions on Neural Networks 14:1569, 2003; the form
    and the discretization are SpikingJelly's.

    Parameters
    ----------
    tau : float, default 2.0
        Membrane time constant, > 1, in steps.
    v_c : float, default 0.8
        Critical potential.
    a0 : float, default 1.0
        Strength of the quadratic term, > 0.
    v_rest : float, default -0.1
        Resting potential.
    w_rest : float, default 0.0
        The adaptation current before the first step.
    tau_w : float, default 2.0
        Time constant of the adaptation, > 1, in steps.
    a : float, default 0.0
        Coupling of the adaptation to the potential.
    b : float, default 0.0
        Increment of the adaptation at each spike, whatever `reset_grad` is.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "izhikevich"

    def __init__(
        self,
        tau: float = 2.0,
        v_c: float = 0.8,
        a0: float = 1.0,
        v_rest: float = -0.1,
        w_rest: float = 0.0,
        tau_w: float = 2.0,
        a: float = 0.0,
        b: float = 0.0,
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.tau = tau
        self.v_c = v_c
        self.a0 = a0
        self.v_rest = v_rest
        self.w_rest = w_rest
        self.tau_w = tau_w
        self.a = a
        self.b = b
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class Klif(Neuron):
    """Leaky integrate-and-fire neuron with a trainable scale k, which starts at 1.

    In Rust `tau` and `decay_input` are fields of `neuron`, a `Lif`: `Klif { neuron: Lif::new(30.0), ..Klif::default()
    }`. In files they are on the same level as the others.

    H[t] = relu(k·F[t]), with F the charge of the leaky integrate-and-fire neuron and k trainable. If the reset is
    scaled, it acts on H/k with the threshold v_threshold/k.

    Source: Jiang & Zhang, KLIF: an optimized spiking neuron unit for tuning surrogate gradient slope and membrane
    potential, arXiv:2302.09238 (2023).

    Parameters
    ----------
    tau : float, default 2.0
        Membrane time constant, > 1, in steps.
    decay_input : bool, default True
        Whether X is divided by τ as well.
    scale_reset : bool, default False
        Whether the reset undoes the scale.
    granularity : str, default "layer"
        One k for the layer, each channel or each neuron.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "klif"

    def __init__(
        self,
        tau: float = 2.0,
        decay_input: bool = True,
        scale_reset: bool = False,
        granularity: str = "layer",
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.tau = tau
        self.decay_input = decay_input
        self.scale_reset = scale_reset
        self.granularity = granularity
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class Liaf(Neuron):
    """Leaky integrate-and-fire neuron with real outputs; its spikes reset it.

    In Rust `tau` and `decay_input` are fields of `neuron`, a `Lif`: `Liaf { neuron: Lif::new(30.0), ..Liaf::default()
    }`. In files they are on the same level as the others.

    V and S are those of the leaky integrate-and-fire neuron; the output is Y[t] = act(H[t] − v_threshold), or act(H[t])
    if it is not related to the threshold.

    Source: Wu et al., LIAF-Net: leaky integrate and analog fire network for lightweight and efficient spatiotemporal
    information processing, IEEE Transactions on Neural Networks and Learning Systems 33:6249, 2022.

    Parameters
    ----------
    tau : float, default 2.0
        Membrane time constant, > 1, in steps.
    decay_input : bool, default True
        Whether X is divided by τ as well.
    act : str, default "relu"
        Relu, sigmoid or tanh.
    threshold_related : bool, default True
        Whether it acts on H − v_threshold, or on H.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "liaf"

    def __init__(
        self,
        tau: float = 2.0,
        decay_input: bool = True,
        act: str = "relu",
        threshold_related: bool = True,
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.tau = tau
        self.decay_input = decay_input
        self.act = act
        self.threshold_related = threshold_related
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class CubaLif(Neuron):
    """Leaky integrate-and-fire neuron whose input is a current that decays too.

    I[t] = I[t−1]·c_decay + X[t], H[t] = V[t−1]·v_decay + I[t]

    Source: Davies et al., Loihi: a neuromorphic manycore processor with on-chip learning, IEEE Micro 38:82, 2018; the
    discretization and the defaults are SpikingJelly's.

    Parameters
    ----------
    c_decay : float, default 0.5
        Decay factor of the current.
    v_decay : float, default 0.75
        Decay factor of the potential.
    v_threshold : float, default 0.5
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Rect(alpha=1.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "cuba_lif"

    def __init__(
        self,
        c_decay: float = 0.5,
        v_decay: float = 0.75,
        *,
        v_threshold: float = 0.5,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.c_decay = c_decay
        self.v_decay = v_decay
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class GatedLif(Neuron):
    """Gated leaky integrate-and-fire neuron. Its fields are the initial values of parameters.

    The gates start at ½. The number of time steps is part of the parameters' shape.

    Each of three gates interpolates between two variants: α between exponential and linear decay, β between an input
    that is weighted by the time step and one that is not, γ between a reset by a factor and one by a constant.

    K[t] = (1 − α·(1 − τ))·V[t−1], the potential after the exponential decay

    H[t] = K[t] − (1 − α)·linear_decay + X[t]·(1 − β·(1 − g[t]))        − K[t]·γ·S[t−1] − (1 − γ)·v_subreset·S[t−1]

    S[t] = Θ(H[t] − v_threshold), V[t] = H[t]; all of α, β, γ, τ, linear_decay, v_subreset, v_threshold and the
    conductances g[t] are σ of learned parameters.

    Source: Yao et al., GLIF: a unified gated leaky integrate-and-fire neuron for spiking neural networks, NeurIPS 2022.

    Parameters
    ----------
    inplane : float | None, default None
        Channels, each with values of its own; none: the layer shares them.
    tau : float, default 0.25
        Factor of the exponential decay of the potential, 0 to 1.
    linear_decay : float, default 0.03
        Amount of the linear decay of the potential, 0 to 1.
    v_subreset : float, default 0.5
        Amount of the constant reset, 0 to 1.
    conduct : float, default 0.5
        G, one for each time step, 0 to 1.
    v_threshold : float, default 0.5
        Learned as well, 0 to 1.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "gated_lif"

    def __init__(
        self,
        inplane: float | None = None,
        tau: float = 0.25,
        linear_decay: float = 0.03,
        v_subreset: float = 0.5,
        conduct: float = 0.5,
        *,
        v_threshold: float = 0.5,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.inplane = inplane
        self.tau = tau
        self.linear_decay = linear_decay
        self.v_subreset = v_subreset
        self.conduct = conduct
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class Ilif(Neuron):
    """Leaky integrate-and-fire neuron that fires up to D spikes in a step. It always has a soft reset. With a surrogate of single spikes it fires one spike if H ≥ v_threshold.

    H[t] = V[t−1] − V[t−1]/τ + X[t]

    S[t] = round(clamp(H[t]/v_threshold, 0, D)), ties to even; V[t] = H[t] − S[t]·v_threshold

    Source: Luo et al., Integer-valued training and spike-driven inference spiking neural network for high-performance
    and energy-efficient object detection, ECCV 2024.

    Parameters
    ----------
    tau : float, default 1.3333333333333333
        Membrane time constant, > 1, in steps.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        How many spikes, and their gradient.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "ilif"

    def __init__(
        self,
        tau: float = 1.3333333333333333,
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = None,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.tau = tau
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class Clif(Neuron):
    """Complementary leaky integrate-and-fire neuron. It always has a soft reset.

    H[t] = V[t−1] − V[t−1]/τ + X[t]

    M[t] = M[t−1]·σ(H[t]/τ) + S[t], V[t] = H[t] − S[t]·(v_threshold + σ(M[t]))

    M accumulates the part of V that decays, so that gradients reach further back in time.

    Source: Huang et al., CLIF: complementary leaky integrate-and-fire neuron for spiking neural networks, ICML 2024.

    Parameters
    ----------
    tau : float, default 2.0
        Membrane time constant, > 1, in steps.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Rect(alpha=1.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "clif"

    def __init__(
        self,
        tau: float = 2.0,
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = None,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.tau = tau
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class Raf(Neuron):
    """Resonate-and-fire neuron.

    dz/dt = (b + iω)·z + X for a complex z = u + iv. Discretized with a step of dt:

    u[t] = e^(b·dt)·(u[t−1]·cos(ω·dt) − V[t−1]·sin(ω·dt)) + X[t]

    H[t] = e^(b·dt)·(u[t−1]·sin(ω·dt) + V[t−1]·cos(ω·dt))

    It responds to inputs with a frequency near ω. Only V is reset.

    Source: Izhikevich, Resonate-and-fire neurons, Neural Networks 14:883, 2001; the discretization is SpikingJelly's.

    Parameters
    ----------
    b : float, default -0.2
        Damping, < 0, in 1/time.
    omega : float, default 1.0
        Angular frequency, in 1/time.
    dt : float, default 1.0
        Length of a step, in time.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "raf"

    def __init__(
        self,
        b: float = -0.2,
        omega: float = 1.0,
        dt: float = 1.0,
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.b = b
        self.omega = omega
        self.dt = dt
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class HalfThresholdIf(Neuron):
    """Integrate-and-fire neuron that starts at half its threshold.

    H[t] = V[t−1] + X[t], soft reset, V[0] = v_threshold/2

    The number of spikes over T steps is the sum of the inputs rounded to the nearest integer instead of rounded down.
    Used in the conversion of non-spiking networks.

    Source: Bu et al., Optimal ANN-SNN conversion for high-accuracy and ultra-low-latency spiking neural networks, ICLR
    2022.

    Parameters
    ----------
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default None
        Soft reset.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "half_threshold_if"

    def __init__(
        self,
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = None,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class SlttLif(Neuron):
    """`Lif` whose potential has no gradient between steps.

    In Rust `tau` and `decay_input` are fields of `neuron`, a `Lif`; in files they are on the same level as the others.

    Forward, the leaky integrate-and-fire neuron; backward, no gradient passes from a step to the one before it.
    Training does not store earlier steps.

    Source: Meng et al., Towards memory- and time-efficient backpropagation for training spiking neural networks, ICCV
    2023.

    Parameters
    ----------
    tau : float, default 2.0
        Membrane time constant, > 1, in steps.
    decay_input : bool, default True
        Whether X is divided by τ as well.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "detach"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "sltt_lif"

    def __init__(
        self,
        tau: float = 2.0,
        decay_input: bool = True,
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "detach",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.tau = tau
        self.decay_input = decay_input
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class OtttLif(Neuron):
    """`Lif` whose potential has no gradient between steps, with a trace of its spikes.

    In Rust `tau` and `decay_input` are fields of `neuron`, a `Lif`; in files they are on the same level as the others.

    Forward, the leaky integrate-and-fire neuron, and the trace A[t] = A[t−1]·(1 − 1/τ) + S[t]; backward, no gradient
    passes from a step to the one before it. The weights of the next layer are trained with the trace instead of the
    spikes: see `TraceLearning`.

    Source: Xiao et al., Online training through time for spiking neural networks, NeurIPS 2022.

    Parameters
    ----------
    tau : float, default 2.0
        Membrane time constant, > 1, in steps.
    decay_input : bool, default False
        Whether X is divided by τ as well.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default None
        Soft reset.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "detach"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "ottt_lif"

    def __init__(
        self,
        tau: float = 2.0,
        decay_input: bool = False,
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = None,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "detach",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.tau = tau
        self.decay_input = decay_input
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class TernaryIf(Neuron):
    """Integrate-and-fire neuron that fires 1 at v_threshold and −1 at −v_threshold.

    H[t] = V[t−1] + X[t], S[t] = Θ(H[t] − v_threshold) − Θ(−H[t] − v_threshold)

    V[t] = |S|·v_reset + (1 − |S|)·H (hard) or H − S·v_threshold (soft)

    Source: Guo et al., Ternary spike: learning ternary spikes for spiking neural networks, AAAI 2024.

    Parameters
    ----------
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "ternary_if"

    def __init__(
        self,
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class TernaryLif(Neuron):
    """Leaky integrate-and-fire neuron that fires 1 at v_threshold and −1 at −v_threshold.

    In Rust `tau` and `decay_input` are fields of `neuron`, a `Lif`; in files they are on the same level as the others.

    H is that of the leaky integrate-and-fire neuron, S[t] = Θ(H[t] − v_threshold) − Θ(−H[t] − v_threshold); the hard
    reset is applied to spikes of both signs.

    Source: Guo et al., Ternary spike: learning ternary spikes for spiking neural networks, AAAI 2024.

    Parameters
    ----------
    tau : float, default 2.0
        Membrane time constant, > 1, in steps.
    decay_input : bool, default True
        Whether X is divided by τ as well.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "ternary_lif"

    def __init__(
        self,
        tau: float = 2.0,
        decay_input: bool = True,
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.tau = tau
        self.decay_input = decay_input
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class Psn(Neuron):
    """Parallel spiking neuron. It has no potential and no reset: of the common constants, only the surrogate is used.

    H = W·X + b over the time axis, S = Θ(H): every step depends on all steps, and nothing is reset, so that all steps
    are computed at once. W `[T, T]` and b `[T]` are learned.

    Source: Fang et al., Parallel spiking neurons with high efficiency and ability to learn long-term dependencies,
    NeurIPS 2023.

    Parameters
    ----------
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Atan(alpha=2.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "psn"

    def __init__(
        self,
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class MaskedPsn(Neuron):
    """Masked parallel spiking neuron.

    H = (W ∘ M(λ))·X + b over the time axis, S = Θ(H). The mask is M(λ) = λ·B + (1 − λ)·1, where the band B has the
    current step and the k − 1 before it. λ = 0 is the parallel spiking neuron, λ = 1 the band only; λ can be increased
    during training.

    Source: Fang et al., Parallel spiking neurons with high efficiency and ability to learn long-term dependencies,
    NeurIPS 2023.

    Parameters
    ----------
    k : int, default 4
        Steps in the window when the mask is on, the current one included.
    lambda_ : float, default 1.0
        Weight of the mask, 0 to 1.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Atan(alpha=2.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "masked_psn"

    def __init__(
        self,
        k: int = 4,
        lambda_: float = 1.0,
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.k = k
        self.lambda_ = lambda_
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class SlidingPsn(Neuron):
    """Sliding parallel spiking neuron.

    H[t] = Σ wᵢ·X[t − k + 1 + i] + b over i = 0 … k − 1, S = Θ(H): the same k weights at every step, for sequences of
    any length. w is initialized with 2^(i−k+1), or uniformly; w and b are trained.

    Source: Fang et al., Parallel spiking neurons with high efficiency and ability to learn long-term dependencies,
    NeurIPS 2023.

    Parameters
    ----------
    k : int, default 4
        Steps in the window, the current one included.
    exp_init : bool, default True
        Whether the weights start at powers of 2; otherwise uniform, bound 1/√k.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Atan(alpha=2.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "sliding_psn"

    def __init__(
        self,
        k: int = 4,
        exp_init: bool = True,
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.k = k
        self.exp_init = exp_init
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class NonSpikingIf(Neuron):
    """Integrator that never fires.

    V[t] = V[t−1] + X[t]; the output is V, or one value for all time steps.

    Source: SpikingJelly's `NonSpikingIFNode`; as an output layer, Lee et al., Enabling spike-based backpropagation for
    training deep neural network architectures, Frontiers in Neuroscience 14:119, 2020.

    Parameters
    ----------
    readout : float | None, default None
        Last, max, max_abs or mean over time; none: every step is returned.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "non_spiking_if"

    def __init__(
        self,
        readout: float | None = None,
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.readout = readout
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class NonSpikingLif(Neuron):
    """Leaky integrator that never fires.

    In Rust `tau` and `decay_input` are fields of `neuron`, a `Lif`: `NonSpikingLif { neuron: Lif::new(30.0),
    ..NonSpikingLif::default() }`. In files they are on the same level as the others.

    V is charged as in the leaky integrate-and-fire neuron; the output is V, or one value for all time steps.

    Source: SpikingJelly's `NonSpikingLIFNode`; as an output layer, Bellec et al., Long short-term memory and learning-
    to-learn in networks of spiking neurons, NeurIPS 2018.

    Parameters
    ----------
    tau : float, default 2.0
        Membrane time constant, > 1, in steps.
    decay_input : bool, default True
        Whether X is divided by τ as well.
    readout : float | None, default None
        Last, max, max_abs or mean over time; none: every step is returned.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "non_spiking_lif"

    def __init__(
        self,
        tau: float = 2.0,
        decay_input: bool = True,
        readout: float | None = None,
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.tau = tau
        self.decay_input = decay_input
        self.readout = readout
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class Alif(Neuron):
    """Adaptive leaky integrate-and-fire neuron.

    H[t] = e^(−1/τ)·V[t−1] + (1 − e^(−1/τ))·X[t]

    S[t] = Θ(H[t] − B[t]) with B[t] = v_threshold + β·A[t−1]

    A[t] = e^(−1/τ_a)·A[t−1] + (1 − e^(−1/τ_a))·S[t]; the soft reset subtracts B[t].

    Source: Bellec et al., Long short-term memory and learning-to-learn in networks of spiking neurons, NeurIPS 2018.

    Parameters
    ----------
    tau : float, default 20.0
        Membrane time constant, in steps.
    tau_a : float, default 200.0
        Time constant of the adaptation, in steps.
    beta : float, default 1.8
        Increase of the threshold per unit of adaptation.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default None
        Soft reset.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "alif"

    def __init__(
        self,
        tau: float = 20.0,
        tau_a: float = 200.0,
        beta: float = 1.8,
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = None,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.tau = tau
        self.tau_a = tau_a
        self.beta = beta
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class Adex(Neuron):
    """Adaptive exponential integrate-and-fire neuron.

    The defaults are the paper's, with time in ms and potentials counted from rest (−70.6 mV) in units of the distance
    to the rheobase threshold (−50.4 mV). Without the exponential term and the adaptation, X = 1 would charge V to that
    threshold.

    τ dV/dt = v_rest − V + Δ_T·exp((V − θ_rh)/Δ_T) − W + X, τ_w dW/dt = a·(V − v_rest) − W, and W grows by b with each
    spike. Discretized with a step of dt:

    H[t] = V[t−1] + dt/τ·(v_rest − V[t−1] + Δ_T·exp((V[t−1] − θ_rh)/Δ_T) − W[t−1] + X[t])

    W[t] = W[t−1] + dt/τ_w·(a·(V[t−1] − v_rest) − W[t−1]) + b·S[t]

    Source: Brette & Gerstner, Adaptive exponential integrate-and-fire model as an effective description of neuronal
    activity, Journal of Neurophysiology 94:3637, 2005.

    Parameters
    ----------
    tau : float, default 9.37
        Membrane time constant, in ms.
    delta_t : float, default 0.099
        Sharpness of the onset of a spike, > 0.
    theta_rh : float, default 1.0
        Rheobase threshold, where the onset begins.
    v_rest : float, default 0.0
        Resting potential.
    tau_w : float, default 144.0
        Time constant of the adaptation, in ms.
    a : float, default 0.133
        Coupling of the adaptation to the potential.
    b : float, default 0.133
        Increment of the adaptation at each spike.
    dt : float, default 1.0
        Length of a step, in ms.
    v_threshold : float, default 2.0
        Where a spike that has begun is counted.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "adex"

    def __init__(
        self,
        tau: float = 9.37,
        delta_t: float = 0.099,
        theta_rh: float = 1.0,
        v_rest: float = 0.0,
        tau_w: float = 144.0,
        a: float = 0.133,
        b: float = 0.133,
        dt: float = 1.0,
        *,
        v_threshold: float = 2.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.tau = tau
        self.delta_t = delta_t
        self.theta_rh = theta_rh
        self.v_rest = v_rest
        self.tau_w = tau_w
        self.a = a
        self.b = b
        self.dt = dt
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class Synaptic(Neuron):
    """Second-order leaky integrate-and-fire neuron.

    I[t] = α·I[t−1] + X[t]

    H[t] = β·V[t−1] + I[t] − S[t−1]·v_threshold, or v_reset where S[t−1] is 1; V[t] = H[t]

    The reset comes one step after the spike, as in snnTorch.

    Source: Eshraghian et al., Training spiking neural networks using lessons from deep learning, Proceedings of the
    IEEE 111:1016, 2023 (snnTorch's `Synaptic`).

    Parameters
    ----------
    alpha : float, default 0.9
        Decay factor of the current, 0 to 1.
    beta : float, default 0.8
        Decay factor of the potential, 0 to 1.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default None
        Soft reset.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Atan(alpha=2.0)`.
    reset_grad : str, default "detach"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "synaptic"

    def __init__(
        self,
        alpha: float = 0.9,
        beta: float = 0.8,
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = None,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "detach",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class Alpha(Neuron):
    """Alpha-function neuron.

    E[t] = α·E[t−1] + X[t], I[t] = β·I[t−1] − X[t]

    H[t] = τ_α·(E[t] + I[t]) − S[t−1]·v_threshold, with τ_α = ln α/(ln β − ln α) + 1; with a hard reset E, I and H are
    reset where S[t−1] is 1. V[t] = H[t].

    The reset comes one step after the spike, as in snnTorch; the soft one has no lasting effect, since H does not
    depend on the previous V. With `resets_currents` it is that of snnTorch 1.0, which acts on the currents: where
    S[t−1] is 1, v_threshold is subtracted from E[t], I[t] is 0, and H[t] = τ_α·(E[t] + I[t]) + I[t−1] with the currents
    before the reset.

    Source: Eshraghian et al., Training spiking neural networks using lessons from deep learning, Proceedings of the
    IEEE 111:1016, 2023 (snnTorch's `Alpha`); Rall, Distinguishing theoretical synaptic potentials computed for
    different soma-dendritic distributions of synaptic input, Journal of Neurophysiology 30:1138, 1967.

    Parameters
    ----------
    alpha : float, default 0.9
        Decay factor of the excitatory current, `beta` to 1.
    beta : float, default 0.8
        Decay factor of the inhibitory current, 0 to `alpha`.
    tau_alpha : float | None, default None
        Τ_α; without one it follows from α and β.
    resets_currents : bool, default False
        Whether the soft reset acts on the currents.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default None
        Soft reset.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Atan(alpha=2.0)`.
    reset_grad : str, default "detach"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "alpha"

    def __init__(
        self,
        alpha: float = 0.9,
        beta: float = 0.8,
        tau_alpha: float | None = None,
        resets_currents: bool = False,
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = None,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "detach",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.tau_alpha = tau_alpha
        self.resets_currents = resets_currents
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class Brf(Neuron):
    """Balanced resonate-and-fire neuron.

    b[t] = p(ω) − b′ − q[t−1], where p(ω) = (√(1 − (ω·dt)²) − 1)/dt is the damping at which the discretization neither
    grows nor falls

    H[t] = V[t−1] + dt·(b[t]·V[t−1] − ω·u[t−1] + X[t]), u[t] = u[t−1] + dt·(ω·V[t−1] + b[t]·u[t−1])

    S[t] = Θ(H[t] − v_threshold − q[t−1]), q[t] = γ·q[t−1] + S[t], V[t] = H[t]

    Source: Higuchi et al., Balanced resonate-and-fire neurons, ICML 2024.

    Parameters
    ----------
    omega : float, default 10.0
        Angular frequency, below 1/dt, in 1/time.
    b_offset : float, default 1.0
        B′, damping beyond balance, > 0, in 1/time.
    gamma : float, default 0.9
        Decay factor of the refractoriness.
    dt : float, default 0.01
        Length of a step, in time.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "brf"

    def __init__(
        self,
        omega: float = 10.0,
        b_offset: float = 1.0,
        gamma: float = 0.9,
        dt: float = 0.01,
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.omega = omega
        self.b_offset = b_offset
        self.gamma = gamma
        self.dt = dt
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class RefractoryLif(Neuron):
    """Steps are counted in f32, which represents all integers up to this one.

    H is that of the leaky integrate-and-fire neuron; for R steps after a spike the potential is constant and the neuron
    does not fire: H[t] = V[t−1], S[t] = 0.

    Source: Gerstner & Kistler, Spiking Neuron Models, ch. 4.1.

    Parameters
    ----------
    decay_input : bool, default True
        See `spikelet.neuron`.
    refractory : int, default 2
        See `spikelet.neuron`.
    tau : float, default 2.0
        See `spikelet.neuron`.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "refractory_lif"

    def __init__(
        self,
        decay_input: bool = True,
        refractory: int = 2,
        tau: float = 2.0,
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.decay_input = decay_input
        self.refractory = refractory
        self.tau = tau
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class SoftPulseIf(Neuron):
    """`If` with softbp's defaults: sigmoid with α = 1, `ResetGrad::Soft`.

    H[t] = V[t−1] + X[t]; backward, the reset is the soft one: V_soft = v_reset·g(H − v_threshold) + H·(1 − g(H −
    v_threshold)).

    Source: SpikingFlow's softbp tutorial.

    Parameters
    ----------
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=1.0)`.
    reset_grad : str, default "soft"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "soft_pulse_if"

    def __init__(
        self,
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "soft",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class SoftPulseLif(Neuron):
    """`Lif` with softbp's defaults: sigmoid with α = 1, `ResetGrad::Soft`, τ = 100.

    H[t] = V[t−1] + (X[t] − (V[t−1] − v_rest)) / τ; backward, the reset is the soft one: V_soft = v_reset·g(H −
    v_threshold) + H·(1 − g(H − v_threshold)).

    Source: SpikingFlow's softbp tutorial.

    Parameters
    ----------
    decay_input : bool, default True
        See `spikelet.neuron`.
    tau : float, default 100.0
        See `spikelet.neuron`.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=1.0)`.
    reset_grad : str, default "soft"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "soft_pulse_lif"

    def __init__(
        self,
        decay_input: bool = True,
        tau: float = 100.0,
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "soft",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.decay_input = decay_input
        self.tau = tau
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class SparchLif(Neuron):
    """Leaky integrate-and-fire neuron of sparch.

    H[t] = α·(V[t−1] − S[t−1]) + (1 − α)·X[t], V[t] = H[t]

    S[t] = Θ(H[t] − v_threshold), which is 0 at the threshold

    α is trained for each neuron and clamped to its limits in the forward pass. V and S start from random values,
    uniform on [0, 1), also in evaluation.

    Source: Bittar & Garner, A surrogate gradient spiking baseline for speech command recognition, Frontiers in
    Neuroscience 16:865897, 2022.

    Parameters
    ----------
    alpha : float, default 0.9
        Decay factor of the potential, 0 to 1; trained: uniform on e^(−1/5) … e^(−1/25) before training, clamped to
        these.
    random_start : bool, default True
        Whether states start from random values on [0, 1).
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default True
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Boxcar(alpha=1.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "sparch_lif"

    def __init__(
        self,
        alpha: float = 0.9,
        random_start: bool = True,
        *,
        v_threshold: float = 1.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.alpha = alpha
        self.random_start = random_start
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class AdLifCell(Neuron):
    """Adaptive leaky integrate-and-fire neuron of sparch (adLIF; with feedback: RadLIF).

    Trained values are uniform between their limits before training. `AdLifCell::cad` has other limits.

    W[t] = β·W[t−1] + a·V[t−1] + b·S[t−1]

    H[t] = α·(V[t−1] − S[t−1]) + (1 − α)·(X[t] − W[t]), V[t] = H[t]

    S[t] = Θ(H[t] − v_threshold), which is 0 at the threshold

    α, β, a and b are trained for each neuron and clamped to their limits in the forward pass. V, W and S start from
    random values, uniform on [0, 1), also in evaluation.

    Source: Bittar & Garner, A surrogate gradient spiking baseline for speech command recognition, Frontiers in
    Neuroscience 16:865897, 2022 (sparch); the limits of CadLIF: Fabre et al., Structured state space model dynamics and
    parametrization for spiking neural networks, arXiv:2506.06374, 2025.

    Parameters
    ----------
    alpha : float, default 0.9
        Decay factor of the potential, 0 to 1; trained: e^(−1/5) … e^(−1/25).
    beta : float, default 0.98
        Decay factor of the adaptation, 0 to 1; trained: e^(−1/30) … e^(−1/120).
    a : float, default 0.0
        Coupling of the adaptation to the potential; trained: −1 … 1.
    b : float, default 1.0
        Coupling of the adaptation to the spikes; trained: 0 … 2.
    random_start : bool, default True
        Whether states start from random values on [0, 1).
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default True
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Boxcar(alpha=1.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "adlif"

    def __init__(
        self,
        alpha: float = 0.9,
        beta: float = 0.98,
        a: float = 0.0,
        b: float = 1.0,
        random_start: bool = True,
        *,
        v_threshold: float = 1.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.a = a
        self.b = b
        self.random_start = random_start
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class SiLifCell(Neuron):
    """SiLIF neuron.

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
    alpha : float, default 3.912023005428146
        Logarithm of the decay rate of the potential; trained: uniform on ln 10 … ln 250 before training.
    beta : float, default 1.6094379124341003
        Logarithm of the decay rate of the adaptation; trained: uniform on ln 2.5 … ln 10 before training.
    dt : float, default -5.521460917862246
        Logarithm of the time step; trained.
    a : float, default 0.5
        Coupling of the adaptation to the potential; trained: 0 … 1.
    b : float, default 1.0
        Coupling of the adaptation to the spikes; trained: 0 … 2.
    random_start : bool, default True
        Whether states start from random values on [0, 1).
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default True
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Boxcar(alpha=1.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "silif"

    def __init__(
        self,
        alpha: float = 3.912023005428146,
        beta: float = 1.6094379124341003,
        dt: float = -5.521460917862246,
        a: float = 0.5,
        b: float = 1.0,
        random_start: bool = True,
        *,
        v_threshold: float = 1.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.dt = dt
        self.a = a
        self.b = b
        self.random_start = random_start
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class CSiLifCell(Neuron):
    """C-SiLIF neuron.

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
    log_log_alpha : float, default -0.6931471805599453
        Logarithm of the decay rate; trained.
    alpha_img : float, default 3.141592653589793
        Angular frequency; trained.
    log_dt : float, default -2.659260036932778
        Logarithm of the time step; trained: uniform on ln 0.01 … ln 0.5 before training.
    b : float, default 0.5
        Scale of the input; trained: uniform on 0 … 1 before training.
    random_start : bool, default True
        Whether states start from random values on [0, 1).
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default True
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Boxcar(alpha=1.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "csilif"

    def __init__(
        self,
        log_log_alpha: float = -0.6931471805599453,
        alpha_img: float = 3.141592653589793,
        log_dt: float = -2.659260036932778,
        b: float = 0.5,
        random_start: bool = True,
        *,
        v_threshold: float = 1.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.log_log_alpha = log_log_alpha
        self.alpha_img = alpha_img
        self.log_dt = log_dt
        self.b = b
        self.random_start = random_start
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class DecayLif(Neuron):
    """Leaky integrate-and-fire neuron with an exact decay.

    H[t] = d·V[t−1] + (1 − d)·X[t] with d = e^(−1/τ)

    S[t] = Θ(H[t] − v_threshold), which is 0 at the threshold; hard reset

    τ is trained for each neuron: τ = p·τ_max + (1 − p)·τ_min, with p clamped to 0 and 1 after each update.

    Source: Baronig et al., Advancing spatio-temporal processing through adaptation in spiking neural networks, Nature
    Communications 16:5776, 2025.

    Parameters
    ----------
    tau_u : float, default 15.0
        Membrane time constant (trained: 5 … 25), > 0, in steps.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default True
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Slayer(alpha=5.0, c=0.4)`.
    reset_grad : str, default "detach"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "decay_lif"

    def __init__(
        self,
        tau_u: float = 15.0,
        *,
        v_threshold: float = 1.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "detach",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.tau_u = tau_u
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class SeAdLifCell(Neuron):
    """SE-adLIF neuron.

    Trained values are uniform between their limits before training.

    H[t] = d_u·V[t−1] + (1 − d_u)·(X[t] − W[t−1]) with d_u = e^(−1/τ_u)

    S[t] = Θ(H[t] − v_threshold), which is 0 at the threshold; hard reset

    W[t] = d_w·W[t−1] + (1 − d_w)·(a·V[t] + b·S[t])·q with d_w = e^(−1/τ_w): the new potential and the new spike

    τ_u, τ_w, a and b are trained for each neuron: τ = p·τ_max + (1 − p)·τ_min, with p clamped to 0 and 1, and a and b
    to their limits, after each update.

    Source: Baronig et al., Advancing spatio-temporal processing through adaptation in spiking neural networks, Nature
    Communications 16:5776, 2025.

    Parameters
    ----------
    tau_u : float, default 15.0
        Membrane time constant (trained: 5 … 25), > 0, in steps.
    tau_w : float, default 180.0
        Time constant of the adaptation (trained: 60 … 300), > 0, in steps.
    a : float, default 0.5
        Coupling of the adaptation to the potential; trained: 0 … 1.
    b : float, default 1.0
        Coupling of the adaptation to the spikes; trained: 0 … 2.
    q : float, default 120.0
        Scale of both couplings.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default True
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Slayer(alpha=5.0, c=0.4)`.
    reset_grad : str, default "detach"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "se_adlif"

    def __init__(
        self,
        tau_u: float = 15.0,
        tau_w: float = 180.0,
        a: float = 0.5,
        b: float = 1.0,
        q: float = 120.0,
        *,
        v_threshold: float = 1.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "detach",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.tau_u = tau_u
        self.tau_w = tau_w
        self.a = a
        self.b = b
        self.q = q
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class EfAdLifCell(Neuron):
    """EF-adLIF neuron.

    In Rust these are fields of `neuron`, a `SeAdLifCell`. In files they are on the same level as the others.

    As SE-adLIF, but the adaptation follows the potential and the spike of the step before:

    W[t] = d_w·W[t−1] + (1 − d_w)·(a·V[t−1] + b·S[t−1])·q

    Source: Baronig et al., Advancing spatio-temporal processing through adaptation in spiking neural networks, Nature
    Communications 16:5776, 2025.

    Parameters
    ----------
    tau_u : float, default 15.0
        Membrane time constant (trained: 5 … 25), > 0, in steps.
    tau_w : float, default 180.0
        Time constant of the adaptation (trained: 60 … 300), > 0, in steps.
    a : float, default 0.5
        Coupling of the adaptation to the potential; trained: 0 … 1.
    b : float, default 1.0
        Coupling of the adaptation to the spikes; trained: 0 … 2.
    q : float, default 60.0
        Scale of both couplings.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default True
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Slayer(alpha=5.0, c=0.4)`.
    reset_grad : str, default "detach"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "ef_adlif"

    def __init__(
        self,
        tau_u: float = 15.0,
        tau_w: float = 180.0,
        a: float = 0.5,
        b: float = 1.0,
        q: float = 60.0,
        *,
        v_threshold: float = 1.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "detach",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.tau_u = tau_u
        self.tau_w = tau_w
        self.a = a
        self.b = b
        self.q = q
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class EpropAlif(Neuron):
    """Steps are counted in f32, which represents all integers up to this one.

    B[t] = ρ·B[t−1] + S[t−1] with ρ = e^(−dt/τ_a)

    H[t] = α·V[t−1] + X[t] − v_threshold·S[t−1] with α = e^(−dt/τ_m), V[t] = H[t]

    S[t] = Θ((H[t] − v_threshold − β·B[t]) / v_threshold), which is 0 at the threshold and for the steps after a spike
    until `refractory` steps, with that of the spike, have passed

    The surrogate's argument is divided by v_threshold, not by the raised threshold; the reset passes no gradient by
    default.

    Source: Bellec et al., A solution to the learning dilemma for recurrent networks of spiking neurons, Nature
    Communications 2020; the authors' program, `EligALIF`.

    Parameters
    ----------
    beta : float, default 1.8
        See `spikelet.neuron`.
    dt : float, default 1.0
        See `spikelet.neuron`.
    refractory : int, default 5
        See `spikelet.neuron`.
    tau_a : float, default 200.0
        See `spikelet.neuron`.
    tau_m : float, default 20.0
        See `spikelet.neuron`.
    v_threshold : float, default 0.6
        The neuron fires if its potential reaches it.
    strict : bool, default True
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default None
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `PiecewiseQuadratic(alpha=1.0, factor=0.3)`.
    reset_grad : str, default "detach"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "eprop_alif"

    def __init__(
        self,
        beta: float = 1.8,
        dt: float = 1.0,
        refractory: int = 5,
        tau_a: float = 200.0,
        tau_m: float = 20.0,
        *,
        v_threshold: float = 0.6,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = None,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "detach",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.beta = beta
        self.dt = dt
        self.refractory = refractory
        self.tau_a = tau_a
        self.tau_m = tau_m
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class YinAlif(Neuron):
    """Adaptive leaky integrate-and-fire neuron of Yin et al.

    A[t] = ρ·A[t−1] + (1 − ρ)·S[t−1] with ρ = e^(−dt/τ_adp), B[t] = v_threshold + β·A[t]

    H[t] = α·V[t−1] + (1 − α)·r_m·X[t] − B[t]·S[t−1]·dt with α = e^(−dt/τ_m), V[t] = H[t]

    S[t] = Θ(H[t] − B[t]), which is 0 at the threshold

    Both time constants are trained for each neuron, without bounds. V starts from random values, uniform on [0, 1),
    also in evaluation; A starts at v_threshold.

    Source: Yin, Corradi & Bohté, Accurate and efficient time-domain classification with adaptive spiking recurrent
    neural networks, Nature Machine Intelligence 3:905, 2021.

    Parameters
    ----------
    tau_m : float, default 20.0
        Membrane time constant (trained: normal with standard deviation 5 before training), > 0, in steps.
    tau_adp : float, default 150.0
        Time constant of the adaptation (trained: normal with standard deviation 10 before training), > 0, in steps.
    beta : float, default 1.8
        Increase of the threshold per unit of adaptation.
    r_m : float, default 1.0
        Membrane resistance.
    dt : float, default 1.0
        Length of a step, > 0, in steps.
    random_start : bool, default True
        Whether V starts from random values on [0, 1).
    v_threshold : float, default 0.01
        Threshold without adaptation.
    strict : bool, default True
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `MultiGaussian(gamma=0.5, height=0.15, scale=6.0, sigma=0.5)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "yin_alif"

    def __init__(
        self,
        tau_m: float = 20.0,
        tau_adp: float = 150.0,
        beta: float = 1.8,
        r_m: float = 1.0,
        dt: float = 1.0,
        random_start: bool = True,
        *,
        v_threshold: float = 0.01,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.tau_m = tau_m
        self.tau_adp = tau_adp
        self.beta = beta
        self.r_m = r_m
        self.dt = dt
        self.random_start = random_start
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class RLeakyCell(Neuron):
    """SnnTorch's leaky integrate-and-fire neuron.

    snnTorch clamps a trained β to 0 and 1: `.trainable("beta", Trainable::default().clamp(0.0, 1.0))`. The weights of
    feedback between all neurons are in the layer `RLeaky`.

    R[t] = Θ(V[t−1] − v_threshold): the potential after the last step was above the threshold

    G[t] = β·V[t−1] + X[t] + feedback·S[t−1] (the last term with `one_to_one`)

    H[t] = G[t] − R[t]·v_threshold for the soft reset, v_reset where R[t] = 1 for the hard reset

    S[t] = Θ(H[t] − v_threshold), which is 0 at the threshold; V[t] = H[t]: the reset comes one step after the spike

    With `keeps_input`, the hard reset comes before the charge: V[t−1] is v_reset where R[t] = 1, and H[t] = G[t]

    Without `reset_delay`, D = S[t] − R[t] and V[t] = H[t] − D·v_threshold for the soft reset, H[t] − D·(H[t] − v_reset)
    for the hard reset: the reset comes in the step of the spike.

    Source: Eshraghian et al., Training spiking neural networks using lessons from deep learning, Proceedings of the
    IEEE 111:1016, 2023 (snnTorch's `Leaky` and `RLeaky`).

    Parameters
    ----------
    beta : float, default 0.9
        Decay factor of the potential, 0 to 1.
    one_to_one : bool, default False
        Whether each neuron's last spike is added to its input.
    feedback : float, default 1.0
        Weight of the own spike (snnTorch's `V`).
    reset_delay : bool, default True
        Whether the reset comes one step after the spike.
    keeps_input : bool, default False
        Whether a hard reset keeps the input of its step, as that of snnTorch's `Leaky`.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default True
        Whether H = v_threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default None
        Soft reset; 0 is snnTorch's reset to zero.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Atan(alpha=2.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "rleaky"

    def __init__(
        self,
        beta: float = 0.9,
        one_to_one: bool = False,
        feedback: float = 1.0,
        reset_delay: bool = True,
        keeps_input: bool = False,
        *,
        v_threshold: float = 1.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = None,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.beta = beta
        self.one_to_one = one_to_one
        self.feedback = feedback
        self.reset_delay = reset_delay
        self.keeps_input = keeps_input
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class RSynapticCell(Neuron):
    """SnnTorch's second-order leaky integrate-and-fire neuron.

    In Rust all but `alpha` are fields of `neuron`, a `RLeakyCell`. In files they are on the same level.

    I[t] = α·I[t−1] + X[t] + feedback·S[t−1] (the last term with `one_to_one`)

    G[t] = β·V[t−1] + I[t]; H[t], S[t] and V[t] follow from G[t] as in `rleaky`. The current is not reset.

    Source: Eshraghian et al., Training spiking neural networks using lessons from deep learning, Proceedings of the
    IEEE 111:1016, 2023 (snnTorch's `Synaptic` and `RSynaptic`).

    Parameters
    ----------
    alpha : float, default 0.9
        Decay factor of the current, 0 to 1.
    beta : float, default 0.9
        Decay factor of the potential, 0 to 1.
    one_to_one : bool, default False
        Whether each neuron's last spike is added to its input.
    feedback : float, default 1.0
        Weight of the own spike (snnTorch's `V`).
    reset_delay : bool, default True
        Whether the reset comes one step after the spike.
    keeps_input : bool, default False
        See `spikelet.neuron`.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default True
        Whether H = v_threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default None
        Soft reset; 0 is snnTorch's reset to zero.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Atan(alpha=2.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "rsynaptic"

    def __init__(
        self,
        alpha: float = 0.9,
        beta: float = 0.9,
        one_to_one: bool = False,
        feedback: float = 1.0,
        reset_delay: bool = True,
        keeps_input: bool = False,
        *,
        v_threshold: float = 1.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = None,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.one_to_one = one_to_one
        self.feedback = feedback
        self.reset_delay = reset_delay
        self.keeps_input = keeps_input
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class NorseLif(Neuron):
    """Norse's leaky integrate-and-fire neuron.

    J = I[t−1] + X[t], I[t] = J − dt·tau_syn_inv·J: the membrane is charged by the current before it decays

    H[t] = V[t−1] + dt·tau_mem_inv·((v_leak − V[t−1]) + J)

    S[t] = Θ(H[t] − v_threshold), which is 0 at the threshold; hard reset

    Source: Pehle & Pedersen, Norse: a deep learning library for spiking neural networks, 2021 (`lif_step`).

    Parameters
    ----------
    dt : float, default 0.001
        Length of a step, > 0, in s.
    tau_mem_inv : float, default 100.0
        Inverse membrane time constant, > 0, in 1/s.
    tau_syn_inv : float, default 200.0
        Inverse time constant of the current, > 0, in 1/s.
    v_leak : float, default 0.0
        Resting potential.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default True
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `FastSigmoid(slope=100.0)`.
    reset_grad : str, default "detach"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "norse_lif"

    def __init__(
        self,
        dt: float = 0.001,
        tau_mem_inv: float = 100.0,
        tau_syn_inv: float = 200.0,
        v_leak: float = 0.0,
        *,
        v_threshold: float = 1.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "detach",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.dt = dt
        self.tau_mem_inv = tau_mem_inv
        self.tau_syn_inv = tau_syn_inv
        self.v_leak = v_leak
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class LeakyIntegrator(Neuron):
    """Leaky integrator with an exact decay.

    A trained decay factor for each class is clamped (`Trainable::clamp`), or has a time constant as its parameter
    (`Trainable::decay`).

    V[t] = α·V[t−1] + (1 − α)·X[t]; the output is V, or one value for all time steps.

    Source: the output layers of Bittar & Garner, Frontiers in Neuroscience 16:865897, 2022 (sparch), of Baronig et al.,
    Nature Communications 16:5776, 2025, and of Yin, Corradi & Bohté, Nature Machine Intelligence 3:905, 2021.

    Parameters
    ----------
    alpha : float, default 0.9355069850316178
        Decay factor, 0 to 1; e^(−1/τ) of a time constant τ in steps.
    readout : float | None, default None
        Last, max, max_abs, mean, sum or softmax_sum over time; none: every step is returned.
    random_start : bool, default False
        Whether V starts from random values on [0, 1).
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "leaky_integrator"

    def __init__(
        self,
        alpha: float = 0.9355069850316178,
        readout: float | None = None,
        random_start: bool = False,
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.alpha = alpha
        self.readout = readout
        self.random_start = random_start
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class NirI(Neuron):
    """NIR's integrator, which never fires.

    V starts at 0.

    dV/dt = r·X, with a step of one: V[t] = V[t−1] + r·X[t]; the output is V.

    Source: Pedersen et al., Neuromorphic intermediate representation: a unified instruction set for interoperable
    brain-inspired computing, Nature Communications 15:8122, 2024.

    Parameters
    ----------
    r : float, default 1.0
        Resistance: the factor of X; that of NIR, times the length of a step, in 1/steps.
    readout : float | None, default None
        Last, max, max_abs or mean over time; none: every step is returned.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default False
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "nir_i"

    def __init__(
        self,
        r: float = 1.0,
        readout: float | None = None,
        *,
        v_threshold: float = 1.0,
        strict: bool = False,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.r = r
        self.readout = readout
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class NirIf(Neuron):
    """NIR's integrate-and-fire neuron.

    V starts at 0. Without `v_reset`, v_threshold is subtracted.

    dV/dt = r·X, with a step of one: H[t] = V[t−1] + r·X[t]

    S[t] = 1 where H[t] > v_threshold; V[t] = v_reset there

    Source: Pedersen et al., Neuromorphic intermediate representation: a unified instruction set for interoperable
    brain-inspired computing, Nature Communications 15:8122, 2024.

    Parameters
    ----------
    r : float, default 1.0
        Resistance: the factor of X; that of NIR, times the length of a step, in 1/steps.
    reset_delay : bool, default False
        Whether the reset comes one step after the spike: `H[t]` is reset where `S[t−1]` = 1, and `V[t]` = `H[t]`.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default True
        Whether H = v_threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "nir_if"

    def __init__(
        self,
        r: float = 1.0,
        reset_delay: bool = False,
        *,
        v_threshold: float = 1.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.r = r
        self.reset_delay = reset_delay
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class NirLi(Neuron):
    """NIR's leaky integrator, which never fires.

    In Rust the constants are fields of `neuron`, a `NirLif`, whose threshold and reset are unused. In files they are on
    the same level as the others. V starts at 0.

    τ dV/dt = (v_leak − V) + r·X, discretized: V[t] = V[t−1] + a·((v_leak − V[t−1]) + r·X[t]), a = 1/τ or 1 − e^(−1/τ);
    the output is V.

    Source: Pedersen et al., Neuromorphic intermediate representation: a unified instruction set for interoperable
    brain-inspired computing, Nature Communications 15:8122, 2024.

    Parameters
    ----------
    tau : float, default 2.0
        Membrane time constant, > 0, in steps.
    r : float, default 1.0
        Resistance: the factor of X.
    v_leak : float, default 0.0
        Potential without input.
    discretization : str, default "euler_seq"
        Euler, euler_seq, exact or exact_seq.
    readout : float | None, default None
        Last, max, max_abs or mean over time; none: every step is returned.
    reset_delay : bool, default False
        See `spikelet.neuron`.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default True
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "nir_li"

    def __init__(
        self,
        tau: float = 2.0,
        r: float = 1.0,
        v_leak: float = 0.0,
        discretization: str = "euler_seq",
        readout: float | None = None,
        reset_delay: bool = False,
        *,
        v_threshold: float = 1.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.tau = tau
        self.r = r
        self.v_leak = v_leak
        self.discretization = discretization
        self.readout = readout
        self.reset_delay = reset_delay
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class NirLif(Neuron):
    """NIR's leaky integrate-and-fire neuron.

    V starts at 0. Without `v_reset`, v_threshold is subtracted.

    τ dV/dt = (v_leak − V) + r·X, discretized: H[t] = V[t−1] + a·((v_leak − V[t−1]) + r·X[t]), a = 1/τ or 1 − e^(−1/τ)

    S[t] = 1 where H[t] > v_threshold; V[t] = v_reset there

    Source: Pedersen et al., Neuromorphic intermediate representation: a unified instruction set for interoperable
    brain-inspired computing, Nature Communications 15:8122, 2024.

    Parameters
    ----------
    tau : float, default 2.0
        Membrane time constant, > 0, in steps.
    r : float, default 1.0
        Resistance: the factor of X.
    v_leak : float, default 0.0
        Potential without input.
    discretization : str, default "euler_seq"
        Euler, euler_seq, exact or exact_seq.
    reset_delay : bool, default False
        Whether the reset comes one step after the spike: `H[t]` is reset where `S[t−1]` = 1, and `V[t]` = `H[t]`.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default True
        Whether H = v_threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "nir_lif"

    def __init__(
        self,
        tau: float = 2.0,
        r: float = 1.0,
        v_leak: float = 0.0,
        discretization: str = "euler_seq",
        reset_delay: bool = False,
        *,
        v_threshold: float = 1.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.tau = tau
        self.r = r
        self.v_leak = v_leak
        self.discretization = discretization
        self.reset_delay = reset_delay
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class NirCubaLi(Neuron):
    """NIR's leaky integrator with a current that decays too, which never fires.

    In Rust the constants are fields of `neuron`, a `NirCubaLif`, whose threshold and reset are unused. In files they
    are on the same level as the others. V and I start at 0.

    τ_syn dI/dt = −I + w_in·X, τ_mem dV/dt = (v_leak − V) + r·I, discretized as those of `nir_cuba_lif`; the output is
    V.

    Source: Pedersen et al., Neuromorphic intermediate representation: a unified instruction set for interoperable
    brain-inspired computing, Nature Communications 15:8122, 2024.

    Parameters
    ----------
    tau_syn : float, default 2.0
        Time constant of the current, > 0, in steps.
    tau_mem : float, default 4.0
        Membrane time constant, > 0, in steps.
    r : float, default 1.0
        Resistance: the factor of the current.
    v_leak : float, default 0.0
        Potential without current.
    w_in : float, default 1.0
        The factor of X.
    discretization : str, default "euler_seq"
        Euler, euler_seq, exact or exact_seq.
    readout : float | None, default None
        Last, max, max_abs or mean over time; none: every step is returned.
    reset_delay : bool, default False
        See `spikelet.neuron`.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default True
        Whether a potential that equals the threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "nir_cuba_li"

    def __init__(
        self,
        tau_syn: float = 2.0,
        tau_mem: float = 4.0,
        r: float = 1.0,
        v_leak: float = 0.0,
        w_in: float = 1.0,
        discretization: str = "euler_seq",
        readout: float | None = None,
        reset_delay: bool = False,
        *,
        v_threshold: float = 1.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.tau_syn = tau_syn
        self.tau_mem = tau_mem
        self.r = r
        self.v_leak = v_leak
        self.w_in = w_in
        self.discretization = discretization
        self.readout = readout
        self.reset_delay = reset_delay
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class NirCubaLif(Neuron):
    """NIR's leaky integrate-and-fire neuron with a current that decays too.

    V and I start at 0. Without `v_reset`, v_threshold is subtracted.

    τ_syn dI/dt = −I + w_in·X, τ_mem dV/dt = (v_leak − V) + r·I, discretized:

    I[t] = I[t−1] + a_syn·(w_in·X[t] − I[t−1]), H[t] = V[t−1] + a_mem·((v_leak − V[t−1]) + r·I), a = 1/τ or 1 −
    e^(−1/τ), with I = I[t−1] (euler) or I[t] (euler_seq, exact_seq); exact solves both equations jointly.

    S[t] = 1 where H[t] > v_threshold; V[t] = v_reset there

    Source: Pedersen et al., Neuromorphic intermediate representation: a unified instruction set for interoperable
    brain-inspired computing, Nature Communications 15:8122, 2024.

    Parameters
    ----------
    tau_syn : float, default 2.0
        Time constant of the current, > 0, in steps.
    tau_mem : float, default 4.0
        Membrane time constant, > 0, in steps.
    r : float, default 1.0
        Resistance: the factor of the current.
    v_leak : float, default 0.0
        Potential without current.
    w_in : float, default 1.0
        The factor of X.
    discretization : str, default "euler_seq"
        Euler, euler_seq, exact or exact_seq.
    reset_delay : bool, default False
        Whether the reset comes one step after the spike: `H[t]` is reset where `S[t−1]` = 1, and `V[t]` = `H[t]`.
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default True
        Whether H = v_threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "nir_cuba_lif"

    def __init__(
        self,
        tau_syn: float = 2.0,
        tau_mem: float = 4.0,
        r: float = 1.0,
        v_leak: float = 0.0,
        w_in: float = 1.0,
        discretization: str = "euler_seq",
        reset_delay: bool = False,
        *,
        v_threshold: float = 1.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.tau_syn = tau_syn
        self.tau_mem = tau_mem
        self.r = r
        self.v_leak = v_leak
        self.w_in = w_in
        self.discretization = discretization
        self.reset_delay = reset_delay
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable


class Heaviside(Neuron):
    """A neuron without a state, which fires where its input exceeds the threshold.

    H[t] = X[t], S[t] = 1 where H[t] > v_threshold

    Source: McCulloch & Pitts, A logical calculus of the ideas immanent in nervous activity, Bulletin of Mathematical
    Biophysics 5:115, 1943.

    Parameters
    ----------
    v_threshold : float, default 1.0
        The neuron fires if its potential reaches it.
    strict : bool, default True
        Whether X = v_threshold causes no spike.
    fire_on : str, default "charged"
        The potential that is compared with the threshold: `"charged"`, or `"previous"`, that before the step.
    resets : bool, default True
        Whether the potential is reset.
    v_reset : float | None, default 0.0
        The potential after a spike; `None` is the soft reset, which subtracts the threshold.
    surrogate : SurrogateLike | None, default None
        The surrogate gradient; by default `Sigmoid(alpha=4.0)`.
    reset_grad : str, default "surrogate"
        The gradient of the reset: `"surrogate"`, `"detach"` or `"soft"`.
    spiking : bool, default True
        Whether the output is spikes; else it is the primitive of the surrogate.
    trainable : Mapping[str, Any] | Sequence[str] | None, default None
        The constants that are trained: their names, or a table of names and settings such as `{"tau": "channel"}`.
    """

    kind = "heaviside"

    def __init__(
        self,
        *,
        v_threshold: float = 1.0,
        strict: bool = True,
        fire_on: str = "charged",
        resets: bool = True,
        v_reset: float | None = 0.0,
        surrogate: SurrogateLike | None = None,
        reset_grad: str = "surrogate",
        spiking: bool = True,
        trainable: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        self.v_threshold = v_threshold
        self.strict = strict
        self.fire_on = fire_on
        self.resets = resets
        self.v_reset = v_reset
        self.surrogate = surrogate
        self.reset_grad = reset_grad
        self.spiking = spiking
        self.trainable = trainable
