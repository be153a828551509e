"""Kinematics: states and nodes, joint coordinates, and constraint rows and gaps at a pose."""
