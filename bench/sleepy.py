"""Echo server with a start-up time of two seconds, like a server that has much to load."""

import runpy
import time
from pathlib import Path

time.sleep(2)
runpy.run_path(str(Path(__file__).parent.parent / "tests" / "servers" / "echo.py"), run_name="__main__")
