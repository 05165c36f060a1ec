"""From the text of a config file to the model: YAML and JSON readers, key tables, drafts, environment."""
