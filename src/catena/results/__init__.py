"""What a run leaves: nodes, trajectories, what follows from them."""
