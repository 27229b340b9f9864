"""What serves the chapters only: their figures, what displays source and sums, exercises, the running example."""
