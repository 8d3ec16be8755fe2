"""Events as structured arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Columns = tuple[Array, Array, Array, Array]

__all__ = ["make", "of_columns", "to_columns"]


def dtype() -> Any:
    import numpy as np

    return np.dtype([("t", np.int64), ("x", np.uint16), ("y", np.uint16), ("p", np.bool_)])


def make(*, t: Any, x: Any, y: Any = None, p: Any = None) -> Array:
    """Events from columns.

    Parameters
    ----------
    t : array_like
        Times in microseconds.
    x, y : array_like
        Columns and rows; of a cochlea, `x` is the channel, and `y` is 0.
    p : array_like, optional
        Polarities, 0 or 1; by default 1.

    Returns
    -------
    numpy.ndarray
        A structured array with the fields `t`, `x`, `y` and `p`.

    Examples
    --------
    >>> spikelet.events.make(t=[5], x=[3])["x"]
    array([3], dtype=uint16)
    """
    import numpy as np

    times = np.asarray(t)
    events: Any = np.empty(times.shape, dtype=dtype())
    for name, values, default in (("t", times, 0), ("x", x, 0), ("y", y, 0), ("p", p, 1)):
        column = default if values is None else np.asarray(values)
        if np.shape(column) not in ((), times.shape):
            raise ValueError(
                f"events: the column `{name}` has the shape {list(np.shape(column))}, `t` has {list(times.shape)}\n"
                "  help: give one value for each event"
            )
        limits = {"x": 65535, "y": 65535, "p": 1}.get(name)
        if limits is not None and np.size(column) and not (np.min(column) >= 0 and np.max(column) <= limits):
            raise ValueError(f"events: the column `{name}` has values outside of 0 to {limits}")
        events[name] = column
    made: Array = events
    return made


def of_columns(columns: Columns) -> Array:
    import numpy as np

    events: Any = np.empty(columns[0].shape, dtype=dtype())
    for name, column in zip(("t", "x", "y", "p"), columns):
        events[name] = column
    made: Array = events
    return made


def to_columns(events: Any) -> Columns:
    import numpy as np

    array = np.asarray(events)
    names = array.dtype.names
    if names is None or not {"t", "x", "p"} <= set(names):
        raise TypeError(
            f"events: an array of {array.dtype} was given\n"
            "  help: give a structured array with the fields t, x, y and p; `spikelet.events.make` makes one of columns"
        )
    array = array.reshape(-1)
    y = array["y"] if "y" in names else np.zeros(array.shape, np.uint16)
    for name, column in (("x", array["x"]), ("y", y)):
        if array.size and (column.min() < 0 or column.max() > 65535):
            raise ValueError(f"events: the column `{name}` has values outside of 0 to 65535")
    p = array["p"]
    if array.size and p.dtype != np.bool_ and (p.min() < -1 or p.max() > 1):
        raise ValueError("events: the column `p` has values other than 0 and 1")
    return (
        np.require(array["t"], dtype=np.int64, requirements=("C", "A")),
        np.require(array["x"], dtype=np.uint16, requirements=("C", "A")),
        np.require(y, dtype=np.uint16, requirements=("C", "A")),
        np.require(p > 0, dtype=np.uint8, requirements=("C", "A")),
    )
