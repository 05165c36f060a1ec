"""Interactive prompts on a terminal: confirmation and elicitation."""
