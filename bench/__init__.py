"""Speed and memory, measured against peers in the same run and told as ratios."""
