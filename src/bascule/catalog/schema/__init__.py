"""JSON Schema of tools: validation, explanation of wrong arguments, repair, references and cost."""
