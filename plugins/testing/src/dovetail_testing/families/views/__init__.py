"""Operators of this family: declared, and sampled."""
