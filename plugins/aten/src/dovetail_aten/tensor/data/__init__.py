"""Tensors of what programs have: numbers, sequences, NumPy's and other libraries' arrays."""
