"""Frames and transforms of events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import _native
from ._arrays import of_columns, to_columns
from ._files import Recording, sensor_of

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

__all__ = ["frames", "transform"]


def frames(
    events: Any,
    rule: str | None = None,
    *,
    steps: int | None = None,
    duration: int | None = None,
    by: str = "time",
    sensor: Sequence[int] | None = None,
    size: Sequence[int] | None = None,
    interpolation: str = "nearest",
) -> Array:
    """Frames of events.

    Parameters
    ----------
    events : numpy.ndarray or Recording
        A structured array with the fields `t`, `x`, `y` and `p`.
    rule : str, optional
        How events become frames: `"number=16"` and `"time=16"` as in SpikingJelly, `"time-bins=10"` and
        `"time-windows window=50000"` as in tonic, `"voxel-grid=5"`, `"time-surface"`, …; in place of `steps` or `duration`.
    steps : int, optional
        The number of frames.
    duration : int, optional
        The time of a frame in microseconds.
    by : str
        `"time"`: the frames have the same duration; `"number"`: they have the same number of events.
    sensor : (int, int), optional
        Width and height; by default those of the recording, or the smallest that has all events.
    size : (int, int), optional
        Height and width to which frames are resized.
    interpolation : str
        `"nearest"` or `"bilinear"`.

    Returns
    -------
    numpy.ndarray
        Counts as float32, `[T, 2, H, W]`: channel 0 has the OFF events, channel 1 the ON events.

    Examples
    --------
    >>> events = spikelet.events.make(t=range(0, 100, 10), x=[1] * 10, y=[0] * 10, p=[1] * 10)
    >>> spikelet.events.frames(events, steps=2, sensor=(3, 2)).sum(axis=(1, 2, 3))
    array([5., 5.], dtype=float32)
    """
    given = [rule is not None, steps is not None, duration is not None]
    if sum(given) != 1:
        raise ValueError("frames: give one of `rule`, `steps` and `duration`\n  help: such as `steps=10`")
    if rule is None:
        if by not in ("time", "number"):
            raise ValueError(f"by: {by!r} was given\n  help: use \"time\" or \"number\"")
        rule = f"duration={int(duration)}" if duration is not None else f"{by}={int(steps or 0)}"
    if interpolation not in ("nearest", "bilinear"):
        raise ValueError(f"interpolation: {interpolation!r} was given\n  help: use \"nearest\" or \"bilinear\"")
    width_height = sensor_of(events, sensor)
    if isinstance(events, Recording):
        events = events.events
    pair = None if size is None else (int(size[0]), int(size[1]))
    return _native.event_frames(to_columns(events), rule, width_height, pair, interpolation == "bilinear")


def transform(
    events: Any, *transforms: str, sensor: Sequence[int] | None = None, seed: int = 0, index: int = 0
) -> Array:
    """Events after transforms, as tonic has them.

    Parameters
    ----------
    events : numpy.ndarray or Recording
        A structured array with the fields `t`, `x`, `y` and `p`.
    *transforms : str
        Transforms in their order, such as `"denoise=10000"`, `"flip-x=0.5"`, `"crop-time min=1000 max=9000"`.
    sensor : (int, int), optional
        Width and height, as in `frames`.
    seed, index : int
        The seed, and the number of the sample: random transforms depend on both.

    Returns
    -------
    numpy.ndarray
        A structured array.

    Examples
    --------
    >>> events = spikelet.events.make(t=[0, 9], x=[1, 3], y=[2, 4], p=[1, 0])
    >>> spikelet.events.transform(events, "flip-x=1", "crop-time min=5", sensor=(34, 34)).tolist()
    [(9, 30, 4, False)]
    """
    size = sensor_of(events, sensor)
    if isinstance(events, Recording):
        events = events.events
    columns, _ = _native.transform_events(to_columns(events), list(transforms), size, seed, index)
    return of_columns(columns)
