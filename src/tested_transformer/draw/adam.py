"""Pictures of optimisers."""
