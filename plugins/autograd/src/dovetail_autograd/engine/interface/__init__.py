"""What programs ask of the engine: `backward`, the attributes of tensors, hooks and plans."""
