"""Shell completion: scripts for each shell, and the words that they complete."""
