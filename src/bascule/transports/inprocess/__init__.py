"""Servers in the same process: functions, server objects and worker threads."""
