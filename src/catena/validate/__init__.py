"""Benchmark problems of the field, with reference solutions: `python -m catena validate`."""
