"""Elements written, or combined with others, at places that index tensors and masks name."""
