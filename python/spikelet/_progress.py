"""The progress of a training in terminals and notebooks."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

__all__ = ["Progress", "Quiet", "progress"]


class Quiet:
    """No output."""

    def start(self) -> None:
        """The training begins."""

    def step(self, event: dict[str, Any]) -> None:
        """A step has ended; called a few times a second."""

    def epoch(self, record: dict[str, Any]) -> None:
        """An epoch has ended."""

    def close(self) -> None:
        """The training has ended."""

    def callbacks(
        self, on_epoch: Callable[[dict[str, Any]], Any] | None
    ) -> tuple[Callable[[str], None], Callable[[str], bool]]:
        """What a run calls with the JSON of each shown step, and of each epoch; the latter says whether the run ends."""

        def step(text: str) -> None:
            event = json.loads(text)
            self.step({**event, "loss": float("nan") if event["loss"] is None else event["loss"]})

        def epoch(text: str) -> bool:
            record = with_nan(json.loads(text))
            self.epoch(record)
            return bool(on_epoch is not None and on_epoch(record))

        return step, epoch


#: What the names of the values of each set of samples begin with.
SETS = ("train_", "validation_", "test_")


def with_nan(record: dict[str, Any]) -> dict[str, Any]:
    """The results of an epoch, from JSON, where a value that is not finite is null, as are those of a set that is missing."""
    there = {name for name in SETS for key, value in record.items() if key.startswith(name) and value is not None}
    there.add("train_")
    return {
        key: float("nan") if value is None and key.startswith(tuple(there)) else value for key, value in record.items()
    }


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    if shell is None:
        return False
    kernel = shell.get_ipython()
    return kernel is not None and hasattr(kernel, "kernel")


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


class Progress(Quiet):
    """A line for each epoch, and a bar that is drawn again and again where the output is a terminal or a notebook."""

    def __init__(self, epochs: int, steps: int) -> None:
        self.epochs, self.steps = max(epochs, 1), max(steps, 1)
        self.done = 0
        self.first = 0
        self.notebook: Any = None
        self.lines: list[str] = []
        self.started = time.monotonic()
        self.live = sys.stderr.isatty()

    def start(self) -> None:
        if _in_notebook():
            from IPython.display import HTML, display  # type: ignore[import-not-found, unused-ignore]

            self._html = HTML
            self.notebook = display(HTML("<pre></pre>"), display_id=True)
            self.live = True

    def step(self, event: dict[str, Any]) -> None:
        if not self.live:
            return
        at = int(event["step"]) - self.first
        share = min(at / self.steps, 1.0)
        full = round(20 * share)
        bar = "█" * full + "·" * (20 - full)
        self._draw(f"epoch {self.done + 1}/{self.epochs} {bar} {at}/{self.steps}  loss {event['loss']:.4f}")

    def epoch(self, record: dict[str, Any]) -> None:
        self.done = int(record["epoch"])
        self.first = self.done * self.steps
        parts = [f"epoch {self.done}/{self.epochs}", f"loss {record['train_loss']:.4f}"]
        for part in ("train", "validation", "test"):
            if record.get(f"{part}_accuracy") is not None:
                parts.append(f"{part} {_percent(record[f'{part}_accuracy'])}")
        parts.append(f"{record['samples_per_second']:,.0f} samples/s")
        self._line("  ".join(parts))

    def close(self) -> None:
        if self.live and self.notebook is None:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()

    def _draw(self, text: str) -> None:
        if self.notebook is not None:
            self._show([*self.lines, text])
        else:
            sys.stderr.write(f"\r\033[K{text}")
            sys.stderr.flush()

    def _line(self, text: str) -> None:
        self.lines.append(text)
        if self.notebook is not None:
            self._show(self.lines)
        elif self.live:
            sys.stderr.write(f"\r\033[K{text}\n")
            sys.stderr.flush()
        else:
            print(text, flush=True)

    def _show(self, lines: list[str]) -> None:
        self.notebook.update(self._html("<pre>" + "\n".join(lines[-30:]) + "</pre>"))


def progress(show: bool, epochs: int, steps: int) -> Quiet:
    """The progress of a training, or none."""
    return Progress(epochs, steps) if show else Quiet()
