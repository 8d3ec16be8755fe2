"""Surrogate gradients.

Written by python/generator from the parts of the engine; change that program instead of this file.
"""

from __future__ import annotations

from ._part import Surrogate

__all__ = [
    "Atan",
    "BilinearLeakyRelu",
    "Boxcar",
    "Circ",
    "DeterministicPass",
    "Erf",
    "FakeNumericalGradient",
    "FastSigmoid",
    "LeakyKRelu",
    "LeakySpikeOperator",
    "LogTailedRelu",
    "MultiGaussian",
    "MultiLevelSpikeCount",
    "NonzeroSignLogAbs",
    "PiecewiseExp",
    "PiecewiseLeakyRelu",
    "PiecewiseQuadratic",
    "PoissonPass",
    "QPseudoSpike",
    "Rect",
    "S2nn",
    "Sigmoid",
    "SignSwish",
    "Slayer",
    "SoftSign",
    "SparseFastSigmoid",
    "SpikeRateEscape",
    "SquarewaveFourierSeries",
    "SuperSpike",
]


class Atan(Surrogate):
    """Derivative of the arc tangent.

    g(x) = atan(π/2·αx)/π + ½, g′(x) = (α/2) / (1 + (π/2·αx)²)

    Source: Fang et al., Incorporating learnable membrane time constant to enhance learning of spiking neural networks,
    ICCV 2021.

    Parameters
    ----------
    alpha : float, default 2.0
        Steepness; larger is closer to the step.
    """

    kind = "atan"

    def __init__(
        self,
        alpha: float = 2.0,
    ) -> None:
        self.alpha = alpha


class BilinearLeakyRelu(Surrogate):
    """A steep slope around the threshold, a flat slope elsewhere.

    g′(x) = a if |x| ≤ c, else b; g(x) = ax + ½ if |x| ≤ c, else bx ± (a − b)c + ½ with the sign of x

    Source: SpikingFlow, `softbp.soft_pulse_function`. Its primitive goes through 0 at x = 0; here The offset of ½ makes
    g rise from 0 at −c to 1 at c with the defaults.

    Parameters
    ----------
    a : float, default 1.0
        ≤ c.
    b : float, default 0.01
        Slope elsewhere.
    c : float, default 0.5
        Half the width of the steep piece.
    """

    kind = "bilinear_leaky_relu"

    def __init__(
        self,
        a: float = 1.0,
        b: float = 0.01,
        c: float = 0.5,
    ) -> None:
        self.a = a
        self.b = b
        self.c = c


class Boxcar(Surrogate):
    """A rectangle of area 1 that includes its upper edge.

    g(x) = clamp(αx + ½, 0, 1), g′(x) = α if −½/α < x ≤ ½/α, else 0

    It differs from the rectangle at one point: the upper edge belongs to the box.

    Source: Bittar & Garner, A surrogate gradient spiking baseline for speech command recognition, Frontiers in
    Neuroscience 16:865897, 2022 (sparch).

    Parameters
    ----------
    alpha : float, default 1.0
        Height; its width is 1/α.
    """

    kind = "boxcar"

    def __init__(
        self,
        alpha: float = 1.0,
    ) -> None:
        self.alpha = alpha


class Circ(Surrogate):
    """Derivative of x/√(x² + α²), 1 at the threshold.

    g(x) = α·(1 + x/√(x² + α²)), g′(x) = α³ / (x² + α²)^(3/2)

    Source: Norse's `circ`, with its factor 2α: 1 at the threshold.

    Parameters
    ----------
    alpha : float, default 1.0
        Width.
    """

    kind = "circ"

    def __init__(
        self,
        alpha: float = 1.0,
    ) -> None:
        self.alpha = alpha


class DeterministicPass(Surrogate):
    """The gradient passes the step unchanged. It has no constants: `DeterministicPass {}`.

    g(x) = x, g′(x) = 1; forward the step.

    Source: Bengio et al., Estimating or propagating gradients through stochastic neurons for conditional computation,
    arXiv:1308.3432 (the straight-through estimator).
    """

    kind = "deterministic_pass"

    def __init__(self) -> None:
        pass


