"""Borders around tensors by PyTorch's old names, and diagonals that are filled."""
