"""Poses that close: forward kinematics, assembly, which rows of loops are enforced, what holds massless bodies."""
