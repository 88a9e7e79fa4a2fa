"""Functions that make tensors of a given size: by shape, like another one, at random."""
