"""`python -m studio_tui` is the command `studio-tui`."""

from __future__ import annotations

import sys

from studio_tui.cli import main

if __name__ == "__main__":
    sys.exit(main())
