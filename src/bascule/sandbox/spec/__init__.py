"""Specification of a sandbox: order, limits, seccomp filter and the command that runs inside."""
