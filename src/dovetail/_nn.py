"""The operators of neural networks that are not functions at the top, where PyTorch has
``torch._C._nn``.
"""

from dovetail_aten import functions

linear = functions.linear
pad = functions.pad
one_hot = functions.one_hot
leaky_relu = functions.leaky_relu
leaky_relu_ = functions.leaky_relu_
elu = functions.elu
elu_ = functions.elu_
gelu = functions.gelu
gelu_ = functions.gelu_
silu = functions.silu
silu_ = functions.silu_
softplus = functions.softplus
hardtanh = functions.hardtanh
hardtanh_ = functions.hardtanh_
log_sigmoid = functions.log_sigmoid
nll_loss = functions.nll_loss
nll_loss_nd = functions.nll_loss_nd
cross_entropy_loss = functions.cross_entropy_loss
mse_loss = functions.mse_loss
l1_loss = functions.l1_loss
smooth_l1_loss = functions.smooth_l1_loss
binary_cross_entropy_with_logits = functions.binary_cross_entropy_with_logits
