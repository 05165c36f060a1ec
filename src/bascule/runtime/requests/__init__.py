"""Operations of a session: tool calls, tasks, and other requests."""
