"""Sensitivity levels at run time: raising, changes by an operator; servers raise through `sandbox/raise_socket`."""
