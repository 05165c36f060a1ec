"""Execution of one request of any kind: executor, authorization, retries, input rounds, rollback, wrappers."""
