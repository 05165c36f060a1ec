"""Full-text search over tools: index, tokenizer, and the meta-tools through which a model searches."""
