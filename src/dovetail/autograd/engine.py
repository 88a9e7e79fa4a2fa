"""The engine, its tasks, queue and buffers, under the names that they have in PyTorch's C++."""

from dovetail_kernel import attach_stub as _attach_stub

__getattr__ = _attach_stub(__name__)
