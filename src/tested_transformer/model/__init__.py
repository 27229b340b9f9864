"""The Transformer in PyTorch: modules to import, train and reuse."""
