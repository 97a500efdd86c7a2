# SPDX-License-Identifier: LGPL-2.1-or-later
"""The extension of IPython, `%load_ext genv`: before a cell runs, a parked environment is resumed.

The cell's output says so, and shows the queue while it waits. Interrupting the kernel cancels the wait, and the cell does
not run, because its first use of a GPU would never end. Without an environment or the service, cells run as usual.
IPython calls these functions; the package does not need it.
"""

from __future__ import annotations

import contextlib
import contextvars
import signal
import threading
import time
from typing import Any, Iterator, List, Optional

from genv import activation, parking, queueing, variables
from genv.connection import Connection
from genv.errors import Error, NotParked
from genv.service import Parking

_BETWEEN_LOOKS = 0.5

_GIBIBYTE = 2**30
_MEBIBYTE = 2**20


def _amount(count: int) -> str:
    return f"{count / _GIBIBYTE:.1f} GiB" if count >= _GIBIBYTE else f"{count / _MEBIBYTE:.0f} MiB"


def _gpus(indices: List[int]) -> str:
    return f"GPU{'' if len(indices) == 1 else 's'} {', '.join(map(str, sorted(indices)))}"


def _say(text: str) -> None:
    print(f"genv: {text}", flush=True)


def _state() -> Optional[Parking]:
    """Returns the state of the kernel's environment, or None without one or while the service is stopped."""
    eid = variables.environment_id()
    if eid is None:
        return None
    try:
        with Connection(starts_service=False) as connection:
            return activation.current(connection, eid).parking
    except Error:
        return None


def _place(gpus: str) -> Optional[str]:
    eid = variables.environment_id()
    waits = queueing.queue()
    for number, wait in enumerate(waits, 1):
        if wait.eid == eid:
            start = f", expected to start at {wait.expected_start:%H:%M}" if wait.expected_start else ""
            return f"waiting for {gpus}, number {number} of {len(waits)} in the queue{start}"
    return None


class _Progress(threading.Thread):
    """Tells about the wait of another thread, each state once."""

    def __init__(self, gpus: str) -> None:
        super().__init__(name="genv-resume", daemon=True)
        self._gpus = gpus
        self._ended = threading.Event()
        # The output belongs to the cell that waits.
        self._context = contextvars.copy_context()

    def run(self) -> None:
        self._context.run(self._watch)

    def end(self) -> None:
        self._ended.set()
        self.join()

    def _watch(self) -> None:
        told = None
        while not self._ended.is_set():
            with contextlib.suppress(Error):
                text = self._text()
                if text not in (None, told) and not self._ended.is_set():
                    _say(str(text))
                    told = text
            self._ended.wait(_BETWEEN_LOOKS)

    def _text(self) -> Optional[str]:
        state = parking.parking()
        if state.state == "parked":
            return _place(self._gpus)
        return state.problem if state.state == "resuming" else None


@contextlib.contextmanager
def _progress(gpus: str) -> Iterator[None]:
    shown = _Progress(gpus)
    shown.start()
    try:
        yield
    finally:
        shown.end()


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Lets an interrupt end a call at once. The kernel handles it itself while an asynchronous cell runs."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


class _Resumption:
    """The hooks of one shell. The second one can keep a cell from running, the first one cannot."""

    def __init__(self, shell: Any) -> None:
        from IPython.core.error import InputRejected

        class StillParked(InputRejected):  # type: ignore[misc]
            """The cell did not run, because the environment is still parked."""

            def _render_traceback_(self) -> List[str]:
                return [f"{type(self).__name__}: {self}"]

        self._shell = shell
        self._rejection = StillParked
        self._refusal: Optional[str] = None

    def register(self) -> None:
        self._shell.events.register("pre_run_cell", self.before_cell)
        self._shell.ast_transformers.append(self)

    def unregister(self) -> None:
        self._shell.events.unregister("pre_run_cell", self.before_cell)
        self._shell.ast_transformers.remove(self)

    def before_cell(self, _info: Any = None) -> None:
        """Resumes the environment if it is parked."""
        self._refusal = None
        try:
            with _interruptible():
                self._resume()
        except KeyboardInterrupt:
            self._refusal = "interrupted; the cell did not run"
        except Error as error:
            self._refusal = f"cannot resume the environment; the cell did not run: {error}"

    def visit(self, tree: Any) -> Any:
        """Lets IPython run a cell, or raises InputRejected."""
        refusal, self._refusal = self._refusal, None
        if refusal is not None:
            raise self._rejection(refusal)
        return tree

    @staticmethod
    def _resume() -> None:
        state = _state()
        while state is not None and state.state == "parking":
            time.sleep(_BETWEEN_LOOKS)
            state = _state()
        if state is None or state.state == "active":
            return
        began = time.monotonic()
        gpus = _gpus([device.index for device in state.devices])
        taker = f" for {state.taken_by}" if state.taken_by else ""
        _say(f"the environment is parked{taker}; resuming {_amount(state.memory)} on {gpus}")
        with _progress(gpus):
            try:
                devices = parking.resume(wait=True)
            except NotParked:  # somebody else has just resumed it
                return
        _say(f"resumed on {_gpus(devices)} after {time.monotonic() - began:.0f} s")


_NAME = "_genv_resumption"


def load_ipython_extension(shell: Any) -> None:
    """IPython's `%load_ext genv`: resumes a parked environment before each cell runs."""
    if getattr(shell, _NAME, None) is None:
        resumption = _Resumption(shell)
        resumption.register()
        setattr(shell, _NAME, resumption)


def unload_ipython_extension(shell: Any) -> None:
    """IPython's `%unload_ext genv`."""
    resumption = getattr(shell, _NAME, None)
    if resumption is not None:
        setattr(shell, _NAME, None)
        resumption.unregister()
