"""Arrays that kernels return and write: their tensors and aliases, and the writes."""
