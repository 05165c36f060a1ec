"""Image of sandboxes that use the host's own programs: only links and small files, built where it is missing. It
contains no secret."""

import hashlib
import io
import tarfile
from pathlib import PurePosixPath

from bascule.core.errors import SandboxError
from bascule.core.json_types import as_object
from bascule.sandbox.docker.api import Engine, EngineRefused
from bascule.sandbox.docker.container_spec import TMP
from bascule.sandbox.spec.box import Box

REPOSITORY = "bascule/box"

FOLDERS = ("/dev", "/etc", "/home", "/proc", "/run", "/sys", TMP, "/usr", "/var", "/workspace")
"""Where something is mounted in most boxes. The engine makes what else is needed."""

TAKEN_WITHIN = 60.0
"""Seconds for an engine to take an image of some kilobytes. On a busy machine it takes one."""


def packed(box: Box) -> bytes:
    """An archive of what stands in a box beside its mounts; of the same, the same bytes."""
    links = {link.path: link.to for link in box.links}
    paths = sorted({*FOLDERS, *links, *box.files})
    folders = {str(folder) for path in paths for folder in PurePosixPath(path).parents} - {"/"}
    tape = io.BytesIO()
    with tarfile.open(fileobj=tape, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted({*paths, *folders}):
            entry = tarfile.TarInfo(path.lstrip("/"))
            # Where something is mounted, the mode of the folder below is what some runtimes give it.
            entry.mode = 0o1777 if path == TMP else 0o755
            if path in links:
                entry.type, entry.linkname = tarfile.SYMTYPE, links[path]
                archive.addfile(entry)
            elif path in box.files:
                text = box.files[path].encode()
                entry.mode, entry.size = 0o644, len(text)
                archive.addfile(entry, io.BytesIO(text))
            else:
                entry.type = tarfile.DIRTYPE
                archive.addfile(entry)
    return tape.getvalue()


async def image_of(engine: Engine, box: Box) -> str:
    """The name of the image of a box. It is named by what is in it."""
    archive = packed(box)
    tag = hashlib.sha256(archive).hexdigest()[:24]
    name = f"{REPOSITORY}:{tag}"
    if await engine.find(f"/images/{name}/json") is None:
        await engine.ask("POST", f"/images/create?fromSrc=-&repo={name}", archive, within=TAKEN_WITHIN)
        # Whether it worked is not told by the status.
        if await engine.find(f"/images/{name}/json") is None:
            raise SandboxError(
                "the container engine did not take the image of boxes",
                where="box",
                evidence=name,
                cause="its disk is full, or it lets nobody import images",
                fix="look into the engine's log, or use `engine: bubblewrap`",
            )
    return name


async def volumes_of(engine: Engine, image: str) -> tuple[str, ...]:
    """For which folders an image wants storage of its own. Raises `SandboxError` if the engine has no such image."""
    try:
        told = await engine.find(f"/images/{image}/json")
    except EngineRefused as error:
        raise _no_image(image, error.said) from error
    if told is None:
        raise _no_image(image, "")
    return tuple(sorted(as_object(as_object(told.get("Config")).get("Volumes"))))


def _no_image(image: str, said: str) -> SandboxError:
    return SandboxError(
        f"the container engine has no image {image}",
        where="box",
        evidence=said,
        cause="images are not fetched while a server is started",
        fix=f"docker pull {image}, or correct `sandbox.image`; `docker images` lists those that are there",
    )
