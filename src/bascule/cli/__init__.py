"""Command line `bascule`: entry point, parser, commands and terminal output."""
