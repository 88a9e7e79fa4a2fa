"""Functions of neural networks with PyTorch's signatures, each a thin layer over operators."""

from dovetail_kernel import publish_name as _publish_name

from ...names.stubs import attach_stub as _attach_stub
from .activations import logsigmoid as _logsigmoid

__getattr__ = _attach_stub(__name__)
_publish_name(__name__, "logsigmoid", _logsigmoid, called="log_sigmoid")
