"""The Transformer in NumPy, float64: plain functions, with gradients derived by hand."""
