"""One module per command: its options, its code and its output."""
