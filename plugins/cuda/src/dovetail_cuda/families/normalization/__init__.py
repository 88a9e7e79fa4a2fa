"""Normalization over channels, groups of channels and the last dimensions."""
