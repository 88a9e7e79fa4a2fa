"""Sparse tensors, as ``torch.sparse``: products, sums, softmax, and legacy constructors.

`sparse_coo_tensor` creates a tensor in coordinate form, `sparse_csr_tensor` and `sparse_csc_tensor`
in compressed rows and columns. Block layouts raise an error.
"""

from ..names.stubs import attach_stub as _attach_stub

__getattr__ = _attach_stub(
    __name__, "There are products, sums, softmax and conversions; for other functions to_dense()."
)
