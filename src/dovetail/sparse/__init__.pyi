from .compressed import sampled_addmm as sampled_addmm
from .compressed import spdiags as spdiags
from .constructors import rebuild_sparse_tensor
from .functions import addmm as addmm
from .functions import mm as mm
from .functions import sum as sum
from .legacy_constructors import BFloat16Tensor as BFloat16Tensor
from .legacy_constructors import ByteTensor as ByteTensor
from .legacy_constructors import CharTensor as CharTensor
from .legacy_constructors import DoubleTensor as DoubleTensor
from .legacy_constructors import FloatTensor as FloatTensor
from .legacy_constructors import HalfTensor as HalfTensor
from .legacy_constructors import IntTensor as IntTensor
from .legacy_constructors import LongTensor as LongTensor
from .legacy_constructors import ShortTensor as ShortTensor
from .softmaxes import log_softmax as log_softmax
from .softmaxes import softmax as softmax
