"""Traced values, losses and metrics: what the function of a `spikelet.Step` is made of.

A `Var` is a value of a graph that is being built. It has the operators of numbers with broadcasting, comparisons (1 or 0),
slices, and methods such as `sum(axis)`, `mean(axis)`, `exp()`, `reshape(…)`; the functions here make losses and metrics.

Examples
--------
>>> from spikelet import graph
>>> net = spikelet.Sequential(spikelet.Linear(2, 1), input=(2,))
>>> def loss(inputs):
...     y = net(inputs["x"]).mean(0)
...     return graph.mse(y, inputs["y"]), {"r2": graph.r2(y, inputs["y"])}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _native
from ._native import Metric, Var
from ._part import Encoder

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Metric",
    "Var",
    "accuracy",
    "binary_cross_entropy",
    "concat",
    "cross_entropy",
    "encode",
    "f1",
    "first_spike_cross_entropy",
    "first_spike_time",
    "give_label",
    "give_signal",
    "huber",
    "kl_divergence",
    "l1",
    "mean",
    "mse",
    "mse_one_hot",
    "parameter",
    "r2",
    "rate_bounds",
    "rate_target",
    "recorded",
    "sequence_last",
    "sequence_mask",
    "sequence_mean",
    "sequence_sum",
    "smooth_l1",
    "spike_count",
    "spike_count_cross_entropy",
    "spike_count_mse",
    "spike_rate_mse",
    "stack",
    "tet",
    "top_k",
    "van_rossum",
    "where",
]


def cross_entropy(
    scores: Var, labels: Var, *, label_smoothing: float = 0.0, ignore_label: int | None = None
) -> Var:
    """Cross entropy of the softmax of the scores, the mean over the samples.

    Parameters
    ----------
    scores : Var
        `[N, classes]`, or `[T, N, classes]` with a label for each time step.
    labels : Var
        Classes, i64 `[N]`, or probabilities, f32 `[N, classes]`.
    label_smoothing : float
        The share of the target that all classes have, below 1.
    ignore_label : int, optional
        Samples of this label do not count.

    Returns
    -------
    Var
        A scalar.
    """
    extra = () if ignore_label is None else (float(ignore_label),)
    return _native.loss_of("cross_entropy", scores, labels, label_smoothing, *extra)


def mse(given: Var, target: Var) -> Var:
    """Mean squared error of values; `mse_one_hot` is that of labels of classes.

    Parameters
    ----------
    given : Var
        Values.
    target : Var
        Values of the same shape.

    Returns
    -------
    Var
        A scalar.
    """
    return _native.loss_of("mse", given, target)


def mse_one_hot(scores: Var, labels: Var) -> Var:
    """Mean squared error of scores and one-hot labels.

    Parameters
    ----------
    scores : Var
        `[N, classes]`.
    labels : Var
        Classes, i64 `[N]`.

    Returns
    -------
    Var
        A scalar.
    """
    return _native.loss_of("mse_one_hot", scores, labels)


def l1(given: Var, target: Var) -> Var:
    """Mean absolute error.

    Parameters
    ----------
    given, target : Var
        Values of the same shape.

    Returns
    -------
    Var
        A scalar.
    """
    return _native.loss_of("l1", given, target)


def huber(given: Var, target: Var, delta: float = 1.0) -> Var:
    """Huber's loss: quadratic up to `delta`, linear above.

    Parameters
    ----------
    given, target : Var
        Values of the same shape.
    delta : float
        Where it becomes linear.

    Returns
    -------
    Var
        A scalar.
    """
    return _native.loss_of("huber", given, target, delta)


def smooth_l1(given: Var, target: Var, beta: float = 1.0) -> Var:
    """Huber's loss divided by `beta`.

    Parameters
    ----------
    given, target : Var
        Values of the same shape.
    beta : float
        Where it becomes linear.

    Returns
    -------
    Var
        A scalar.
    """
    return _native.loss_of("smooth_l1", given, target, beta)


def binary_cross_entropy(scores: Var, targets: Var, positive_weight: float = 1.0) -> Var:
    """Cross entropy of the sigmoid of each score.

    Parameters
    ----------
    scores : Var
        Logits.
    targets : Var
        Probabilities of the same shape.
    positive_weight : float
        The weight of positive targets.

    Returns
    -------
    Var
        A scalar.
    """
    return _native.loss_of("binary_cross_entropy", scores, targets, positive_weight)


def kl_divergence(student: Var, teacher: Var, temperature: float = 1.0) -> Var:
    """The divergence of a student's softmax from a teacher's, for distillation.

    Parameters
    ----------
    student, teacher : Var
        Scores `[N, classes]`.
    temperature : float
        By which both are divided.

    Returns
    -------
    Var
        A scalar.
    """
    return _native.loss_of("kl_divergence", student, teacher, temperature)


def tet(output_seq: Var, labels: Var) -> Var:
    """Temporal efficient training: the mean over time of the cross entropy at each step.

    Parameters
    ----------
    output_seq : Var
        The output at each step, `[T, N, classes]`.
    labels : Var
        Classes, i64 `[N]`.

    Returns
    -------
    Var
        A scalar.
    """
    return _native.loss_of("tet", output_seq, labels)


def spike_rate_mse(spike_seq: Var, labels: Var, correct: float = 0.8, other: float = 0.2) -> Var:
    """Squared error of firing rates and target rates.

    Parameters
    ----------
    spike_seq : Var
        Spikes `[T, N, classes]`.
    labels : Var
        Classes, i64 `[N]`.
    correct, other : float
        The target rate of the correct class, and of the others.

    Returns
    -------
    Var
        A scalar.
    """
    return _native.loss_of("spike_rate_mse", spike_seq, labels, correct, other)


def spike_count_mse(spike_seq: Var, labels: Var, correct: float, other: float) -> Var:
    """Squared error of spike counts and target counts.

    Parameters
    ----------
    spike_seq : Var
        Spikes `[T, N, classes]`.
    labels : Var
        Classes, i64 `[N]`.
    correct, other : float
        The target count of the correct class, and of the others.

    Returns
    -------
    Var
        A scalar.
    """
    return _native.loss_of("spike_count_mse", spike_seq, labels, correct, other)


def spike_count_cross_entropy(spike_seq: Var, labels: Var) -> Var:
    """Cross entropy of spike counts.

    Parameters
    ----------
    spike_seq : Var
        Spikes `[T, N, classes]`.
    labels : Var
        Classes, i64 `[N]`.

    Returns
    -------
    Var
        A scalar.
    """
    return _native.loss_of("spike_count_cross_entropy", spike_seq, labels)


def van_rossum(spike_seq: Var, target_seq: Var, tau: float) -> Var:
    """The van Rossum distance of two spike trains.

    Parameters
    ----------
    spike_seq, target_seq : Var
        Spikes of the same shape, `[T, N, …]`.
    tau : float
        The time constant of the kernel in steps.

    Returns
    -------
    Var
        A scalar.
    """
    return _native.loss_of("van_rossum", spike_seq, target_seq, tau)


def first_spike_time(spike_seq: Var) -> Var:
    """The time step of the first spike, T without one; with a gradient.

    Parameters
    ----------
    spike_seq : Var
        Spikes `[T, N, …]`.

    Returns
    -------
    Var
        `[N, …]`.
    """
    return _native.loss_of("first_spike_time", spike_seq)


def first_spike_cross_entropy(spike_seq: Var, labels: Var) -> Var:
    """Cross entropy of the negative times of the first spikes.

    Parameters
    ----------
    spike_seq : Var
        Spikes `[T, N, classes]`.
    labels : Var
        Classes, i64 `[N]`.

    Returns
    -------
    Var
        A scalar.
    """
    return _native.loss_of("first_spike_cross_entropy", spike_seq, labels)


def rate_target(spike_seq: Var, target: float) -> Var:
    """A penalty on firing rates that differ from a target.

    Parameters
    ----------
    spike_seq : Var
        Spikes `[T, N, …]`, such as `recorded("1.spike_seq")`.
    target : float
        The rate of each neuron.

    Returns
    -------
    Var
        A scalar.
    """
    return _native.loss_of("rate_target", spike_seq, None, target)


def rate_bounds(spike_seq: Var, low: float, high: float) -> Var:
    """A penalty on firing rates outside of an interval.

    Parameters
    ----------
    spike_seq : Var
        Spikes `[T, N, …]`.
    low, high : float
        The interval.

    Returns
    -------
    Var
        A scalar.
    """
    return _native.loss_of("rate_bounds", spike_seq, None, low, high)


def spike_count(spike_seq: Var) -> Var:
    """The mean number of spikes of a neuron.

    Parameters
    ----------
    spike_seq : Var
        Spikes `[T, N, …]`.

    Returns
    -------
    Var
        A scalar.
    """
    return _native.loss_of("spike_count", spike_seq)


def sequence_mask(lengths: Var, time_steps: int) -> Var:
    """1 for the time steps of each sequence, 0 for the padding behind it.

    Parameters
    ----------
    lengths : Var [N]
        The numbers of time steps, i64: the input `x_length` beside `x`, of `Step.sequence(…, lengths=True)`.
    time_steps : int
        The time steps T of the batch.

    Returns
    -------
    Var [T, N]
        The mask.
    """
    return _native.sequence_of("mask", lengths, None, time_steps)


def sequence_sum(x_seq: Var, lengths: Var) -> Var:
    """The sum over the time steps of each sequence, without the padding behind it.

    Parameters
    ----------
    x_seq : Var [T, N, …]
        The sequences.
    lengths : Var [N]
        Their numbers of time steps, as in `sequence_mask`.

    Returns
    -------
    Var [N, …]
        The sums.
    """
    return _native.sequence_of("sum", lengths, x_seq)


def sequence_mean(x_seq: Var, lengths: Var) -> Var:
    """The mean over the time steps of each sequence; 0 for an empty one. As `sequence_sum`.

    Parameters
    ----------
    x_seq : Var [T, N, …]
        The sequences.
    lengths : Var [N]
        Their numbers of time steps.

    Returns
    -------
    Var [N, …]
        The means.

    Examples
    --------
    >>> from spikelet import graph
    >>> net = spikelet.Sequential(spikelet.Linear(2, 3), spikelet.Lif(), input=(2,))
    >>> def loss(inputs):
    ...     scores = graph.sequence_mean(net(inputs["x"]), inputs["x_length"])
    ...     return graph.cross_entropy(scores, inputs["labels"])
    >>> inputs = {"x": spikelet.Step.sequence(9, 2, lengths=True), "labels": spikelet.Step.labels()}
    >>> train = spikelet.Step(loss, inputs, batch_size=2).compile()
    >>> found = train.run(x=[np.ones((9, 2)), np.ones((4, 2))], labels=[0, 1])
    >>> list(found)
    ['loss']
    """
    return _native.sequence_of("mean", lengths, x_seq)


def sequence_last(x_seq: Var, lengths: Var) -> Var:
    """The last time step of each sequence; 0 for an empty one. As `sequence_sum`.

    Parameters
    ----------
    x_seq : Var [T, N, …]
        The sequences.
    lengths : Var [N]
        Their numbers of time steps.

    Returns
    -------
    Var [N, …]
        The last steps.
    """
    return _native.sequence_of("last", lengths, x_seq)


def accuracy(scores: Var, labels: Var) -> Metric:
    """The fraction of samples whose highest score is that of their class.

    Parameters
    ----------
    scores : Var
        `[N, classes]`.
    labels : Var
        Classes, i64 `[N]`.

    Returns
    -------
    Metric
        From 0 to 1.
    """
    return _native.metric_of("accuracy", scores, labels)


def top_k(scores: Var, labels: Var, k: int = 5) -> Metric:
    """The fraction of samples whose class is among the `k` highest scores.

    Parameters
    ----------
    scores : Var
        `[N, classes]`.
    labels : Var
        Classes, i64 `[N]`.
    k : int
        The number of scores.

    Returns
    -------
    Metric
        From 0 to 1.
    """
    return _native.metric_of("top_k", scores, labels, k)


def f1(scores: Var, labels: Var) -> Metric:
    """The mean of the F1 scores of all classes.

    Parameters
    ----------
    scores : Var
        `[N, classes]`.
    labels : Var
        Classes, i64 `[N]`.

    Returns
    -------
    Metric
        From 0 to 1.
    """
    return _native.metric_of("f1", scores, labels)


def r2(predictions: Var, targets: Var) -> Metric:
    """The coefficient of determination.

    Parameters
    ----------
    predictions, targets : Var
        Values of the same shape, `[N, …]`.

    Returns
    -------
    Metric
        Up to 1.
    """
    return _native.metric_of("r2", predictions, targets)


def mean(values: Var) -> Metric:
    """The mean of values over all samples.

    Parameters
    ----------
    values : Var
        `[N, …]`.

    Returns
    -------
    Metric
        A number.
    """
    return _native.metric_of("mean", values)


def parameter(name: str, shape: Sequence[int], init: float | str = 0.0, number: float = 1.0) -> Var:
    """A trained tensor of the step that is traced.

    Parameters
    ----------
    name : str
        Its name; the same name is the same tensor.
    shape : sequence of int
        Its shape.
    init : float or str
        The initial value, or `"uniform"` (up to ± `number`), `"normal"` (deviation `number`) or `"orthogonal"`.
    number : float
        As `init` says.

    Returns
    -------
    Var
        The tensor.
    """
    if isinstance(init, str):
        return _native.parameter(name, list(shape), init, number)
    return _native.parameter(name, list(shape), "constant", float(init))


def encode(x: Var, time_steps: int, encoder: str | Encoder = "poisson") -> Var:
    """A sequence of samples.

    Parameters
    ----------
    x : Var
        Samples `[N, …]`.
    time_steps : int
        T.
    encoder : str or Encoder
        Such as `"poisson"` or `spikelet.encoder.Latency()`.

    Returns
    -------
    Var
        `[T, N, …]`.
    """
    text = encoder.text() if isinstance(encoder, Encoder) else str(encoder)
    return _native.encode(text, x, time_steps)


def recorded(path: str) -> Var:
    """A value that a layer recorded, after the network was called.

    Parameters
    ----------
    path : str
        Such as `"1.spike_seq"`: the spikes of the layer `1`.

    Returns
    -------
    Var
        `[T, N, …]`.
    """
    return _native.recorded(path)


def give_signal(name: str, value: Var) -> None:
    """Gives a signal to the learning rules of the networks that are called after it.

    Parameters
    ----------
    name : str
        The name, such as `"reward"`, which `spikelet.layer.Plastic` reads with `reward="signal"`.
    value : Var
        `[T]`, or `[T, N]` with a value for each sample.

    Examples
    --------
    >>> import spikelet
    >>> from spikelet import graph, layer
    >>> synapses = layer.Plastic(spikelet.Linear(4, 2), rule="reward-stdp", reward="signal")
    >>> net = spikelet.Sequential(synapses, input=(4,))
    >>> def learn(inputs):
    ...     graph.give_signal("reward", inputs["reward"])
    ...     return net(inputs["x"]).mean()
    >>> inputs = {"x": spikelet.Step.sequence(10, 4), "reward": spikelet.Step.sequence(10)}
    >>> train = spikelet.Step(learn, inputs, batch_size=2).compile()
    >>> metrics = train.run(x=np.ones((10, 2, 4)), reward=np.ones((10, 2)))
    """
    _native.give(name, value)


def give_label(labels: Var) -> None:
    """Gives the classes of the samples to the networks that are called after it, in which layers learn by them.

    These are `spikelet.layer.Plastic` with a reward by classes, and `spikelet.layer.OnlineEprop`.

    Parameters
    ----------
    labels : Var
        The class of each sample, i64 `[N]`, or a probability of each class, `[N, classes]`.

    Examples
    --------
    >>> import spikelet
    >>> from spikelet import graph, layer
    >>> net = spikelet.Sequential(layer.OnlineEprop(20, outputs=3, cell="eprop_alif"), input=(4,))
    >>> def learn(inputs):
    ...     graph.give_label(inputs["labels"])
    ...     return graph.cross_entropy(net(inputs["x"]).mean(0), inputs["labels"])
    >>> inputs = {"x": spikelet.Step.sequence(10, 4), "labels": spikelet.Step.labels()}
    >>> train = spikelet.Step(learn, inputs, batch_size=2).compile()
    >>> metrics = train.run(x=np.ones((10, 2, 4)), labels=[0, 2])
    """
    _native.give(None, labels)


def where(condition: Var, x: Var | float, y: Var | float) -> Var:
    """`x` where a condition holds, else `y`.

    Parameters
    ----------
    condition : Var
        1 or 0, such as `a > b`.
    x, y : Var or float
        Values.

    Returns
    -------
    Var
        Element by element.
    """
    return getattr(condition, "where")(x, y)  # type: ignore[no-any-return]


def concat(parts: Sequence[Var], axis: int = 0) -> Var:
    """Values one after the other along an axis.

    Parameters
    ----------
    parts : sequence of Var
        Values of the same shape but for this axis.
    axis : int
        The axis.

    Returns
    -------
    Var
        All elements.
    """
    return _native.join(list(parts), axis, False)


def stack(parts: Sequence[Var], axis: int = 0) -> Var:
    """Values along a new axis.

    Parameters
    ----------
    parts : sequence of Var
        Values of the same shape.
    axis : int
        The new axis.

    Returns
    -------
    Var
        All elements.
    """
    return _native.join(list(parts), axis, True)


def _result(returned: Any) -> tuple[Var, list[tuple[str, Any]], list[tuple[str, Var]]]:
    """Loss, metrics and outputs of what a function of a step returns."""
    loss, metrics, outputs = returned, {}, {}
    if isinstance(returned, (tuple, list)):
        if not 1 <= len(returned) <= 3:
            raise TypeError(
                f"Step: the function returned {len(returned)} values\n"
                "  help: return the loss, (loss, metrics) or (loss, metrics, outputs)"
            )
        loss, metrics, outputs = (*returned, {}, {})[:3]
    if not isinstance(loss, Var):
        raise TypeError(
            f"Step: the loss is {type(loss).__name__}\n  help: return a Var, such as `graph.mse(y, inputs['y'])`"
        )
    for what, table in (("metrics", metrics), ("outputs", outputs)):
        if not hasattr(table, "items"):
            raise TypeError(f"Step: {what} are {type(table).__name__}\n  help: return a dictionary of names and values")
    return loss, _items(metrics, (Var, Metric)), _items(outputs, (Var,))


def _items(table: Mapping[str, Any], kinds: tuple[type, ...]) -> list[tuple[str, Any]]:
    for name, value in table.items():
        if not isinstance(value, kinds):
            raise TypeError(f"Step: `{name}` is {type(value).__name__}\n  help: give a traced value, see `spikelet.graph`")
    return [(str(name), value) for name, value in table.items()]
