"""English sentences and their German translations, from a grammar of our own."""
