"""Size limits of results: type-aware previews, and the limiter that saves a long result and shows a preview."""

from bascule.config.model.result_presets import PRESETS, Preset
from bascule.result_limits.limiter import Limited, Saver, limited

__all__ = ["PRESETS", "Limited", "Preset", "Saver", "limited"]
