"""Tensors side by side, of more dimensions, turned round, repeated over a grid."""
