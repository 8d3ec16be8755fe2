"""Training steps with a loss, metrics and a loop of one's own."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from . import _native
from ._arrays import as_json
from ._network import Network, PathLike
from ._train_step import Input, TrainStep, as_input, longest, padded, update
from ._trainer import FitReport, _optimizer

if TYPE_CHECKING:
    import numpy.typing as npt

    from .graph import Metric, Var

    Array = npt.NDArray[Any]
    Function = Callable[[dict[str, Var]], Any]

__all__ = ["Step"]


class Step:
    """A training step: a function from inputs to a loss, which is differentiated and compiled with all updates.

    Parameters
    ----------
    function : callable
        Called with a dictionary of `spikelet.graph.Var`s by the names of the inputs. It returns the loss, a scalar;
        `(loss, metrics)`; or `(loss, metrics, outputs)`, with dictionaries of traced values. It is traced, not run:
        networks are called with traced sequences `[T, N, …]`.
    inputs : mapping of str to Input or tuple
        The inputs. A tuple is the shape of a sample of f32; the integer 0 stands for a class, i64 `[N]`.
    batch_size : int
        The number of samples of a batch. A compiled step takes others as well, such as a smaller last batch: it is compiled
        again for each of the last four sizes.
    optimizer : str or mapping
        The optimizer of all parameters that are in no group: its name, or a table with `name`, `lr` and constants.
    lr : float, optional
        The learning rate of the optimizer, by default 2e-3; also a key of `optimizer`.
    groups : sequence of mapping
        Parameters with other settings: `{"parameters": "*.bias", "lr": 1e-4}`, `{"parameters": "fc.*",
        "frozen": True}`; also `optimizer` and `constants`. The first that matches applies.
    clip_norm, clip_value : float, optional
        Gradient clipping.
    ema : float, optional
        The decay of an average of the weights.
    accumulate : int
        Batches whose gradients are added before an update.
    carry_states : bool
        Whether states of neurons are carried from batch to batch, for sequences that are longer than a batch.
    weight_decay_on_vectors : bool
        Whether weight decay applies to biases, normalization and constants of neurons.
    precision : str
        `"f32"`, `"tf32"`, `"bf16"` or `"f16"`.
    memory_budget : str, optional
        A limit such as `"400MiB"`.
    read_gradients, read_activations : sequence of str
        Patterns of parameters whose gradients, and of layers whose values can be read.
    outputs : bool
        Whether outputs can be read after training steps, too.
    seed : int
        The seed of initial weights and random numbers.

    Examples
    --------
    >>> from spikelet import graph
    >>> net = spikelet.Sequential(spikelet.Linear(2, 8), spikelet.Lif(), spikelet.Linear(8, 3), input=(2,))
    >>> def loss(inputs):
    ...     scores = net(inputs["x"]).mean(0)
    ...     return graph.cross_entropy(scores, inputs["labels"]), {"accuracy": graph.accuracy(scores, inputs["labels"])}
    >>> step = spikelet.Step(loss, {"x": spikelet.Step.sequence(4, 2), "labels": spikelet.Step.labels()}, batch_size=5)
    >>> train = step.compile()
    >>> sorted(train.run(x=np.ones((4, 5, 2)), labels=[0, 1, 2, 0, 1]))
    ['accuracy', 'loss']
    """

    @staticmethod
    def input(*shape: int, dtype: Literal["f32", "i64"] = "f32") -> Input:
        """An input of `shape` for each sample: `[N, …]`.

        Parameters
        ----------
        *shape : int
            The sizes of a sample.
        dtype : str
            `"f32"` or `"i64"`.

        Returns
        -------
        Input
            For `inputs`.
        """
        return Input(shape, dtype)

    @staticmethod
    def sequence(*shape: int, dtype: Literal["f32", "i64"] = "f32", lengths: bool = False) -> Input:
        """An input that is a sequence `(T, …)` for each sample: `[T, N, …]`.

        Parameters
        ----------
        *shape : int
            Time steps, and the sizes of a time step.
        dtype : str
            `"f32"` or `"i64"`.
        lengths : bool
            Whether sequences may be shorter than T. The function has their lengths as another input, i64 `[N]`: of an input `x`
            as `x_length`, for `spikelet.graph.sequence_mean` and others. Give them as a list of arrays `[T, …]`.

        Returns
        -------
        Input
            For `inputs`.
        """
        return Input(shape, dtype, "sequence", lengths)

    @staticmethod
    def shared(*shape: int, dtype: Literal["f32", "i64"] = "f32") -> Input:
        """An input that all samples share, such as a coefficient; it keeps its values until it is set again.

        Parameters
        ----------
        *shape : int
            Its sizes.
        dtype : str
            `"f32"` or `"i64"`.

        Returns
        -------
        Input
            For `inputs`.
        """
        return Input(shape, dtype, "shared")

    @staticmethod
    def labels() -> Input:
        """A class for each sample: i64 `[N]`.

        Returns
        -------
        Input
            For `inputs`.
        """
        return Input((), "i64")

    def __init__(
        self,
        function: Function,
        inputs: Mapping[str, Input | Sequence[int]],
        *,
        batch_size: int,
        optimizer: str | Mapping[str, Any] = "adam",
        lr: float | None = None,
        groups: Sequence[Mapping[str, Any]] = (),
        clip_norm: float | None = None,
        clip_value: float | None = None,
        ema: float | None = None,
        accumulate: int = 1,
        carry_states: bool = False,
        weight_decay_on_vectors: bool = True,
        precision: str | None = None,
        propagation: str | None = None,
        memory_budget: str | None = None,
        read_gradients: Sequence[str] = (),
        read_activations: Sequence[str] = (),
        outputs: bool = False,
        seed: int = 0,
    ) -> None:
        if not callable(function):
            raise TypeError(f"function: {type(function).__name__} was given\n  help: give a function of a dictionary of inputs")
        self._function = function
        self._inputs = {
            str(name): given if isinstance(given, Input) else Input(tuple(given)) for name, given in inputs.items()
        }
        for name in [name for name, one in self._inputs.items() if one.lengths]:
            self._inputs.setdefault(f"{name}_length", Input((), "i64"))
        self._definition: dict[str, Any] = {
            "inputs": [
                {"name": name, "dtype": one.dtype, "shape": list(one.shape), "kind": one.kind}
                for name, one in self._inputs.items()
            ],
            "batch_size": batch_size,
            "optimizer": {"name": "adam", **_optimizer(optimizer, lr)},
            "groups": [dict(group) for group in groups],
            "clip_norm": clip_norm,
            "clip_value": clip_value,
            "ema": ema,
            "accumulate": accumulate,
            "carry_states": carry_states,
            "no_weight_decay_on_vectors": not weight_decay_on_vectors,
            "precision": precision,
            "propagation": propagation,
            "memory_budget": memory_budget,
            "read_gradients": list(read_gradients),
            "read_activations": list(read_activations),
            "outputs": outputs,
            "seed": seed,
        }

    def compile(self, device: str = "auto", threads: int = 0) -> TrainStep:
        """Compiles the step for a device.

        The step starts from the weights that the networks have which its function calls.

        Parameters
        ----------
        device : str
            `"cpu"`, `"cuda"`, `"cuda:1"`, or `"auto"`: a GPU if there is one.
        threads : int
            Threads of the CPU; 0 takes all cores.

        Returns
        -------
        TrainStep
            Runs batches.
        """
        called: dict[str, Network] = {}
        native = _native.TrainStep(self._traced(called), as_json(self._definition), device, threads)
        carried = self._definition["batch_size"] if self._definition["carry_states"] else None
        train = TrainStep(native, self._inputs, called, self._definition["batch_size"], carried)
        train.load_state_dict(_weights(called))
        return train

    def _traced(self, called: dict[str, Network]) -> Callable[..., Any]:
        """The function, which notes the networks that it calls."""
        from .graph import _result

        def traced(given: dict[str, Var]) -> tuple[Var, list[tuple[str, Var | Metric]], list[tuple[str, Var]]]:
            _CALLED.append(called)
            try:
                return _result(self._function(given))
            finally:
                _CALLED.pop()

        return traced

    def fit(
        self,
        data: Mapping[str, Any],
        *,
        epochs: int,
        validation: Mapping[str, Any] | None = None,
        test: Mapping[str, Any] | None = None,
        schedule: str | Mapping[str, Any] = "cosine",
        delay_width: Mapping[str, Any] | None = None,
        device: str = "auto",
        threads: int = 0,
        patience: int | None = None,
        monitor: str | None = None,
        goal: str | None = None,
        monitor_layers: Sequence[str] = (),
        folder: PathLike | None = None,
        force: bool = False,
        resume: bool = False,
        progress: bool = True,
        on_epoch: Callable[[dict[str, Any]], Any] | None = None,
    ) -> FitReport:
        """Trains the step with the trainer: batches, schedule, evaluations, checkpoints.

        The networks that the function calls have the trained weights afterwards.

        Parameters
        ----------
        data : mapping of str to array_like
            The samples by the names of inputs, `[N, …]`; of sequences `[T, N, …]`, or a list of arrays where lengths differ, as in
            `TrainStep.run`.
        epochs : int
            Passes over the samples.
        validation, test : mapping of str to array_like, optional
            Samples that select the best epoch, and samples that are evaluated after each epoch.
        schedule : str or mapping
            The learning rate schedule.
        delay_width : mapping, optional
            The width of the kernels of learned delays: `{"start": 12.0, "end": 0.23, "epochs": 37}`.
        device : str
            As in `compile`.
        threads : int
            Threads of the CPU; 0 takes all cores.
        patience : int, optional
            Ends the run after so many epochs without an improvement on the validation set.
        monitor : str, optional
            The metric that selects the best epoch; by default `"accuracy"` if there is one, or else the loss.
        goal : str, optional
            `"maximize"` or `"minimize"` the monitored metric.
        monitor_layers : sequence of str
            Values of layers that are measured, such as `["rate=*"]`.
        folder : path, optional
            Writes checkpoints and logs into this folder.
        force, resume : bool
            Replaces the run in the folder, or continues it.
        progress : bool
            Whether the progress is shown.
        on_epoch : callable, optional
            Called with the entry of the history after each epoch; a true result ends the run.

        Returns
        -------
        FitReport
            The history, with a value of each metric.
        """
        from ._progress import progress as shown

        parts = [self._samples(part) for part in (data, validation, test)]
        train = parts[0]
        if train is None:
            raise TypeError("data: None was given\n  help: give arrays by the names of inputs")
        called: dict[str, Network] = {}
        if monitor is not None and goal is None:
            goal = "minimize" if monitor.endswith("loss") else "maximize"
        options = {
            "epochs": epochs,
            "schedule": {"name": schedule} if isinstance(schedule, str) else dict(schedule),
            "delay_width": None if delay_width is None else dict(delay_width),
            "patience": patience,
            "monitor": monitor,
            "goal": goal,
            "monitor_layers": list(monitor_layers),
            "folder": None if folder is None else os.fspath(folder),
            "force": force,
            "resume": resume,
        }
        samples = max((len(array) for array in train.values()), default=0)  # they are in front
        bar = shown(progress, epochs, samples // max(self._definition["batch_size"], 1))

        step, epoch = bar.callbacks(on_epoch)
        bar.start()
        try:
            report, weights = _native.fit_step(
                self._traced(called),
                as_json(self._definition),
                (train, parts[1], parts[2]),
                json.dumps(options),
                (device, threads),
                lambda: _weights(called),
                step if progress else None,
                epoch,
            )
        finally:
            bar.close()
        update(called, weights, longest(self._inputs))
        return FitReport._of(report)

    def _samples(self, given: Mapping[str, Any] | None) -> dict[str, Array] | None:
        """Samples of the inputs, with the samples in front."""
        import numpy as np

        if given is None:
            return None
        arrays = {}
        given = padded(given, self._inputs)
        for name, one in self._inputs.items():
            if one.kind == "shared":
                raise ValueError(f"{name}: the samples share it\n  help: run the step in a loop of your own, `step.compile()`")
            if name not in given:
                raise ValueError(f"{name}: the samples do not have it\n  help: give an array for each of {', '.join(self._inputs)}")
            array = as_input(given[name], name, one)
            if one.kind == "sequence":
                array = array.swapaxes(0, 1)
            arrays[name] = np.require(array, requirements=("C", "A"))
        return arrays


def _weights(called: Mapping[str, Network]) -> dict[str, Array]:
    """The weights of networks that have some, by their names in a step."""
    return {
        f"{path}{name}": x
        for path, net in called.items()
        if net._weights is not None
        for name, x in net.state_dict().items()
    }


#: The networks that functions call while they are traced, by their paths.
_CALLED: list[dict[str, Network]] = []
