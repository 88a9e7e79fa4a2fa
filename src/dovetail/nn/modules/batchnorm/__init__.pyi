from .batch_norms import *
from .batch_norms import _BatchNorm as _BatchNorm
from .batch_norms import _NormBase as _NormBase
from .lazy_batch_norms import *
from .lazy_batch_norms import _LazyNormBase as _LazyNormBase
from .sync_batch_norm import *
