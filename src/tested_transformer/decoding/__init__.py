"""Decoding: from probabilities of one token to whole sentences."""
