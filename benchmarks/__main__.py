"""Run every benchmark, or those named: `python -m benchmarks store turn`. Ends with 1 if a promise is not kept."""

from __future__ import annotations

import importlib
import sys

SCRIPTS = ("store", "turn", "wire", "recorder", "handoff", "startup", "studio", "experiments", "transcripts")


def main() -> int:
    """Print each promise as it is measured; the exit status says whether all were kept."""
    kept = True
    for name in sys.argv[1:] or SCRIPTS:
        for found in importlib.import_module(f"benchmarks.{name}").promises():
            print(found, flush=True)
            kept = kept and found.kept
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
