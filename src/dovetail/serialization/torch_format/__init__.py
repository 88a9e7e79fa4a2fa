"""Reading `torch.save` files without running code, and writing them."""
