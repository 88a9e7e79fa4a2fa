"""Functions that derivative formulas call: written once, over tensors and over a backend's arrays
alike.

The first argument of each is `k`, the namespace of operators: the operator functions for tensors
(then the result is itself differentiable), the array kernels for arrays. What tensors and arrays
spell alike is used directly: ``x.shape``, ``x.ndim``, ``x.dtype``; everything else goes through
`k`, under the operators' base names. A few functions need more than arrays have; modules list
theirs in `TENSORS_ONLY`. Generated code imports each from its module.
Those of one family lie in its folder.
"""
