"""Plans of calls: of array kernels, of tensor kernels, and of the layers above them."""
