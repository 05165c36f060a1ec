"""A server that says on stderr what it waits for, reads, and never answers."""

import sys

print(sys.argv[1], file=sys.stderr, flush=True)
sys.stdin.read()
