"""What robotics asks of a mechanism besides its motion: mass matrix, inverse and forward dynamics, Jacobians, rests."""
