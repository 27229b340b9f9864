"""The running example of the book: three words, width three, whole numbers, to be checked on paper."""

import numpy as np

WORDS = ("I", "love", "AI")

X = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
"""One row for each word."""

W_Q = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
W_K = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
W_V = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
"""Written as the paper writes them, (in, out): queries are X W_Q."""

P = np.array([[0.1, 0.2, 0.3], [0.2, 0.3, 0.4], [0.3, 0.4, 0.5]])
"""Toy positions, one row for each place in the sentence. Not the paper's: those come in the chapter on positions."""
