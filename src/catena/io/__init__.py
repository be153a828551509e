"""Files: robot models, mechanisms and trajectories, tables."""
