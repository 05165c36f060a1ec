"""Sensitivity levels at run time: raising, changes by an operator, and the socket for servers in a sandbox."""
