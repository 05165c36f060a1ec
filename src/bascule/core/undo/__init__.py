"""Undo of the local changes of one call: the transaction and the stack of earlier states."""
