"""Form actions of the dashboard: approvals of tools, answers to pending approvals, and raises of a level."""

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from bascule.core.sensitivity import DataSensitivity
from bascule.dashboard.auth.login import ROOT
from bascule.dashboard.pages.routes import Pages
from bascule.dashboard.pages.templates import LEVELS, picked
from bascule.dashboard.views.interface import Deeds
from bascule.dashboard.views.shapes import Deed

LONGEST_REASON = 200
"""Characters of why somebody raised a level."""

UNREADABLE = Deed(ok=False, told="The form was not understood. Load the page again.")


class Acts:
    """All that can be done. `by` is who does it, as the audit log names them."""

    def __init__(self, deeds: Deeds, pages: Pages, by: str) -> None:
        self._deeds = deeds
        self._pages = pages
        self._by = by

    async def approve(self, request: Request) -> Response:
        form = request.state.form
        chosen = [picked(word) for word in form.get("pick", [])]
        digests = dict(each for each in chosen if each is not None)
        if not chosen:
            deed = Deed(ok=False, told="Nothing was chosen, so nothing was approved.")
        elif len(digests) != len(chosen):
            deed = UNREADABLE
        else:
            deed = await self._deeds.approve(first(form, "server"), digests, by=self._by)
        return await self._told(request, deed, f"{ROOT}/catalog")

    async def answer(self, request: Request) -> Response:
        form = request.state.form
        said = first(form, "answer")
        if said not in {"agree", "refuse"}:
            return await self._told(request, UNREADABLE, f"{ROOT}/asks")
        deed = await self._deeds.answer(first(form, "ask"), agree=said == "agree", by=self._by)
        return await self._told(request, deed, f"{ROOT}/asks")

    async def raise_session(self, request: Request) -> Response:
        form, session_id = request.state.form, request.path_params["session_id"]
        level, reason = first(form, "level"), first(form, "reason")[:LONGEST_REASON]
        back = f"{ROOT}/sessions/{quote(session_id, safe='')}"
        if level not in LEVELS:
            return await self._told(request, UNREADABLE, back)
        wanted = DataSensitivity[level.upper()]
        return await self._told(
            request, await self._deeds.raise_session(session_id, wanted, by=self._by, reason=reason), back
        )

    async def _told(self, request: Request, deed: Deed, back: str) -> Response:
        """What went well shows on the page it changed. What did not is told, with the reason."""
        if deed.ok:
            return RedirectResponse(back, 303)
        return await self._pages.show(request, "not_done.html", status=409, deed=deed, back=back)


def first(form: dict[str, list[str]], name: str) -> str:
    return form.get(name, [""])[0]
