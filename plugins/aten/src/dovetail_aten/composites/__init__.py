"""Composite kernels: operators written as calls of others, over tensors, so that they differentiate
by themselves.
"""
