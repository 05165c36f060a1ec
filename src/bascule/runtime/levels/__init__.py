"""Session levels at run time: escalation, the operator's part, and the socket for servers."""
