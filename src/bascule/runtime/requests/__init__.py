"""Kinds of requests, as data for the executor: tool call, task, prompt, resource, completion, subscription."""
