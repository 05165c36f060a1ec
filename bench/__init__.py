"""Benchmarks of speed and memory, measured against peers in the same run and reported as ratios."""
