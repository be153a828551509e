"""Sweeps: up to millions of members in chunks, on any engine, into a folder that an interrupted run continues."""
