"""Datasets, samplers and `DataLoader`, as ``torch.utils.data``."""

from ...names.stubs import attach_stub as _attach_stub

__getattr__ = _attach_stub(__name__)
