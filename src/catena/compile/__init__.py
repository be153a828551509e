"""From a description to the flat arrays of the core."""
