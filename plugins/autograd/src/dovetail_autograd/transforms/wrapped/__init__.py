"""Wrapped tensors: their arrays, the levels they belong to, and the calls on them."""
