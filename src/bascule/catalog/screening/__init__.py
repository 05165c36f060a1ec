"""Prompt-injection screening of tool definitions: hidden characters, confusable letters, instructions to the model."""
