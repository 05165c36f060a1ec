"""A server that cannot start: it says why on stderr, and ends with the code it is given."""

import sys

code, why = sys.argv[1:]
print(why, file=sys.stderr, flush=True)
sys.exit(int(code))
