"""Benchmarks: ratios of time and memory, measured side by side in one run."""
