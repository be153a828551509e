"""Mechanisms from the files that robots come in, and back: URDF, SDF, and MJCF with MuJoCo as its compiler.

`Mechanism.from_urdf`, `from_sdf`, `from_mjcf`, `to_urdf` and `to_mjcf` are the doors. A reader turns its file into
links and edges (graph.py), from which all mechanisms are built alike; what it does not read it lists in one
ModelWarning. Files are read as if an enemy had written them: no document types, no entities, no network, bounds on
size, depth and numbers, and no file outside the folders of the model (markup.py, folders.py).
"""
