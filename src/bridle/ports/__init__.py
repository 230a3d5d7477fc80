"""What the engine needs from the world, as small protocols."""
