"""Three calls that change the same files at once, against a model, whatever is done and undone in whatever order."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from bascule.core.errors import WorkspaceError
from bascule.core.undo.transaction import Ending, Transaction
from bascule.workspace import Workspace
from support.workspaces import in_call, slots, tree

SCALE = 10 if os.environ.get("BASCULE_SOAK") == "1" else 1
SETTINGS = settings(max_examples=(200 if SCALE > 1 else 25), stateful_step_count=30, deadline=None, database=None)

FILES = st.sampled_from(["a", "b", "d/x", "d/y", "e/f/g"])
CALLS = st.sampled_from([0, 1, 2])
DOERS = st.sampled_from([0, 0, 1, 1, 2, 2, None])
"""A call, or nobody's."""
CONTENTS = st.text("xyz", max_size=4)


class Bench(RuleBasedStateMachine):
    """A workspace, and three calls that begin when they first do something."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="bascule-model-")
        self.home = Path(self.folder.name) / "home"
        self.workspace = Workspace(self.home)
        for path in ("a", "d/x", "d/y"):
            self.workspace.write_text(path, f"old {path}")
        self.calls: list[Transaction | None] = [None, None, None]

    def call(self, number: int | None) -> Transaction:
        if number is None:
            # One that is over: whatever is done in its course is nobody's to undo.
            over = Transaction()
            over.commit()
            return over
        found = self.calls[number]
        if found is None:
            found = self.calls[number] = Transaction()
        return found

    def end(self, number: int, *, keep: bool) -> Transaction | None:
        call, self.calls[number] = self.calls[number], None
        if call is not None:
            ending, problems = call.commit() if keep else call.rollback()
            assert problems == ()
            assert ending in {Ending.NOTHING, Ending.KEPT, Ending.RESTORED}
        return call

    def files(self) -> dict[str, str]:
        return {name: text for name, text in tree(self.home / "files").items() if text is not None}

    @invariant()
    def the_attic_holds_nothing_for_nobody(self) -> None:
        if not any(self.calls):
            assert slots(self.home) == []

    def teardown(self) -> None:
        self.workspace.close()
        assert not list((self.home / "attic").glob("*")) or any(self.calls)
        self.folder.cleanup()


class LayersModel(Bench):
    """Every path has a value, and a stack of who changed it with what they found."""

    def __init__(self) -> None:
        super().__init__()
        self.live = self.files()
        self.stacks: dict[str, list[list[Any]]] = {}

    def change(self, call: Transaction | None, path: str, value: str | None) -> None:
        stack = self.stacks.setdefault(path, [])
        if call is None or call.over:
            stack.clear()
        elif not stack or stack[-1][0] is not call:
            stack.append([call, self.live.get(path)])
        self.live.pop(path, None)
        if value is not None:
            self.live[path] = value

    @rule(who=DOERS, path=FILES, text=CONTENTS)
    def write(self, who: int | None, path: str, text: str) -> None:
        with in_call(self.call(who)) as call:
            self.workspace.write_text(path, text)
        self.change(call, path, text)

    @rule(who=DOERS, path=FILES, text=CONTENTS)
    def write_by_file_object(self, who: int | None, path: str, text: str) -> None:
        with in_call(self.call(who)) as call, self.workspace.open(path, "w") as file:
            file.write(text)
        self.change(call, path, text)

    @rule(who=DOERS, path=FILES, text=CONTENTS)
    def append(self, who: int | None, path: str, text: str) -> None:
        with in_call(self.call(who)) as call, self.workspace.open(path, "a") as file:
            file.write(text)
        self.change(call, path, self.live.get(path, "") + text)

    @rule(who=DOERS, path=FILES)
    def delete(self, who: int | None, path: str) -> None:
        if path in self.live:
            with in_call(self.call(who)) as call:
                self.workspace.delete(path)
            self.change(call, path, None)

    @rule(who=DOERS, path=FILES, to=FILES)
    def rename(self, who: int | None, path: str, to: str) -> None:
        if path in self.live and path != to:
            with in_call(self.call(who)) as call:
                self.workspace.rename(path, to)
            text = self.live[path]
            self.change(call, path, None)
            self.change(call, to, text)

    @rule(number=CALLS)
    def commit(self, number: int) -> None:
        call = self.end(number, keep=True)
        for stack in self.stacks.values():
            mine = [at for at, layer in enumerate(stack) if layer[0] is call]
            del stack[: mine[-1] + 1 if mine else 0]

    @rule(number=CALLS)
    def rollback(self, number: int) -> None:
        call = self.end(number, keep=False)
        for path, stack in self.stacks.items():
            while any(layer[0] is call for layer in stack):
                at = max(at for at, layer in enumerate(stack) if layer[0] is call)
                _, found = stack.pop(at)
                if at < len(stack):
                    stack[at][1] = found
                    continue
                self.live.pop(path, None)
                if found is not None:
                    self.live[path] = found

    @invariant()
    def every_file_is_as_the_model_says(self) -> None:
        assert self.files() == self.live

    @invariant()
    def what_is_used_is_what_is_there(self) -> None:
        quota = self.workspace._files._quota
        assert quota._used in {None, quota._count()}


class UndoneModel(Bench):
    """Whatever three calls do to files, folders and links: when all were undone, nothing has happened."""

    def __init__(self) -> None:
        super().__init__()
        (self.home / "files" / "link").symlink_to("d/x")
        self.before = tree(self.home / "files")

    def tried(self, who: int, act: Any, *args: Any) -> None:
        # Not everything fits: a folder is not deleted that is not empty.
        with in_call(self.call(who)), suppress(WorkspaceError):
            act(*args)

    PATHS = st.sampled_from(["a", "d", "d/x", "d/y", "e", "e/f", "e/f/g", "a/z", "link", "l"])

    @rule(who=CALLS, path=PATHS, text=CONTENTS)
    def write(self, who: int, path: str, text: str) -> None:
        self.tried(who, self.workspace.write_text, path, text)

    @rule(who=CALLS, path=PATHS)
    def make_folder(self, who: int, path: str) -> None:
        self.tried(who, self.workspace.make_folder, path)

    @rule(who=CALLS, path=PATHS)
    def delete(self, who: int, path: str) -> None:
        self.tried(who, self.workspace.delete, path)

    @rule(who=CALLS, path=PATHS)
    def delete_tree(self, who: int, path: str) -> None:
        self.tried(who, self.workspace.delete_tree, path)

    @rule(who=CALLS, path=PATHS, to=PATHS)
    def rename(self, who: int, path: str, to: str) -> None:
        self.tried(who, self.workspace.rename, path, to)

    @rule(number=CALLS)
    def rollback(self, number: int) -> None:
        self.end(number, keep=False)

    @invariant()
    def when_all_is_undone_nothing_has_happened(self) -> None:
        if not any(self.calls):
            assert tree(self.home / "files") == self.before

    def teardown(self) -> None:
        for number in range(3):
            self.end(number, keep=False)
        self.when_all_is_undone_nothing_has_happened()
        super().teardown()


LayersModel.TestCase.settings = SETTINGS
UndoneModel.TestCase.settings = SETTINGS
TestLayers = LayersModel.TestCase
TestUndone = UndoneModel.TestCase
