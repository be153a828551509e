"""Where bodies are: states and nodes, coordinates of joints, rows and gaps at a pose."""
