"""Recordings of event cameras and cochleas: files, frames, transforms.

Events are structured arrays of numpy with the fields `t` (microseconds), `x`, `y` and `p` (polarity), as tonic has them.

Examples
--------
>>> events = spikelet.events.make(t=[0, 10, 20], x=[1, 2, 3], y=[0, 0, 1], p=[1, 0, 1])
>>> spikelet.events.frames(events, steps=3, sensor=(4, 2)).shape
(3, 2, 2, 4)
"""

from ._arrays import make
from ._files import Reader, Recording, Writer, formats, open, read, write
from ._frames import frames, transform
from ._recordings import Recordings, recordings

__all__ = [
    "Reader",
    "Recording",
    "Recordings",
    "Writer",
    "formats",
    "frames",
    "make",
    "open",
    "read",
    "recordings",
    "transform",
    "write",
]
