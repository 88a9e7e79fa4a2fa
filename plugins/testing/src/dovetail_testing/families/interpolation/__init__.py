"""Resampling: interpolation, and sampling at the points of a grid."""
