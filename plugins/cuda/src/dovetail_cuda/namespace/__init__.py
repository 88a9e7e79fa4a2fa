"""CuPy as the array kernels see it, and functions that it lacks or computes otherwise."""
