"""Composite kernels: operators written as calls of other operators, over tensors, so that they differentiate by themselves."""