class Erf(Surrogate):
    """A Gaussian.

    g(x) = ½ erfc(−αx), g′(x) = α/√π · e^(−α²x²)

    Source: Esser et al., Backpropagation for energy-efficient neuromorphic computing, NIPS 2015; Wu et al., Frontiers
    in Neuroscience 12:331, 2018; Yin et al., Effective and efficient computation with multiple-timescale spiking
    recurrent neural networks, ICONS 2020.

    Parameters
    ----------
    alpha : float, default 2.0
        Steepness; larger is closer to the step.
    """

    kind = "erf"

    def __init__(
        self,
        alpha: float = 2.0,
    ) -> None:
        self.alpha = alpha


class FakeNumericalGradient(Surrogate):
    """1/|x|, at most α.

    g′(x) = min(sgn(x)/x, α), α at 0: the slope of the chord of sgn from 0 to x, at most α. There is no primitive.

    Source: SpikingJelly, `surrogate.FakeNumericalGradient`.

    Parameters
    ----------
    alpha : float, default 0.3
        Largest derivative.
    """

    kind = "fake_numerical_gradient"

    def __init__(
        self,
        alpha: float = 0.3,
    ) -> None:
        self.alpha = alpha


class FastSigmoid(Surrogate):
    """Derivative of a fast sigmoid, 1 at the threshold.

    g′(x) = 1 / (1 + s·|x|)². There is no primitive: the fast sigmoid x / (1 + s·|x|) is not a step from 0 to 1.

    Source: Zenke & Ganguli, SuperSpike: Supervised learning in multilayer spiking neural networks, Neural Computation
    2018; with the slope inside, snnTorch's `fast_sigmoid` (slope 25) and Norse's `super` (slope 100).

    Parameters
    ----------
    slope : float, default 25.0
        Steepness; larger is narrower.
    """

    kind = "fast_sigmoid"

    def __init__(
        self,
        slope: float = 25.0,
    ) -> None:
        self.slope = slope


class LeakyKRelu(Surrogate):
    """One slope above the threshold, another below.

    g′(x) = k if x ≥ 0, else leak; g(x) = x·g′(x)

    Source: SpikingJelly, `surrogate.LeakyKReLU`.

    Parameters
    ----------
    leak : float, default 0.0
        Slope below the threshold.
    k : float, default 1.0
        Slope above it.
    """

    kind = "leaky_k_relu"

    def __init__(
        self,
        leak: float = 0.0,
        k: float = 1.0,
    ) -> None:
        self.leak = leak
        self.k = k


class LeakySpikeOperator(Surrogate):
    """Slope 1 above the threshold, a small one at and below it.

    g′(x) = 1 if x > 0, else leak; g(x) = x·g′(x)

    Unlike that of `leaky_k_relu`, the slope at the threshold is the lower one: with leak = 0 the derivative is the
    spike of a strict threshold.

    Source: Kaiser et al., Synaptic plasticity dynamics for deep continuous local learning, Frontiers in Neuroscience
    14:424, 2020; snnTorch's `LSO` and `heaviside`.

    Parameters
    ----------
    leak : float, default 0.1
        Slope at and below the threshold.
    """

    kind = "leaky_spike_operator"

    def __init__(
        self,
        leak: float = 0.1,
    ) -> None:
        self.leak = leak


class LogTailedRelu(Surrogate):
    """ReLU whose slope decays above 1.

    | x | g′(x) | g(x) |
    |---|---|---|
    | x ≤ 0 | α | αx |
    | 0 < x ≤ 1 | 1 | x |
    | x > 1 | 1/x | ln x + 1 |

    Source: Cai et al., Deep learning with low precision by half-wave Gaussian quantization, CVPR 2017.

    Parameters
    ----------
    alpha : float, default 0.0
        Slope below the threshold.
    """

    kind = "log_tailed_relu"

    def __init__(
        self,
        alpha: float = 0.0,
    ) -> None:
        self.alpha = alpha


