"""``torch.cuda.FloatTensor`` and similar classes: constructors of CUDA tensors, which support
`isinstance`; without CUDA, no tensor is an instance.
"""

import dovetail_aten as aten

BFloat16Tensor = aten.BFloat16Tensor.on("cuda")
BoolTensor = aten.BoolTensor.on("cuda")
ByteTensor = aten.ByteTensor.on("cuda")
CharTensor = aten.CharTensor.on("cuda")
DoubleTensor = aten.DoubleTensor.on("cuda")
FloatTensor = aten.FloatTensor.on("cuda")
HalfTensor = aten.HalfTensor.on("cuda")
IntTensor = aten.IntTensor.on("cuda")
LongTensor = aten.LongTensor.on("cuda")
ShortTensor = aten.ShortTensor.on("cuda")
