"""Dashboard of a cluster: queries to the other workers, and the merge of their views."""
