"""Forward mode: dual tensors, the interpreter of calls on them, and tangents."""
