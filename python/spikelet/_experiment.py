"""Experiments: data, network and settings of a run in a TOML file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from . import _native
from ._network import Network, PathLike
from ._progress import progress as shown
from ._trainer import FitReport

__all__ = ["Experiment"]


class Experiment:
    """Data, network and settings of a run, as `spikelet train FILE` takes them.

    Experiments are made by `load`, `from_text` and `of`.

    Examples
    --------
    >>> experiment = spikelet.Experiment.of(spikelet.model("mnist-fc"))
    >>> experiment = experiment.set("training.epochs", 1).set("data.train_images", 600).set("data.test_images", 100)
    >>> report = experiment.run(folder=None, progress=False)
    >>> len(report)
    1
    """

    _made: _native.Experiment
    _net: Network | None

    def __init__(self) -> None:
        raise TypeError(
            "Experiment: it has no constructor\n"
            "  help: use `Experiment.load(path)`, `Experiment.from_text(text)` or `Experiment.of(net)`"
        )

    @classmethod
    def _of(cls, native: _native.Experiment, net: Network | None = None) -> Experiment:
        made = object.__new__(cls)
        made._made = native
        made._net = net
        return made

    @classmethod
    def load(cls, path: PathLike) -> Experiment:
        """Reads a file.

        Parameters
        ----------
        path : path
            A TOML file with the table `network`.

        Returns
        -------
        Experiment
            With the defaults of the network where the file has no keys.

        Raises
        ------
        ValueError
            If a key is unknown or a value is wrong, with line and column.
        """
        return cls._of(_native.Experiment.read(os.fspath(path)))

    @classmethod
    def from_text(cls, text: str, file: str = "experiment.toml") -> Experiment:
        """Reads a TOML text.

        Parameters
        ----------
        text : str
            The content of a file.
        file : str
            Its name in messages.

        Returns
        -------
        Experiment
            The experiment.
        """
        return cls._of(_native.Experiment.of_text(file, text))

    @classmethod
    def of(cls, net: Network) -> Experiment:
        """The experiment of a network with all defaults.

        Parameters
        ----------
        net : Network
            The network; `run` trains its weights.

        Returns
        -------
        Experiment
            The experiment.
        """
        return cls._of(_native.Experiment.of_network(net._network), net)

    def set(self, key: str, value: Any) -> Experiment:
        """The experiment with another value of a key.

        Parameters
        ----------
        key : str
            A table and a key, such as `"training.epochs"` or `"network.neuron.tau"`.
        value : object
            The value; `None` is `"none"`.

        Returns
        -------
        Experiment
            Another experiment; this one is unchanged.

        Examples
        --------
        >>> experiment = spikelet.Experiment.of(spikelet.model("csnn"))
        >>> experiment.set("optimizer.name", "adamw").set("optimizer.lr", 3e-3).get("optimizer.lr")
        0.003
        """
        tables: dict[str, Any] = {}
        inner = tables
        *path, last = str(key).split(".")
        if not path:
            raise ValueError(
                f"key: {key!r} was given\n  help: give a table and a key, such as \"training.epochs\"; "
                f"tables: {', '.join(_native.Experiment.tables())}"
            )
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = "none" if value is None else value
        changed = self._made.with_(json.dumps(tables, default=_plain))
        return Experiment._of(changed, self._net if path[0] != "network" else None)

    def get(self, key: str) -> Any:
        """The value of a key.

        Parameters
        ----------
        key : str
            A table and a key.

        Returns
        -------
        object
            The value in the file of the experiment.
        """
        found: Any = self.tables()
        for part in str(key).split("."):
            if not isinstance(found, dict) or part not in found:
                known = ", ".join(found) if isinstance(found, dict) else "none"
                raise KeyError(f"{key}: there is no `{part}`; keys: {known}")
            found = found[part]
        return found

    def tables(self) -> dict[str, Any]:
        """All tables with all keys.

        Returns
        -------
        dict
            As in the file.
        """
        return dict(json.loads(self._made.to_json()))

    def to_toml(self) -> str:
        """The experiment with all keys.

        Returns
        -------
        str
            TOML, which `load` and `spikelet train` read.
        """
        return self._made.to_toml()

    def save(self, path: PathLike) -> None:
        """Writes the experiment with all keys.

        Parameters
        ----------
        path : path
            A TOML file, which is replaced.
        """
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_toml())

    @property
    def network(self) -> Network:
        """The network; after `run`, with the trained weights."""
        if self._net is None:
            self._net = Network._of(self._made.network)
        return self._net

    def run(
        self,
        folder: PathLike | None = "runs",
        *,
        data_folder: PathLike | None = None,
        download: bool = False,
        device: str | None = None,
        resume: bool = False,
        force: bool = False,
        restore_best: bool = False,
        progress: bool = True,
        on_epoch: Callable[[dict[str, Any]], Any] | None = None,
    ) -> FitReport:
        """Trains the network on the data set of the experiment, as the command line does.

        Parameters
        ----------
        folder : path or None
            `"runs"`: a new folder in `runs/NETWORK`, named by date and number; another path: this folder; None: no files.
        data_folder : path, optional
            The folder of data sets; by default `$SPIKELET_DATA`, or else `data`.
        download : bool
            Whether missing files are downloaded.
        device : str, optional
            In place of that of the experiment.
        resume, force : bool
            Continues the run in the folder, or replaces it.
        restore_best : bool
            Whether the network has the weights of the best epoch afterwards.
        progress : bool
            Whether the progress is shown.
        on_epoch : callable, optional
            Called with the entry of the history after each epoch; a true result ends the run.

        Returns
        -------
        FitReport
            The history, and the paths of the files.
        """
        place = data_folder if data_folder is not None else os.environ.get("SPIKELET_DATA", "data")
        split, experiment = self._made.load(os.fspath(place), download)
        native = experiment.network
        if self._net is None or self._net.spec() != json.loads(native.to_json()):
            self._net = Network._of(native)
        net = self._net
        own, threads = experiment.device
        net.to(device or own, threads)
        epochs, batch = experiment.sizes
        train = split.part("train")
        steps = 1 if train is None else max(len(train) // batch, 1)
        bar = shown(progress, epochs, steps)
        options: dict[str, Any] = {"resume": resume, "force": force, "restore_best": restore_best}
        if folder is not None and os.fspath(folder) == "runs" and not resume:
            options["new_folder_in"] = os.path.join("runs", native.name)
        else:
            options["folder"] = None if folder is None else os.fspath(folder)

        step, epoch = bar.callbacks(on_epoch)
        bar.start()
        net._settings = json.loads(experiment.settings(split))
        try:
            report = experiment.run(net._model, split, json.dumps(options), step if progress else None, epoch)
        finally:
            bar.close()
        return FitReport._of(report)

    def __repr__(self) -> str:
        epochs, batch = self._made.sizes
        return f"<Experiment {self._made.network.name}: {epochs} epochs, batches of {batch}>"


def _plain(value: Any) -> Any:
    if hasattr(value, "spec"):
        return value.spec()
    if hasattr(value, "item"):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"value: {type(value).__name__} was given\n  help: give numbers, strings, lists and dictionaries")
