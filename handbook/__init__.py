"""Documentation site: reference pages generated from the code, pages staged for Zensical, check of the built site."""
