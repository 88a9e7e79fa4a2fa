"""Changes of the operator table: definitions, kernels, rules, fallbacks and transactions."""
