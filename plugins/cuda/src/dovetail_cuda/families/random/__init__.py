"""Random numbers drawn by kernels."""
