"""Borders around tensors by PyTorch's names of old, and diagonals that are filled."""
