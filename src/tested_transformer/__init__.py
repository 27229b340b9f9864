"""The Tested Transformer: the architecture of "Attention Is All You Need", from scratch, with every number checked."""
