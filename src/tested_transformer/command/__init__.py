"""The commands: train, translate, evaluate."""
