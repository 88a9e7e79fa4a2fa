"""``torch.sparse.FloatTensor`` and the other types: constructors of sparse CPU tensors that support
`isinstance`.
"""

import dovetail_kernel as _kernel

from .constructors import typed

BFloat16Tensor = typed("BFloat16Tensor", _kernel.bfloat16)
ByteTensor = typed("ByteTensor", _kernel.uint8)
CharTensor = typed("CharTensor", _kernel.int8)
DoubleTensor = typed("DoubleTensor", _kernel.float64)
FloatTensor = typed("FloatTensor", _kernel.float32)
HalfTensor = typed("HalfTensor", _kernel.float16)
IntTensor = typed("IntTensor", _kernel.int32)
LongTensor = typed("LongTensor", _kernel.int64)
ShortTensor = typed("ShortTensor", _kernel.int16)
