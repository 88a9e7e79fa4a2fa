"""Recomputation of what a checkpoint left out: its frames, its random states, its choices."""
