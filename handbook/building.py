"""Build of the documentation site: from the pages to a folder that any web server can serve."""

import shutil
import subprocess
import sys
from pathlib import Path

from handbook import llms
from handbook.navigation import ROOT
from handbook.reading import problems
from handbook.staging import stage

STAGED = ROOT / "build/handbook"
SITE = ROOT / "build/site"


def build(site: Path = SITE, staged: Path = STAGED) -> list[str]:
    """Builds it, and says what is wrong with it: nothing, where all is well."""
    stage(staged)
    command = [Path(sys.executable).with_name("zensical"), "build", "--strict", "--clean", "-f", staged / "mkdocs.yml"]
    ran = subprocess.run(command, cwd=staged, capture_output=True, text=True, check=False)
    if ran.returncode:
        return [(ran.stdout + ran.stderr).strip()]
    shutil.rmtree(site, ignore_errors=True)
    site.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(staged / "site", site)
    llms.write(site)
    return problems(site)
