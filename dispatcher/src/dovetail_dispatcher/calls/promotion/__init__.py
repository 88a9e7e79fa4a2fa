"""Python numbers beside tensors, and the dtype that a call computes in."""
