"""Specification of a sandbox, the same for every engine: launch request, resource limits, seccomp, entry command."""
