"""Sparse tensors, as ``torch.sparse``: products, sums, and legacy constructors.

`sparse_coo_tensor` makes one in coordinate form, `sparse_csr_tensor` and `sparse_csc_tensor` in
compressed rows and columns. Layouts of blocks are not there, and say so.
"""

from ..names.stubs import attach_stub as _attach_stub

__getattr__ = _attach_stub(
    __name__, "There are products, sums and conversions; for other functions to_dense()."
)
