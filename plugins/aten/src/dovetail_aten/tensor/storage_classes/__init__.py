"""`UntypedStorage`, `TypedStorage` and its kinds under their public names, and memory of files."""
