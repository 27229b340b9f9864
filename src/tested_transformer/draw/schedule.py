"""Pictures of learning rates."""
