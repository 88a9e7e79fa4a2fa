"""Traces of calls: their spans, their kernels, and their printed forms."""
