"""Models that others have trained and published, read into the models of this package."""
