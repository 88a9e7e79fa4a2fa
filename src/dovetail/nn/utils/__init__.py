"""Functions on the parameters of a model and their gradients, as in ``torch.nn.utils``; rarely used
modules are imported on first access.

May import `module`, `parameter`, `containers`, `convolution` and `functional` of `nn`, and the
packages below.
"""

from ...names.stubs import attach_stub as _attach_stub
from .spectral_norm import spectral_norm as spectral_norm  # functions and their modules: at once
from .weight_norm import weight_norm as weight_norm

__getattr__ = _attach_stub(__name__)
