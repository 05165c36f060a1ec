"""A server that reads nothing until it gets SIGUSR1, so that its stdin fills up; from then on it is a puppet."""

import sys

from light import signal
from puppet import serve

signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
print('{"jsonrpc": "2.0", "method": "notifications/deaf"}', flush=True)
signal.sigwait({signal.SIGUSR1})
serve(sys.argv[1])
