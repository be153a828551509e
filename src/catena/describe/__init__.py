"""What a user describes: bodies, joints, couplings, forces, and the mechanism they make."""
