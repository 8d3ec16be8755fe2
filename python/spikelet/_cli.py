"""The command `spikelet`."""

from __future__ import annotations

import signal
import sys

__all__ = ["main"]


def main() -> int:
    """Runs the command line.

    Returns
    -------
    int
        The exit code.
    """
    from . import _native

    # The program has its own handling of Ctrl-C: it saves, and ends.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.command_line([sys.executable, "-m", "spikelet"], sys.argv[1:])
