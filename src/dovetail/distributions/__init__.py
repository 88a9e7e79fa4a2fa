"""Probability distributions of tensors: samples, densities, moments, gradients through samples, and
divergences; transforms, and constraints of their arguments and values.
"""

from ..names.stubs import attach_stub as _attach_stub

__getattr__ = _attach_stub(__name__)
