"""Probability distributions of tensors: samples, densities, moments, reparametrized gradients and
divergences; transforms and constraints.
"""

from ..names.stubs import attach_stub as _attach_stub

__getattr__ = _attach_stub(__name__)
