"""Checks that the kernels of several families share."""
