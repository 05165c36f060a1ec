"""Shell completion: the scripts for each shell, and the words they complete."""
