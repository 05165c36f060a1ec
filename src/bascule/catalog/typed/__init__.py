"""Typed tools: dataclasses made from their JSON Schemas, conversion of values, and the generated stub module."""
