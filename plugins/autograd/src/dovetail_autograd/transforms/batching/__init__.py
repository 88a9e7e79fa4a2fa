"""`vmap`: the interpreter of calls on batched tensors, and the rules that it uses."""