class MultiGaussian(Surrogate):
    """A Gaussian with negative flanks.

    g′(x) = γ·((1 + h)·N(x; 0, σ) − h·N(x; σ, s·σ) − h·N(x; −σ, s·σ)), with N(x; μ, σ) the normal density: slightly
    negative away from the threshold.

    g(x) = γ·((1 + h)·Φ(x/σ) − h·Φ((x − σ)/(s·σ)) − h·Φ((x + σ)/(s·σ))), with Φ the normal distribution

    Source: Yin, Corradi & Bohté, Accurate and efficient time-domain classification with adaptive spiking recurrent
    neural networks, Nature Machine Intelligence 3:905, 2021.

    Parameters
    ----------
    sigma : float, default 0.5
        Width of the center.
    height : float, default 0.15
        H, weight of the flanks.
    scale : float, default 6.0
        S, width of the flanks in units of `sigma`.
    gamma : float, default 0.5
        Factor of the gradient.
    """

    kind = "multi_gaussian"

    def __init__(
        self,
        sigma: float = 0.5,
        height: float = 0.15,
        scale: float = 6.0,
        gamma: float = 0.5,
    ) -> None:
        self.sigma = sigma
        self.height = height
        self.scale = scale
        self.gamma = gamma


class MultiLevelSpikeCount(Surrogate):
    """Counts are f32, which represents all integers up to this one.

    Forward round(clamp(x, 0, D)), ties to even: up to D spikes in one step; g(x) = clamp(x, grad_min, grad_max), g′(x)
    = 1 if grad_min ≤ x ≤ grad_max, else 0

    x is the potential divided by v_threshold, not its distance from the threshold.

    Source: Luo et al., Integer-valued training and spike-driven inference spiking neural network for high-performance
    and energy-efficient object detection, ECCV 2024.

    Parameters
    ----------
    grad_max : float | None, default None
        See `spikelet.surrogate`.
    grad_min : float, default 0.0
        See `spikelet.surrogate`.
    max_spike_count : int, default 4
        See `spikelet.surrogate`.
    """

    kind = "multi_level_spike_count"

    def __init__(
        self,
        grad_max: float | None = None,
        grad_min: float = 0.0,
        max_spike_count: int = 4,
    ) -> None:
        self.grad_max = grad_max
        self.grad_min = grad_min
        self.max_spike_count = max_spike_count


class NonzeroSignLogAbs(Surrogate):
    """Derivative of a two-sided logarithm.

    g(x) = sgn(x)·ln(|αx| + 1) with sgn(0) = 1, g′(x) = 1 / (1/α + |x|)

    The primitive goes through 0 at x = 0 and is not bounded.

    Source: SpikingJelly, `surrogate.NonzeroSignLogAbs`.

    Parameters
    ----------
    alpha : float, default 1.0
        Largest derivative.
    """

    kind = "nonzero_sign_log_abs"

    def __init__(
        self,
        alpha: float = 1.0,
    ) -> None:
        self.alpha = alpha


class PiecewiseExp(Surrogate):
    """Decays exponentially on both sides.

    g(x) = ½e^(αx) if x < 0, else 1 − ½e^(−αx); g′(x) = (α/2)·e^(−α|x|)

    Source: Shrestha & Orchard, SLAYER: Spike layer error reassignment in time, NeurIPS 2018; Neftci et al., Surrogate
    gradient learning in spiking neural networks, IEEE Signal Processing Magazine 2019.

    Parameters
    ----------
    alpha : float, default 1.0
        Steepness; larger is closer to the step.
    """

    kind = "piecewise_exp"

    def __init__(
        self,
        alpha: float = 1.0,
    ) -> None:
        self.alpha = alpha


class PiecewiseLeakyRelu(Surrogate):
    """A ramp of width 2w and area 1, a leak elsewhere.

    | x | g′(x) | g(x) |
    |---|---|---|
    | x ≤ −w | c | cx + cw |
    | \\|x\\| < w | 1/(2w) | x/(2w) + ½ |
    | x ≥ w | c | cx − cw + 1 |

    Source: Wu et al., Frontiers in Neuroscience 12:331, 2018; Huh & Sejnowski, Gradient descent for spiking neural
    networks, NeurIPS 2018 (both with c = 0); SpikingJelly.

    Parameters
    ----------
    w : float, default 1.0
        Half the width of the ramp.
    c : float, default 0.01
        Slope elsewhere.
    """

    kind = "piecewise_leaky_relu"

    def __init__(
        self,
        w: float = 1.0,
        c: float = 0.01,
    ) -> None:
        self.w = w
        self.c = c


