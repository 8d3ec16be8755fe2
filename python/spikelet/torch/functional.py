"""All neurons of the library as functions of their states and parameters.

Written by python/generator from the parts of the engine; change that program instead of this file.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ._layer import ResetGrad, definition_of, run
from .surrogate import Surrogate

__all__ = [
    "adex",
    "adlif",
    "alif",
    "alpha",
    "brf",
    "clif",
    "csilif",
    "cuba_lif",
    "decay_lif",
    "ef_adlif",
    "eif",
    "eprop_alif",
    "half_threshold_if",
    "heaviside",
    "if_",
    "ilif",
    "izhikevich",
    "klif",
    "leaky_integrator",
    "liaf",
    "lif",
    "nir_cuba_li",
    "nir_cuba_lif",
    "nir_i",
    "nir_if",
    "nir_li",
    "nir_lif",
    "non_spiking_if",
    "non_spiking_lif",
    "norse_lif",
    "ottt_lif",
    "plif",
    "qif",
    "raf",
    "refractory_lif",
    "rleaky",
    "rsynaptic",
    "se_adlif",
    "silif",
    "sltt_lif",
    "soft_pulse_if",
    "soft_pulse_lif",
    "sparch_lif",
    "synaptic",
    "ternary_if",
    "ternary_lif",
    "yin_alif",
]


def if_(
    x: Tensor,
    v: Tensor | None = None,
    *,
    v_threshold: float = 1.0,
    v_reset: float | None = 0.0,
    strict: bool = False,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "surrogate",
    time_steps: int = 0,
) -> tuple[Tensor, Tensor]:
    """Integrate-and-fire: see `spikelet.torch.If`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "if", ("v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor] = run(definition, x, (v,), (), time_steps)
    return made


def lif(
    x: Tensor,
    v: Tensor | None = None,
    *,
    tau: float = 2.0,
    decay_input: bool = True,
    v_threshold: float = 1.0,
    v_reset: float | None = 0.0,
    strict: bool = False,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "surrogate",
    time_steps: int = 0,
) -> tuple[Tensor, Tensor]:
    """Leaky integrate-and-fire: see `spikelet.torch.Lif`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "lif", ("tau", "decay_input", "v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (tau, decay_input, v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor] = run(definition, x, (v,), (), time_steps)
    return made


def plif(
    x: Tensor,
    v: Tensor | None = None,
    *,
    w: Tensor,
    init_tau: float = 2.0,
    decay_input: bool = True,
    granularity: str = "layer",
    v_threshold: float = 1.0,
    v_reset: float | None = 0.0,
    strict: bool = False,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "surrogate",
    time_steps: int = 0,
) -> tuple[Tensor, Tensor]:
    """Leaky integrate-and-fire with a trainable time constant: see `spikelet.torch.Plif`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
    w : Tensor
        A parameter.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "plif", ("init_tau", "decay_input", "granularity", "v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (init_tau, decay_input, granularity, v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor] = run(definition, x, (v,), (w,), time_steps)
    return made


def qif(
    x: Tensor,
    v: Tensor | None = None,
    *,
    tau: float = 2.0,
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
    time_steps: int = 0,
) -> tuple[Tensor, Tensor]:
    """Quadratic integrate-and-fire: see `spikelet.torch.Qif`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "qif", ("tau", "v_c", "a0", "v_rest", "v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (tau, v_c, a0, v_rest, v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor] = run(definition, x, (v,), (), time_steps)
    return made


def eif(
    x: Tensor,
    v: Tensor | None = None,
    *,
    tau: float = 2.0,
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
    time_steps: int = 0,
) -> tuple[Tensor, Tensor]:
    """Exponential integrate-and-fire: see `spikelet.torch.Eif`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "eif", ("tau", "delta_t", "theta_rh", "v_rest", "v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (tau, delta_t, theta_rh, v_rest, v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor] = run(definition, x, (v,), (), time_steps)
    return made


def izhikevich(
    x: Tensor,
    v: Tensor | None = None,
    w: Tensor | None = None,
    *,
    tau: float = 2.0,
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
    time_steps: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Quadratic integrate-and-fire with an adaptation current: see `spikelet.torch.Izhikevich`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
    w : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    w : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "izhikevich", ("tau", "v_c", "a0", "v_rest", "w_rest", "tau_w", "a", "b", "v_threshold", "v_reset",
        "strict", "fire_on", "resets"),
        (tau, v_c, a0, v_rest, w_rest, tau_w, a, b, v_threshold, v_reset, strict, fire_on, resets), surrogate,
        reset_grad,
    )
    made: tuple[Tensor, Tensor, Tensor] = run(definition, x, (v, w), (), time_steps)
    return made


def klif(
    x: Tensor,
    v: Tensor | None = None,
    *,
    k: Tensor,
    tau: float = 2.0,
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
    time_steps: int = 0,
) -> tuple[Tensor, Tensor]:
    """Leaky integrate-and-fire with a trainable scale of the potential: see `spikelet.torch.Klif`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
    k : Tensor
        A parameter.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "klif", ("tau", "decay_input", "scale_reset", "granularity", "v_threshold", "v_reset", "strict", "fire_on",
        "resets"),
        (tau, decay_input, scale_reset, granularity, v_threshold, v_reset, strict, fire_on, resets), surrogate,
        reset_grad,
    )
    made: tuple[Tensor, Tensor] = run(definition, x, (v,), (k,), time_steps)
    return made


def liaf(
    x: Tensor,
    v: Tensor | None = None,
    *,
    tau: float = 2.0,
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
    time_steps: int = 0,
) -> tuple[Tensor, Tensor]:
    """Leaky integrate-and-fire with real outputs: see `spikelet.torch.Liaf`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "liaf", ("tau", "decay_input", "act", "threshold_related", "v_threshold", "v_reset", "strict", "fire_on",
        "resets"),
        (tau, decay_input, act, threshold_related, v_threshold, v_reset, strict, fire_on, resets), surrogate,
        reset_grad,
    )
    made: tuple[Tensor, Tensor] = run(definition, x, (v,), (), time_steps)
    return made


def cuba_lif(
    x: Tensor,
    v: Tensor | None = None,
    i: Tensor | None = None,
    *,
    c_decay: float = 0.5,
    v_decay: float = 0.75,
    v_threshold: float = 0.5,
    v_reset: float | None = 0.0,
    strict: bool = False,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "surrogate",
    time_steps: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Leaky integrate-and-fire with a current that decays too: see `spikelet.torch.CubaLif`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
    i : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    i : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "cuba_lif", ("c_decay", "v_decay", "v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (c_decay, v_decay, v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor, Tensor] = run(definition, x, (v, i), (), time_steps)
    return made


def ilif(
    x: Tensor,
    v: Tensor | None = None,
    *,
    tau: float = 1.3333333333333333,
    v_threshold: float = 1.0,
    v_reset: float | None = None,
    strict: bool = False,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "surrogate",
    time_steps: int = 0,
) -> tuple[Tensor, Tensor]:
    """Leaky integrate-and-fire with integer spike counts: see `spikelet.torch.Ilif`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "ilif", ("tau", "v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (tau, v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor] = run(definition, x, (v,), (), time_steps)
    return made


def clif(
    x: Tensor,
    v: Tensor | None = None,
    m: Tensor | None = None,
    *,
    tau: float = 2.0,
    v_threshold: float = 1.0,
    v_reset: float | None = None,
    strict: bool = False,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "surrogate",
    time_steps: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Leaky integrate-and-fire with a complementary potential for gradients: see `spikelet.torch.Clif`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
    m : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    m : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "clif", ("tau", "v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (tau, v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor, Tensor] = run(definition, x, (v, m), (), time_steps)
    return made


def raf(
    x: Tensor,
    v: Tensor | None = None,
    u: Tensor | None = None,
    *,
    b: float = -0.2,
    omega: float = 1.0,
    dt: float = 1.0,
    v_threshold: float = 1.0,
    v_reset: float | None = 0.0,
    strict: bool = False,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "surrogate",
    time_steps: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Resonate-and-fire: see `spikelet.torch.Raf`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
    u : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    u : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "raf", ("b", "omega", "dt", "v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (b, omega, dt, v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor, Tensor] = run(definition, x, (v, u), (), time_steps)
    return made


def half_threshold_if(
    x: Tensor,
    v: Tensor | None = None,
    *,
    v_threshold: float = 1.0,
    v_reset: float | None = None,
    strict: bool = False,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "surrogate",
    time_steps: int = 0,
) -> tuple[Tensor, Tensor]:
    """Integrate-and-fire that starts at half its threshold, for converted networks: see `spikelet.torch.HalfThresholdIf`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "half_threshold_if", ("v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor] = run(definition, x, (v,), (), time_steps)
    return made


def sltt_lif(
    x: Tensor,
    v: Tensor | None = None,
    *,
    tau: float = 2.0,
    decay_input: bool = True,
    v_threshold: float = 1.0,
    v_reset: float | None = 0.0,
    strict: bool = False,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "detach",
    time_steps: int = 0,
) -> tuple[Tensor, Tensor]:
    """Leaky integrate-and-fire without gradients through time: see `spikelet.torch.SlttLif`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "sltt_lif", ("tau", "decay_input", "v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (tau, decay_input, v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor] = run(definition, x, (v,), (), time_steps)
    return made


def ottt_lif(
    x: Tensor,
    v: Tensor | None = None,
    trace: Tensor | None = None,
    *,
    tau: float = 2.0,
    decay_input: bool = False,
    v_threshold: float = 1.0,
    v_reset: float | None = None,
    strict: bool = False,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "detach",
    time_steps: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Leaky integrate-and-fire without gradients through time, with a trace of its spikes: see `spikelet.torch.OtttLif`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
    trace : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    trace : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "ottt_lif", ("tau", "decay_input", "v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (tau, decay_input, v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor, Tensor] = run(definition, x, (v, trace), (), time_steps)
    return made


def ternary_if(
    x: Tensor,
    v: Tensor | None = None,
    *,
    v_threshold: float = 1.0,
    v_reset: float | None = 0.0,
    strict: bool = False,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "surrogate",
    time_steps: int = 0,
) -> tuple[Tensor, Tensor]:
    """Integrate-and-fire with positive and negative spikes: see `spikelet.torch.TernaryIf`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "ternary_if", ("v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor] = run(definition, x, (v,), (), time_steps)
    return made


def ternary_lif(
    x: Tensor,
    v: Tensor | None = None,
    *,
    tau: float = 2.0,
    decay_input: bool = True,
    v_threshold: float = 1.0,
    v_reset: float | None = 0.0,
    strict: bool = False,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "surrogate",
    time_steps: int = 0,
) -> tuple[Tensor, Tensor]:
    """Leaky integrate-and-fire with positive and negative spikes: see `spikelet.torch.TernaryLif`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "ternary_lif", ("tau", "decay_input", "v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (tau, decay_input, v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor] = run(definition, x, (v,), (), time_steps)
    return made


def non_spiking_if(
    x: Tensor,
    v: Tensor | None = None,
    *,
    readout: str | None = None,
    v_threshold: float = 1.0,
    v_reset: float | None = 0.0,
    strict: bool = False,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "surrogate",
    time_steps: int = 0,
) -> tuple[Tensor, Tensor]:
    """Integrator that never fires: for the readout of a membrane: see `spikelet.torch.NonSpikingIf`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "non_spiking_if", ("readout", "v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (readout, v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor] = run(definition, x, (v,), (), time_steps)
    return made


def non_spiking_lif(
    x: Tensor,
    v: Tensor | None = None,
    *,
    tau: float = 2.0,
    decay_input: bool = True,
    readout: str | None = None,
    v_threshold: float = 1.0,
    v_reset: float | None = 0.0,
    strict: bool = False,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "surrogate",
    time_steps: int = 0,
) -> tuple[Tensor, Tensor]:
    """Leaky integrator that never fires: for the readout of a membrane: see `spikelet.torch.NonSpikingLif`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "non_spiking_lif", ("tau", "decay_input", "readout", "v_threshold", "v_reset", "strict", "fire_on",
        "resets"),
        (tau, decay_input, readout, v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor] = run(definition, x, (v,), (), time_steps)
    return made


def alif(
    x: Tensor,
    v: Tensor | None = None,
    a: Tensor | None = None,
    *,
    tau: float = 20.0,
    tau_a: float = 200.0,
    beta: float = 1.8,
    v_threshold: float = 1.0,
    v_reset: float | None = None,
    strict: bool = False,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "surrogate",
    time_steps: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Leaky integrate-and-fire whose threshold rises with each spike: see `spikelet.torch.Alif`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
    a : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    a : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "alif", ("tau", "tau_a", "beta", "v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (tau, tau_a, beta, v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor, Tensor] = run(definition, x, (v, a), (), time_steps)
    return made


def adex(
    x: Tensor,
    v: Tensor | None = None,
    w: Tensor | None = None,
    *,
    tau: float = 9.37,
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
    time_steps: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Exponential integrate-and-fire with an adaptation current: see `spikelet.torch.Adex`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
    w : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    w : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "adex", ("tau", "delta_t", "theta_rh", "v_rest", "tau_w", "a", "b", "dt", "v_threshold", "v_reset",
        "strict", "fire_on", "resets"),
        (tau, delta_t, theta_rh, v_rest, tau_w, a, b, dt, v_threshold, v_reset, strict, fire_on, resets), surrogate,
        reset_grad,
    )
    made: tuple[Tensor, Tensor, Tensor] = run(definition, x, (v, w), (), time_steps)
    return made


def synaptic(
    x: Tensor,
    v: Tensor | None = None,
    syn: Tensor | None = None,
    fired: Tensor | None = None,
    *,
    alpha: float = 0.9,
    beta: float = 0.8,
    v_threshold: float = 1.0,
    v_reset: float | None = None,
    strict: bool = False,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "detach",
    time_steps: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Leaky integrate-and-fire with a synaptic current, as in snnTorch: see `spikelet.torch.Synaptic`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
    syn : Tensor [N, ...], optional
        The state before the first step; None at rest.
    fired : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    syn : Tensor [N, ...]
        The state after the last step.
    fired : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "synaptic", ("alpha", "beta", "v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (alpha, beta, v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor, Tensor, Tensor] = run(definition, x, (v, syn, fired), (), time_steps)
    return made


def alpha(
    x: Tensor,
    v: Tensor | None = None,
    exc: Tensor | None = None,
    inh: Tensor | None = None,
    fired: Tensor | None = None,
    *,
    alpha: float = 0.9,
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
    time_steps: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Alpha-function neuron: inputs cause potentials that rise and fall: see `spikelet.torch.Alpha`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
    exc : Tensor [N, ...], optional
        The state before the first step; None at rest.
    inh : Tensor [N, ...], optional
        The state before the first step; None at rest.
    fired : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    exc : Tensor [N, ...]
        The state after the last step.
    inh : Tensor [N, ...]
        The state after the last step.
    fired : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "alpha", ("alpha", "beta", "tau_alpha", "resets_currents", "v_threshold", "v_reset", "strict", "fire_on",
        "resets"),
        (alpha, beta, tau_alpha, resets_currents, v_threshold, v_reset, strict, fire_on, resets), surrogate,
        reset_grad,
    )
    made: tuple[Tensor, Tensor, Tensor, Tensor, Tensor] = run(definition, x, (v, exc, inh, fired), (), time_steps)
    return made


def brf(
    x: Tensor,
    v: Tensor | None = None,
    u: Tensor | None = None,
    q: Tensor | None = None,
    *,
    omega: float = 10.0,
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
    time_steps: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Balanced resonate-and-fire, with a refractory threshold in place of a reset: see `spikelet.torch.Brf`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
    u : Tensor [N, ...], optional
        The state before the first step; None at rest.
    q : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    u : Tensor [N, ...]
        The state after the last step.
    q : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "brf", ("omega", "b_offset", "gamma", "dt", "v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (omega, b_offset, gamma, dt, v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor, Tensor, Tensor] = run(definition, x, (v, u, q), (), time_steps)
    return made


def refractory_lif(
    x: Tensor,
    v: Tensor | None = None,
    silent: Tensor | None = None,
    *,
    decay_input: bool = True,
    refractory: int = 2,
    tau: float = 2.0,
    v_threshold: float = 1.0,
    v_reset: float | None = 0.0,
    strict: bool = False,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "surrogate",
    time_steps: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Leaky integrate-and-fire with an absolute refractory period: see `spikelet.torch.RefractoryLif`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
    silent : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    silent : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "refractory_lif", ("decay_input", "refractory", "tau", "v_threshold", "v_reset", "strict", "fire_on",
        "resets"),
        (decay_input, refractory, tau, v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor, Tensor] = run(definition, x, (v, silent), (), time_steps)
    return made


def soft_pulse_if(
    x: Tensor,
    v: Tensor | None = None,
    *,
    v_threshold: float = 1.0,
    v_reset: float | None = 0.0,
    strict: bool = False,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "soft",
    time_steps: int = 0,
) -> tuple[Tensor, Tensor]:
    """Integrate-and-fire of SpikingFlow's softbp, with the soft reset gradient: see `spikelet.torch.SoftPulseIf`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "soft_pulse_if", ("v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor] = run(definition, x, (v,), (), time_steps)
    return made


def soft_pulse_lif(
    x: Tensor,
    v: Tensor | None = None,
    *,
    decay_input: bool = True,
    tau: float = 100.0,
    v_threshold: float = 1.0,
    v_reset: float | None = 0.0,
    strict: bool = False,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "soft",
    time_steps: int = 0,
) -> tuple[Tensor, Tensor]:
    """Leaky integrate-and-fire of SpikingFlow's softbp, with the soft reset gradient: see `spikelet.torch.SoftPulseLif`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "soft_pulse_lif", ("decay_input", "tau", "v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (decay_input, tau, v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor] = run(definition, x, (v,), (), time_steps)
    return made


def sparch_lif(
    x: Tensor,
    v: Tensor | None = None,
    fired: Tensor | None = None,
    *,
    alpha: float = 0.9,
    v_threshold: float = 1.0,
    v_reset: float | None = 0.0,
    strict: bool = True,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "surrogate",
    time_steps: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Leaky integrate-and-fire of sparch, with a late reset and a trained decay for each neuron: see `spikelet.torch.SparchLif`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
    fired : Tensor [N, ...], optional
        The state before the first step; None at rest.
    alpha : float
        Decay factor of the potential, 0 to 1; trained: uniform on e^(−1/5) … e^(−1/25) before training, clamped to
        these.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    fired : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "sparch_lif", ("alpha", "random_start", "v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (alpha, False, v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor, Tensor] = run(definition, x, (v, fired), (), time_steps)
    return made


def adlif(
    x: Tensor,
    v: Tensor | None = None,
    w: Tensor | None = None,
    fired: Tensor | None = None,
    *,
    alpha: float = 0.9,
    beta: float = 0.98,
    a: float = 0.0,
    b: float = 1.0,
    v_threshold: float = 1.0,
    v_reset: float | None = 0.0,
    strict: bool = True,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "surrogate",
    time_steps: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Adaptive leaky integrate-and-fire of sparch, with trained constants for each neuron: see `spikelet.torch.AdLifCell`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
    w : Tensor [N, ...], optional
        The state before the first step; None at rest.
    fired : Tensor [N, ...], optional
        The state before the first step; None at rest.
    alpha : float
        Decay factor of the potential, 0 to 1; trained: e^(−1/5) … e^(−1/25).
    beta : float
        Decay factor of the adaptation, 0 to 1; trained: e^(−1/30) … e^(−1/120).
    a : float
        Coupling of the adaptation to the potential; trained: −1 … 1.
    b : float
        Coupling of the adaptation to the spikes; trained: 0 … 2.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    w : Tensor [N, ...]
        The state after the last step.
    fired : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "adlif", ("alpha", "beta", "a", "b", "random_start", "v_threshold", "v_reset", "strict", "fire_on",
        "resets"),
        (alpha, beta, a, b, False, v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor, Tensor, Tensor] = run(definition, x, (v, w, fired), (), time_steps)
    return made


def silif(
    x: Tensor,
    v: Tensor | None = None,
    w: Tensor | None = None,
    fired: Tensor | None = None,
    *,
    alpha: float = 3.912023005428146,
    beta: float = 1.6094379124341003,
    dt: float = -5.521460917862246,
    a: float = 0.5,
    b: float = 1.0,
    v_threshold: float = 1.0,
    v_reset: float | None = 0.0,
    strict: bool = True,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "surrogate",
    time_steps: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Adaptive leaky integrate-and-fire in the parametrization of state space models: see `spikelet.torch.SiLifCell`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
    w : Tensor [N, ...], optional
        The state before the first step; None at rest.
    fired : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    w : Tensor [N, ...]
        The state after the last step.
    fired : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "silif", ("alpha", "beta", "dt", "a", "b", "random_start", "v_threshold", "v_reset", "strict", "fire_on",
        "resets"),
        (alpha, beta, dt, a, b, False, v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor, Tensor, Tensor] = run(definition, x, (v, w, fired), (), time_steps)
    return made


def csilif(
    x: Tensor,
    v: Tensor | None = None,
    i: Tensor | None = None,
    fired: Tensor | None = None,
    *,
    log_log_alpha: float = -0.6931471805599453,
    alpha_img: float = 3.141592653589793,
    log_dt: float = -2.659260036932778,
    b: float = 0.5,
    v_threshold: float = 1.0,
    v_reset: float | None = 0.0,
    strict: bool = True,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "surrogate",
    time_steps: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Complex potential that turns and decays, as in diagonal state space models: see `spikelet.torch.CSiLifCell`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
    i : Tensor [N, ...], optional
        The state before the first step; None at rest.
    fired : Tensor [N, ...], optional
        The state before the first step; None at rest.
    log_log_alpha : float
        Logarithm of the decay rate; trained.
    alpha_img : float
        Angular frequency; trained.
    log_dt : float
        Logarithm of the time step; trained: uniform on ln 0.01 … ln 0.5 before training.
    b : float
        Scale of the input; trained: uniform on 0 … 1 before training.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    i : Tensor [N, ...]
        The state after the last step.
    fired : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "csilif", ("log_log_alpha", "alpha_img", "log_dt", "b", "random_start", "v_threshold", "v_reset", "strict",
        "fire_on", "resets"),
        (log_log_alpha, alpha_img, log_dt, b, False, v_threshold, v_reset, strict, fire_on, resets), surrogate,
        reset_grad,
    )
    made: tuple[Tensor, Tensor, Tensor, Tensor] = run(definition, x, (v, i, fired), (), time_steps)
    return made


def decay_lif(
    x: Tensor,
    v: Tensor | None = None,
    *,
    tau_u: float = 15.0,
    v_threshold: float = 1.0,
    v_reset: float | None = 0.0,
    strict: bool = True,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "detach",
    time_steps: int = 0,
) -> tuple[Tensor, Tensor]:
    """Leaky integrate-and-fire with an exact decay and trained time constants between limits: see `spikelet.torch.DecayLif`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "decay_lif", ("tau_u", "v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (tau_u, v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor] = run(definition, x, (v,), (), time_steps)
    return made


def se_adlif(
    x: Tensor,
    v: Tensor | None = None,
    w: Tensor | None = None,
    *,
    tau_u: float = 15.0,
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
    time_steps: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Adaptive leaky integrate-and-fire in the symplectic Euler discretization: see `spikelet.torch.SeAdLifCell`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
    w : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    w : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "se_adlif", ("tau_u", "tau_w", "a", "b", "q", "v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (tau_u, tau_w, a, b, q, v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor, Tensor] = run(definition, x, (v, w), (), time_steps)
    return made


def ef_adlif(
    x: Tensor,
    v: Tensor | None = None,
    w: Tensor | None = None,
    fired: Tensor | None = None,
    *,
    tau_u: float = 15.0,
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
    time_steps: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Adaptive leaky integrate-and-fire in the Euler forward discretization: see `spikelet.torch.EfAdLifCell`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
    w : Tensor [N, ...], optional
        The state before the first step; None at rest.
    fired : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    w : Tensor [N, ...]
        The state after the last step.
    fired : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "ef_adlif", ("tau_u", "tau_w", "a", "b", "q", "v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (tau_u, tau_w, a, b, q, v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor, Tensor, Tensor] = run(definition, x, (v, w, fired), (), time_steps)
    return made


def eprop_alif(
    x: Tensor,
    v: Tensor | None = None,
    b: Tensor | None = None,
    fired: Tensor | None = None,
    silent: Tensor | None = None,
    *,
    beta: float = 1.8,
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
    time_steps: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Adaptive leaky integrate-and-fire of e-prop, with a late reset and a refractory period: see `spikelet.torch.EpropAlif`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
    b : Tensor [N, ...], optional
        The state before the first step; None at rest.
    fired : Tensor [N, ...], optional
        The state before the first step; None at rest.
    silent : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    b : Tensor [N, ...]
        The state after the last step.
    fired : Tensor [N, ...]
        The state after the last step.
    silent : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "eprop_alif", ("beta", "dt", "refractory", "tau_a", "tau_m", "v_threshold", "v_reset", "strict", "fire_on",
        "resets"),
        (beta, dt, refractory, tau_a, tau_m, v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor, Tensor, Tensor, Tensor] = run(definition, x, (v, b, fired, silent), (), time_steps)
    return made


def yin_alif(
    x: Tensor,
    v: Tensor | None = None,
    a: Tensor | None = None,
    fired: Tensor | None = None,
    *,
    tau_m: float = 20.0,
    tau_adp: float = 150.0,
    beta: float = 1.8,
    r_m: float = 1.0,
    dt: float = 1.0,
    v_threshold: float = 0.01,
    v_reset: float | None = 0.0,
    strict: bool = True,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "surrogate",
    time_steps: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Adaptive leaky integrate-and-fire whose raised threshold is subtracted one step late: see `spikelet.torch.YinAlif`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
    a : Tensor [N, ...], optional
        The state before the first step; None at rest.
    fired : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    a : Tensor [N, ...]
        The state after the last step.
    fired : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "yin_alif", ("tau_m", "tau_adp", "beta", "r_m", "dt", "random_start", "v_threshold", "v_reset", "strict",
        "fire_on", "resets"),
        (tau_m, tau_adp, beta, r_m, dt, False, v_threshold, v_reset, strict, fire_on, resets), surrogate,
        reset_grad,
    )
    made: tuple[Tensor, Tensor, Tensor, Tensor] = run(definition, x, (v, a, fired), (), time_steps)
    return made


def rleaky(
    x: Tensor,
    v: Tensor | None = None,
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
    time_steps: int = 0,
) -> tuple[Tensor, Tensor]:
    """Leaky integrate-and-fire of snnTorch, with a late reset and feedback: see `spikelet.torch.RLeakyCell`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "rleaky", ("beta", "one_to_one", "feedback", "reset_delay", "keeps_input", "v_threshold", "v_reset",
        "strict", "fire_on", "resets"),
        (beta, one_to_one, feedback, reset_delay, keeps_input, v_threshold, v_reset, strict, fire_on, resets),
        surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor] = run(definition, x, (v,), (), time_steps)
    return made


def rsynaptic(
    x: Tensor,
    v: Tensor | None = None,
    syn: Tensor | None = None,
    *,
    alpha: float = 0.9,
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
    time_steps: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Leaky integrate-and-fire with a synaptic current of snnTorch, with a late reset and feedback: see `spikelet.torch.RSynapticCell`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
    syn : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    syn : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "rsynaptic", ("alpha", "beta", "one_to_one", "feedback", "reset_delay", "keeps_input", "v_threshold",
        "v_reset", "strict", "fire_on", "resets"),
        (alpha, beta, one_to_one, feedback, reset_delay, keeps_input, v_threshold, v_reset, strict, fire_on,
        resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor, Tensor] = run(definition, x, (v, syn), (), time_steps)
    return made


def norse_lif(
    x: Tensor,
    v: Tensor | None = None,
    i: Tensor | None = None,
    *,
    dt: float = 0.001,
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
    time_steps: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Leaky integrate-and-fire with a current, as in Norse: see `spikelet.torch.NorseLif`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
    i : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    i : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "norse_lif", ("dt", "tau_mem_inv", "tau_syn_inv", "v_leak", "v_threshold", "v_reset", "strict", "fire_on",
        "resets"),
        (dt, tau_mem_inv, tau_syn_inv, v_leak, v_threshold, v_reset, strict, fire_on, resets), surrogate,
        reset_grad,
    )
    made: tuple[Tensor, Tensor, Tensor] = run(definition, x, (v, i), (), time_steps)
    return made


def leaky_integrator(
    x: Tensor,
    v: Tensor | None = None,
    *,
    alpha: float = 0.9355069850316178,
    readout: str | None = None,
    v_threshold: float = 1.0,
    v_reset: float | None = 0.0,
    strict: bool = False,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "surrogate",
    time_steps: int = 0,
) -> tuple[Tensor, Tensor]:
    """Leaky integrator with an exact decay that never fires: for readouts: see `spikelet.torch.LeakyIntegrator`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
    alpha : float
        Decay factor, 0 to 1; e^(−1/τ) of a time constant τ in steps.
    readout : str | None
        Last, max, max_abs, mean, sum or softmax_sum over time; none: every step is returned.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "leaky_integrator", ("alpha", "readout", "random_start", "v_threshold", "v_reset", "strict", "fire_on",
        "resets"),
        (alpha, readout, False, v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor] = run(definition, x, (v,), (), time_steps)
    return made


def nir_i(
    x: Tensor,
    v: Tensor | None = None,
    *,
    r: float = 1.0,
    readout: str | None = None,
    v_threshold: float = 1.0,
    v_reset: float | None = 0.0,
    strict: bool = False,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "surrogate",
    time_steps: int = 0,
) -> tuple[Tensor, Tensor]:
    """Integrator of NIR, which never fires: see `spikelet.torch.NirI`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "nir_i", ("r", "readout", "v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (r, readout, v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor] = run(definition, x, (v,), (), time_steps)
    return made


def nir_if(
    x: Tensor,
    v: Tensor | None = None,
    *,
    r: float = 1.0,
    reset_delay: bool = False,
    v_threshold: float = 1.0,
    v_reset: float | None = 0.0,
    strict: bool = True,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "surrogate",
    time_steps: int = 0,
) -> tuple[Tensor, Tensor]:
    """Integrate-and-fire of NIR, with a strict threshold: see `spikelet.torch.NirIf`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "nir_if", ("r", "reset_delay", "v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (r, reset_delay, v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor] = run(definition, x, (v,), (), time_steps)
    return made


def nir_li(
    x: Tensor,
    v: Tensor | None = None,
    *,
    tau: float = 2.0,
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
    time_steps: int = 0,
) -> tuple[Tensor, Tensor]:
    """Leaky integrator of NIR, which never fires: see `spikelet.torch.NirLi`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "nir_li", ("tau", "r", "v_leak", "discretization", "readout", "reset_delay", "v_threshold", "v_reset",
        "strict", "fire_on", "resets"),
        (tau, r, v_leak, discretization, readout, reset_delay, v_threshold, v_reset, strict, fire_on, resets),
        surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor] = run(definition, x, (v,), (), time_steps)
    return made


def nir_lif(
    x: Tensor,
    v: Tensor | None = None,
    *,
    tau: float = 2.0,
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
    time_steps: int = 0,
) -> tuple[Tensor, Tensor]:
    """Leaky integrate-and-fire of NIR, with a strict threshold and a choice of discretizations: see `spikelet.torch.NirLif`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "nir_lif", ("tau", "r", "v_leak", "discretization", "reset_delay", "v_threshold", "v_reset", "strict",
        "fire_on", "resets"),
        (tau, r, v_leak, discretization, reset_delay, v_threshold, v_reset, strict, fire_on, resets), surrogate,
        reset_grad,
    )
    made: tuple[Tensor, Tensor] = run(definition, x, (v,), (), time_steps)
    return made


def nir_cuba_li(
    x: Tensor,
    v: Tensor | None = None,
    i: Tensor | None = None,
    *,
    tau_syn: float = 2.0,
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
    time_steps: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Leaky integrator of NIR with a current, which never fires: see `spikelet.torch.NirCubaLi`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
    i : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    i : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "nir_cuba_li", ("tau_syn", "tau_mem", "r", "v_leak", "w_in", "discretization", "readout", "reset_delay",
        "v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (tau_syn, tau_mem, r, v_leak, w_in, discretization, readout, reset_delay, v_threshold, v_reset, strict,
        fire_on, resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor, Tensor] = run(definition, x, (v, i), (), time_steps)
    return made


def nir_cuba_lif(
    x: Tensor,
    v: Tensor | None = None,
    i: Tensor | None = None,
    *,
    tau_syn: float = 2.0,
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
    time_steps: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Leaky integrate-and-fire of NIR with a current, with a strict threshold and a choice of discretizations: see `spikelet.torch.NirCubaLif`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
    v : Tensor [N, ...], optional
        The state before the first step; None at rest.
    i : Tensor [N, ...], optional
        The state before the first step; None at rest.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    v : Tensor [N, ...]
        The state after the last step.
    i : Tensor [N, ...]
        The state after the last step.
    """
    definition = definition_of(
        "nir_cuba_lif", ("tau_syn", "tau_mem", "r", "v_leak", "w_in", "discretization", "reset_delay",
        "v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (tau_syn, tau_mem, r, v_leak, w_in, discretization, reset_delay, v_threshold, v_reset, strict, fire_on,
        resets), surrogate, reset_grad,
    )
    made: tuple[Tensor, Tensor, Tensor] = run(definition, x, (v, i), (), time_steps)
    return made


def heaviside(
    x: Tensor,
    *,
    v_threshold: float = 1.0,
    v_reset: float | None = 0.0,
    strict: bool = True,
    fire_on: str = "charged",
    resets: bool = True,
    surrogate: Surrogate | None = None,
    reset_grad: ResetGrad = "surrogate",
    time_steps: int = 0,
) -> Tensor:
    """Threshold without a state: see `spikelet.torch.Heaviside`.

    Parameters
    ----------
    x : Tensor [T, N, ...]
        The input.
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
    time_steps : int
        Repeats an input of one step, `[1, N, ...]`, without a copy.

    Returns
    -------
    y : Tensor [T, N, ...]
        The output.
    """
    definition = definition_of(
        "heaviside", ("v_threshold", "v_reset", "strict", "fire_on", "resets"),
        (v_threshold, v_reset, strict, fire_on, resets), surrogate, reset_grad,
    )
    made: Tensor = run(definition, x, (), (), time_steps)
    return made
