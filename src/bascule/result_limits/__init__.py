"""How much is shown: type-aware previews, and the limiter that puts them in place of long results."""

from bascule.config.model.result_presets import PRESETS, Preset
from bascule.result_limits.limiter import Limited, Saver, limited

__all__ = ["PRESETS", "Limited", "Preset", "Saver", "limited"]
