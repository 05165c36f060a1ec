"""Execution of one request: executor, authorization, retries, input rounds, rollback and wrappers."""
