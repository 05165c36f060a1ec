"""The documentation site: pages made from the code, pages staged for Zensical, and a look at what came out."""
