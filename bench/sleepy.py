"""The echo server, which first sleeps two seconds, as one that has much to load would."""

import runpy
import time
from pathlib import Path

time.sleep(2)
runpy.run_path(str(Path(__file__).parent.parent / "tests" / "servers" / "echo.py"), run_name="__main__")
