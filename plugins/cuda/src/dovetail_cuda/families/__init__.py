"""Kernels by family of the base library, each in one launch where the generic ones take many."""
