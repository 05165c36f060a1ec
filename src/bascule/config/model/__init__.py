"""Config model: one frozen class per section of bascule.yaml."""
