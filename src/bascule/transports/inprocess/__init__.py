"""Servers in the same process: Python functions as tools, FastMCP and SDK server objects, worker threads."""