class PiecewiseQuadratic(Surrogate):
    """A triangle.

    | x | g′(x) | g(x) |
    |---|---|---|
    | x < −1/α | 0 | 0 |
    | \\|x\\| ≤ 1/α | α − α²\\|x\\| | ½ + αx − ½α²\\|x\\|x |
    | x > 1/α | 0 | 1 |

    Source: Esser et al., Convolutional networks for fast, energy-efficient neuromorphic computing, PNAS 2016; Bellec et
    al., Long short-term memory and learning-to-learn in networks of spiking neurons, NeurIPS 2018.

    Parameters
    ----------
    alpha : float, default 1.0
        Height of the triangle; its half width is 1/α.
    """

    kind = "piecewise_quadratic"

    def __init__(
        self,
        alpha: float = 1.0,
    ) -> None:
        self.alpha = alpha


class PoissonPass(Surrogate):
    """Fires with probability x; the gradient passes unchanged. It has no constants: `PoissonPass {}`.

    g(x) = x, g′(x) = 1; forward 1 with probability x: fires if u ≤ x, with u uniform on (0, 1], drawn at every step.
    Never for x ≤ 0, always for x ≥ 1.

    Source: Bengio et al., Estimating or propagating gradients through stochastic neurons for conditional computation,
    arXiv:1308.3432 (the straight-through estimator); SpikingJelly.
    """

    kind = "poisson_pass"

    def __init__(self) -> None:
        pass


class QPseudoSpike(Surrogate):
    """A power law; α sets how heavy its tails are.

    b = 1 + 2|x|/(α − 1); g′(x) = b^(−α); g(x) = ½b^(1−α) if x < 0, else 1 − ½b^(1−α)

    Source: Herranz-Celotti & Rouat, Surrogate gradients design, arXiv:2202.00282.

    Parameters
    ----------
    alpha : float, default 2.0
        Exponent, > 1; larger has lighter tails.
    """

    kind = "q_pseudo_spike"

    def __init__(
        self,
        alpha: float = 2.0,
    ) -> None:
        self.alpha = alpha


class Rect(Surrogate):
    """A rectangle of area 1.

    g(x) = clamp(αx + ½, 0, 1), g′(x) = α if |x| < ½/α, else 0

    Source: Wu et al., Frontiers in Neuroscience 12:331, 2018.

    Parameters
    ----------
    alpha : float, default 1.0
        Height; its width is 1/α.
    """

    kind = "rect"

    def __init__(
        self,
        alpha: float = 1.0,
    ) -> None:
        self.alpha = alpha


class S2nn(Surrogate):
    """A sigmoid below the threshold, a logarithm above.

    | x | g′(x) | g(x) |
    |---|---|---|
    | x < 0 | α·σ(αx)·(1 − σ(αx)) | σ(αx) |
    | x ≥ 0 | β/(x + 1) | β·ln(x + 1 + 10⁻⁵) + ½ |

    The 10⁻⁵ is from the source: without it, g′ would be the exact derivative of g above the threshold.

    Source: Suetake et al., S²NN: Time step reduction of spiking surrogate gradients for training energy efficient
    single-step neural networks, arXiv:2201.10879.

    Parameters
    ----------
    alpha : float, default 4.0
        Steepness below the threshold.
    beta : float, default 1.0
        Derivative at the threshold, from above.
    """

    kind = "s2nn"

    def __init__(
        self,
        alpha: float = 4.0,
        beta: float = 1.0,
    ) -> None:
        self.alpha = alpha
        self.beta = beta


class Sigmoid(Surrogate):
    """Derivative of the logistic function.

    g(x) = σ(αx), g′(x) = α·σ(αx)·(1 − σ(αx))

    Source: SpikingFlow's tutorial "soft back-propagation" (there with α = 1).

    Parameters
    ----------
    alpha : float, default 4.0
        Steepness; larger is closer to the step.
    """

    kind = "sigmoid"

    def __init__(
        self,
        alpha: float = 4.0,
    ) -> None:
        self.alpha = alpha


class SignSwish(Surrogate):
    """Above this, e⁻ᵘ is 0 in any type. The bound avoids 0·∞ if u overflows.

    u = βx; g(x) = 2σ(u)·(1 + u(1 − σ(u))) − ½, g′(x) = β(2 − u·tanh(u/2)) / (1 + cosh u)

    The source defines a surrogate of the sign function, from −1 to 1. The derivative and the height of 2 are unchanged;
    the offset of ½ is that of a step. It overshoots: g′ is negative for |u| > 2.4.

    Source: Darabi et al., Regularized binary network training, arXiv:1812.11800; SpikingFlow,
    `softbp.soft_pulse_function`.

    Parameters
    ----------
    beta : float, default 5.0
        See `spikelet.surrogate`.
    """

    kind = "sign_swish"

    def __init__(
        self,
        beta: float = 5.0,
    ) -> None:
        self.beta = beta


