"""Tools as Python types: their schemas as dataclasses, and values going in and out of those."""
