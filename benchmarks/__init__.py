"""One script per promise, each a ratio to its limit measured in the same run; `python -m benchmarks` runs all."""
