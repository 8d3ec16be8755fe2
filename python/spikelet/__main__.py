"""`python -m spikelet` is the command `spikelet`."""

import sys

from ._cli import main

sys.exit(main())
