"""Kernels by family of the base library."""
