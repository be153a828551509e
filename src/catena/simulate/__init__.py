"""Runs: one, step by step, or many; accuracy, events, loads, inputs."""
