"""All transforms: invertible functions of tensors with the logarithm of their Jacobian."""

from ..names.stubs import attach_stub as _attach_stub

__getattr__ = _attach_stub(__name__)