class Slayer(Surrogate):
    """A two-sided exponential with a factor.

    g(x) = (c/2)·e^(αx) if x < 0, else c − (c/2)·e^(−αx); g′(x) = (c·α/2)·e^(−α|x|)

    With c = 1 it is the two-sided exponential.

    Source: Shrestha & Orchard, SLAYER: Spike layer error reassignment in time, NeurIPS 2018; with the factor, Baronig
    et al., Advancing spatio-temporal processing through adaptation in spiking neural networks, Nature Communications
    16:5776, 2025.

    Parameters
    ----------
    alpha : float, default 5.0
        Steepness; larger is closer to the step.
    c : float, default 0.4
        Factor of the gradient.
    """

    kind = "slayer"

    def __init__(
        self,
        alpha: float = 5.0,
        c: float = 0.4,
    ) -> None:
        self.alpha = alpha
        self.c = c


class SoftSign(Surrogate):
    """Derivative of the soft sign.

    g(x) = ½(αx/(1 + |αx|) + 1), g′(x) = 1 / (2α(1/α + |x|)²)

    Source: Zenke & Ganguli, SuperSpike: Supervised learning in multilayer spiking neural networks, Neural Computation
    2018; Neftci et al., IEEE Signal Processing Magazine 2019.

    Parameters
    ----------
    alpha : float, default 2.0
        Steepness; larger is closer to the step.
    """

    kind = "soft_sign"

    def __init__(
        self,
        alpha: float = 2.0,
    ) -> None:
        self.alpha = alpha


class SparseFastSigmoid(Surrogate):
    """Derivative of a fast sigmoid above a bound, 0 elsewhere.

    g′(x) = 1 / (1 + slope·|x|)² if x > b, else 0

    Source: Perez-Nieves and Goodman, Sparse spiking gradient descent, NeurIPS 2021; the form is that of snnTorch's
    `SFS`.

    Parameters
    ----------
    slope : float, default 25.0
        Steepness.
    b : float, default 1.0
        The bound.
    """

    kind = "sparse_fast_sigmoid"

    def __init__(
        self,
        slope: float = 25.0,
        b: float = 1.0,
    ) -> None:
        self.slope = slope
        self.b = b


class SpikeRateEscape(Surrogate):
    """Exponential decay on both sides of 1 above the threshold.

    g′(x) = slope·e^(−β·|x − 1|)

    Source: Shrestha and Orchard, SLAYER: spike layer error reassignment in time, NeurIPS 2018; the form is that of
    snnTorch's `spike_rate_escape`.

    Parameters
    ----------
    beta : float, default 1.0
        Steepness of the decay.
    slope : float, default 25.0
        The largest value.
    """

    kind = "spike_rate_escape"

    def __init__(
        self,
        beta: float = 1.0,
        slope: float = 25.0,
    ) -> None:
        self.beta = beta
        self.slope = slope


class SquarewaveFourierSeries(Surrogate):
    """The maximal number of terms: more would not compile in reasonable time.

    g(x) = ½ + (2/π) Σ sin((2i − 1)2πx/T) / (2i − 1), g′(x) = (4/T) Σ cos((2i − 1)2πx/T), both for i from 1 to n − 1

    Source: SpikingJelly, `surrogate.SquarewaveFourierSeries`.

    Parameters
    ----------
    n : int, default 2
        See `spikelet.surrogate`.
    t_period : float, default 8.0
        See `spikelet.surrogate`.
    """

    kind = "squarewave_fourier_series"

    def __init__(
        self,
        n: int = 2,
        t_period: float = 8.0,
    ) -> None:
        self.n = n
        self.t_period = t_period


class SuperSpike(Surrogate):
    """The scaled derivative of a fast sigmoid.

    g′(x) = α / (1 + |x|)². There is no primitive.

    Source: Zenke & Ganguli, SuperSpike: Supervised learning in multilayer spiking neural networks, Neural Computation
    2018.

    Parameters
    ----------
    alpha : float, default 1.0
        Largest derivative.
    """

    kind = "super_spike"

    def __init__(
        self,
        alpha: float = 1.0,
    ) -> None:
        self.alpha = alpha
