"""Training of classifiers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

from . import _native
from ._arrays import as_json
from ._network import Network, PathLike
from ._part import Encoder
from ._progress import SETS, progress as shown, with_nan

__all__ = ["FitReport", "Trainer"]

Named = Union[str, Mapping[str, Any]]


@dataclass(frozen=True)
class FitReport:
    """The result of a training.

    Attributes
    ----------
    history : list of dict
        An entry for each epoch: `epoch`, `train_loss`, `train_accuracy`, `validation_…`, `test_…`, `seconds`, ….
    best : dict or None
        The epoch with the best value of the monitored metric on the validation set.
    seconds, samples_per_second : float
        The time, and the speed of training.
    peak_bytes : int
        The memory of the device.
    interrupted, stopped_early : bool
        Whether the run ended before its last epoch.
    folder, checkpoint, report : str or None
        Files, if a folder was given.
    findings : list of str
        Problems of the run, in words; empty for a healthy one.
    """

    history: list[dict[str, Any]]
    best: dict[str, Any] | None
    epochs_trained: int
    seconds: float
    samples_per_second: float
    peak_bytes: int
    interrupted: bool
    stopped_early: bool
    folder: str | None = None
    checkpoint: str | None = None
    report: str | None = None
    findings: list[str] = field(default_factory=list)

    @classmethod
    def _of(cls, text: str) -> FitReport:
        parts = json.loads(text)
        return cls(**{**parts, "history": [with_nan(record) for record in parts["history"]]})

    def __getitem__(self, metric: str) -> list[Any]:
        """The values of a metric in all epochs, such as `report["train_loss"]`."""
        if self.history and metric not in self.history[0]:
            raise KeyError(f"{metric}: the epochs have {', '.join(self.history[0])}")
        return [record[metric] for record in self.history]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.history)

    def __len__(self) -> int:
        return len(self.history)

    @property
    def last(self) -> dict[str, Any]:
        """The last epoch."""
        if not self.history:
            raise ValueError("FitReport: no epoch was completed")
        return self.history[-1]

    @property
    def test_accuracy(self) -> float | None:
        """The accuracy on the test set after the last epoch, from 0 to 1; None without a test set."""
        accuracy: float | None = self.last.get("test_accuracy")
        return accuracy

    def __repr__(self) -> str:
        parts = [f"{len(self.history)} epochs in {self.seconds:.1f} s"]
        if self.history:
            parts += [
                f"{key.replace('_', ' ')} {value:.4f}"
                for key, value in self.last.items()
                if key.startswith(SETS) and "." not in key and value is not None
            ]
        return f"<FitReport: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        if not self.history:
            return "<p>no epoch was completed</p>"
        keys = [key for key, value in self.history[0].items() if value is not None]
        head = "".join(f"<th>{key.replace('_', ' ')}</th>" for key in keys)
        rows = "".join(
            "<tr>" + "".join(f"<td>{_number(record.get(key))}</td>" for key in keys) + "</tr>" for record in self.history
        )
        return f"<table><tr>{head}</tr>{rows}</table>"


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _table(value: Named | Encoder | None) -> dict[str, Any]:
    """A table of an experiment: a name, or a table with `name` and constants."""
    if value is None:
        return {}
    if isinstance(value, str):
        return {"name": value}
    if isinstance(value, Encoder):
        return value.spec()
    return dict(value)


def _optimizer(optimizer: Named | None, lr: float | None) -> dict[str, Any]:
    """The table of an optimizer with its learning rate."""
    table = _table(optimizer)
    if lr is not None:
        if "lr" in table:
            raise ValueError("lr: it was given twice, once as a key of `optimizer`\n  help: leave one of them out")
        table["lr"] = lr
    return table


def _group(group: Mapping[str, Any]) -> dict[str, Any]:
    """A group of parameters with the keys of a file."""
    table = {"name" if key == "optimizer" else key: value for key, value in group.items() if key != "constants"}
    return {**table, **group.get("constants", {})}


class Trainer:
    """Trains a network to classify samples.

    Parameters
    ----------
    net : Network
        The network; it has the trained weights after `fit`. Training begins with the weights that it has.
    epochs : int, optional
        Passes over the samples; by default those of the network, mostly 20.
    batch_size : int, optional
        Samples of a step.
    time_steps : int, optional
        The length of the sequences that the encoder makes.
    lr : float, optional
        The learning rate before the schedule; also a key of `optimizer`.
    optimizer : str or mapping, optional
        `"adam"`, `"adamw"`, `"sgd"`, `"lamb"`, `"lion"`, `"muon"`, …, or a table with `name`, `lr`, constants such as
        `weight_decay`, and `clip_norm`.
    groups : sequence of mapping
        Parameters with other settings, as those of `Step`: `{"parameters": "*.bias", "lr": 1e-4}`,
        `{"parameters": "fc.*", "frozen": True}`; also `optimizer` and `constants`. The first that matches applies.
    schedule : str or mapping, optional
        The learning rate schedule: `"cosine"`, `"constant"`, `"step"`, `"one-cycle"`, …, with constants.
    loss : str or mapping, optional
        `"mse-one-hot"`, `"cross-entropy"`, `"focal"` or `"tet"`.
    encoder : str, mapping or Encoder, optional
        How samples become sequences: `"poisson"` (for values from 0 to 1), `"direct"`, …. Sequences have none.
    precision : str, optional
        The number format: `"f32"`, `"tf32"`, `"bf16"` or `"f16"`.
    device : str, optional
        `"cpu"`, `"cuda"`, `"cuda:1"`, or `"auto"`: a GPU if there is one. By default that of the network.
    threads : int
        Threads of the CPU; 0 takes all cores.
    seed : int, optional
        The seed of shuffling, encoders, and of weights that were not set.
    clip_norm : float, optional
        The largest norm of all gradients together.
    ema : float, optional
        The decay of an average of the weights, which is evaluated.
    accumulate : int, optional
        Batches whose gradients are added before an update.
    memory_budget : str, optional
        A limit such as `"400MiB"` or `"0.5"`; activations are recomputed to keep it.
    augment : sequence, optional
        Random changes of uint8 images or sequences, such as `["crop=4", "flip"]`.
    normalize : mapping, optional
        `{"mean": […], "std": […]}` of uint8 images.
    patience : int, optional
        Ends the run after so many epochs without an improvement on the validation set.
    monitor : str, optional
        The metric that selects the best epoch; by default `"accuracy"`.
    restore_best : bool
        Whether the network has the weights of the best epoch afterwards, instead of those of the last.
    monitor_layers : sequence of str
        Values of layers that are measured, such as `["rate=*"]`; they are in the history.
    folder : path, optional
        Writes checkpoints, logs and a report into this folder.
    force, resume : bool
        Replaces the run in the folder, or continues it.
    progress : bool
        Whether the progress is shown.
    **changes
        Other tables of an experiment file by name, such as `training={"propagation": "step-by-step"}`.

    Examples
    --------
    >>> digits = spikelet.data.load("synthetic", train=512, test=128)
    >>> net = spikelet.Sequential(spikelet.Flatten(), spikelet.Linear(784, 10), spikelet.Lif(tau=2.0))
    >>> trainer = spikelet.Trainer(net, epochs=3, batch_size=32, time_steps=4, lr=0.01, progress=False)
    >>> report = trainer.fit(digits)
    >>> len(report), report.test_accuracy > 0.5
    (3, True)
    """

    def __init__(
        self,
        net: Network,
        *,
        epochs: int | None = None,
        batch_size: int | None = None,
        time_steps: int | None = None,
        lr: float | None = None,
        optimizer: Named | None = None,
        groups: Sequence[Mapping[str, Any]] = (),
        schedule: Named | None = None,
        loss: Named | None = None,
        encoder: Named | Encoder | None = None,
        precision: str | None = None,
        device: str | None = None,
        threads: int = 0,
        seed: int | None = None,
        clip_norm: float | None = None,
        ema: float | None = None,
        accumulate: int | None = None,
        memory_budget: str | None = None,
        augment: Sequence[Any] | None = None,
        normalize: Mapping[str, Sequence[float]] | None = None,
        patience: int | None = None,
        monitor: str | None = None,
        goal: str | None = None,
        restore_best: bool = False,
        monitor_layers: Sequence[str] = (),
        folder: PathLike | None = None,
        force: bool = False,
        resume: bool = False,
        loader_threads: int = 0,
        progress: bool = True,
        **changes: Mapping[str, Any],
    ) -> None:
        if not isinstance(net, Network):
            raise TypeError(
                f"net: {type(net).__name__} was given\n"
                "  help: give a network, such as `spikelet.Sequential(…)`; own losses and loops need `spikelet.Step`"
            )
        training = {
            "epochs": epochs, "batch_size": batch_size, "time_steps": time_steps, "precision": precision, "seed": seed,
            "ema": ema, "accumulate": accumulate, "memory_budget": memory_budget,
        }  # fmt: skip
        tables: dict[str, dict[str, Any]] = {
            "training": {key: value for key, value in training.items() if value is not None},
            "optimizer": _optimizer(optimizer, lr),
            "schedule": _table(schedule),
            "loss": _table(loss),
            "encoder": _table(encoder),
            "data": {},
        }
        if clip_norm is not None:
            tables["optimizer"]["clip_norm"] = clip_norm
        if groups:
            tables["optimizer"]["groups"] = [_group(group) for group in groups]
        if augment is not None:
            tables["data"]["augment"] = list(augment)
        if normalize is not None:
            tables["data"]["normalize"] = {key: list(values) for key, values in normalize.items()}
        for name, table in changes.items():
            if not isinstance(table, Mapping):
                raise TypeError(
                    f"Trainer: there is no argument `{name}`\n"
                    "  help: see the arguments with `help(spikelet.Trainer)`; tables of an experiment file are mappings"
                )
            tables.setdefault(name, {}).update(table)
        self.net = net
        self._changes = {name: table for name, table in tables.items() if table}
        as_json(self._changes)  # what is no JSON is an error here
        self._device, self._threads = device, threads
        self._progress = progress
        if goal not in (None, "maximize", "minimize"):
            raise ValueError(f"goal: {goal!r} was given\n  help: use \"maximize\" or \"minimize\"")
        if monitor is not None and goal is None:
            goal = "minimize" if monitor.endswith("loss") else "maximize"
        self._options = {
            "folder": None if folder is None else os.fspath(folder),
            "force": force,
            "resume": resume,
            "patience": patience,
            "monitor": monitor,
            "goal": goal,
            "monitor_layers": list(monitor_layers),
            "loader_threads": loader_threads,
            "restore_best": restore_best,
        }

    def fit(
        self,
        x: Any,
        y: Any = None,
        *,
        validation: Any = None,
        test: Any = None,
        sequences: bool | None = None,
        on_epoch: Callable[[dict[str, Any]], Any] | None = None,
    ) -> FitReport:
        """Trains the network. Ctrl-C ends the run after a step with a KeyboardInterrupt; the network keeps what it has learned.

        Parameters
        ----------
        x : array_like or Dataset or Split
            Samples `[N, …]`, sequences `[T, N, …]`, a data set of `spikelet.data`, or all parts of one.
        y : array_like, optional
            The class of each sample, `[N]`.
        validation : float, (x, y) or Dataset, optional
            Samples that select the best epoch; a number is a fraction of the training samples.
        test : (x, y) or Dataset, optional
            Samples that are evaluated after each epoch.
        sequences : bool, optional
            Whether samples are sequences; by default the shape tells.
        on_epoch : callable, optional
            Called with the entry of the history after each epoch; a true result ends the run.

        Returns
        -------
        FitReport
            The history, and what was measured.
        """
        net = self.net
        split = getattr(x, "_native_split", None)
        data: Any = None
        if split is not None:
            if y is not None or test is not None:
                raise ValueError("labels: a split has its labels and its test set\n  help: leave `y` and `test` out")
            data = split()
            train = data.part("train")
            net._bind(tuple(train.input))
            if validation is not None and not isinstance(validation, (int, float)):
                raise TypeError("validation: a split has its samples\n  help: give a fraction, such as 0.1")
        else:
            if y is None and not hasattr(x, "_native_samples"):
                raise TypeError("fit: there are no labels\n  help: call `fit(x, y)`")
            declared = self._changes.get("training", {}).get("time_steps")
            train = net._samples(x, y, sequences, time_steps=declared)
        settings = self._settings(train, validation if split is not None else None)
        if split is None:
            self._check_values(x, settings, train)
            parts = []
            for name, given in (("validation", validation), ("test", test)):
                parts.append(self._part(name, given, train.is_sequence))
            if isinstance(parts[0], float):
                train, parts[0] = train.split(parts[0], 0)
            data = (train, *parts)
        if len(train) < settings["training"]["batch_size"]:
            raise ValueError(
                f"batch_size: it is {settings['training']['batch_size']}, there are {len(train)} training samples\n"
                "  help: use a smaller batch, or more samples"
            )
        if self._device is not None:
            net.to(self._device, self._threads)
        return self._run(data, settings, len(train), on_epoch)

    def _run(
        self, data: Any, settings: dict[str, Any], samples: int, on_epoch: Callable[[dict[str, Any]], Any] | None
    ) -> FitReport:
        net = self.net
        steps = samples // settings["training"]["batch_size"]
        bar = shown(self._progress, settings["training"]["epochs"], steps)

        step, epoch = bar.callbacks(on_epoch)
        bar.start()
        net._settings = settings
        try:
            report = _native.fit(
                net._model, json.dumps(settings), data, json.dumps(self._options), step if self._progress else None, epoch
            )
        finally:
            bar.close()
        return FitReport._of(report)

    def _settings(self, train: _native.Samples, fraction: float | None) -> dict[str, Any]:
        changes = {name: dict(table) for name, table in self._changes.items()}
        steps = train.time_steps
        if steps is not None:
            given = changes.get("training", {}).get("time_steps", steps)
            if given != steps:
                raise ValueError(
                    f"time_steps: {given} was given, the sequences have {steps}\n  help: leave it out: sequences have their length"
                )
            encoder = changes.get("encoder", {}).get("name", "direct")
            if encoder != "direct":
                raise ValueError(
                    f"encoder: {encoder} was given, the samples are sequences\n  help: leave it out: sequences are not encoded"
                )
        if fraction is not None:
            changes.setdefault("data", {})["validation"] = fraction
        settings: dict[str, Any] = json.loads(_native.settings(self.net._network, steps, json.dumps(changes)))
        return settings

    def _part(self, name: str, given: Any, sequence: bool) -> Any:
        if given is None:
            return None
        if isinstance(given, (int, float)) and not isinstance(given, bool):
            if name == "test":
                raise TypeError("test: a number was given\n  help: give samples with labels, `test=(x, y)`")
            return float(given)
        native = getattr(given, "_native_samples", None)
        if native is not None:
            return native()
        if isinstance(given, (list, tuple)) and len(given) == 2:
            return self.net._samples(given[0], given[1], sequence, name)
        raise TypeError(
            f"{name}: {type(given).__name__} was given\n  help: give `({name}_x, {name}_y)`, or a data set of `spikelet.data`"
        )

    def _check_values(self, x: Any, settings: dict[str, Any], train: _native.Samples) -> None:
        """Values that are not finite are an error, and those that are no probabilities of encoders that need them."""
        if hasattr(x, "_native_samples"):
            return
        import numpy as np

        from ._arrays import as_numpy

        array = as_numpy(x, "x")
        if array.dtype == "uint8":
            return
        finite = np.isfinite(array)
        if not finite.all():
            place = tuple(map(int, np.argwhere(~finite)[0]))
            raise ValueError(f"x: the value at {list(place)} is {array[place]}\n  help: give finite numbers")
        if train.is_sequence or settings["encoder"]["name"] not in ("poisson", "rate", "latency", "weighted_phase"):
            return
        low, high = float(array.min()), float(array.max())
        if not (low >= 0.0 and high <= 1.0):
            raise ValueError(
                f"x: values from {low:g} to {high:g} were given, the encoder {settings['encoder']['name']} needs 0 to 1\n"
                '  help: scale them, or use encoder="direct", which passes values to the first layer'
            )
