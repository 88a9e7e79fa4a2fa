"""Recomputation of tensors that a checkpoint did not save: frames, random states, policies."""
