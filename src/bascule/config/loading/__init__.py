"""Loading of config files and environment variables: YAML and JSON readers, key table, drafts, and the final model."""
