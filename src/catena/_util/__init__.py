"""What knows nothing of mechanisms: rotations, checks of numbers, names, files, memory, errors."""
