"""Pieces of tensors: splits, windows, parts written into a copy."""
