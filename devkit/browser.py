"""A headless Chromium from npm, driven over its DevTools protocol: what a person does and sees."""

import asyncio
import base64
import json
import os
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect

from devkit.node import from_npm, node
from devkit.shared_data import ROOT

_UNPACK = "import chromium from '@sparticuz/chromium'; console.log(await chromium.executablePath());"
# So that the package unpacks the libraries too that a bare machine does not have.
_WITH_LIBRARIES = {"AWS_EXECUTION_ENV": "AWS_Lambda_nodejs20.x"}
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--no-zygote",
    "--disable-gpu",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--font-render-hinting=none",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-port=0",
)
_KEYS = {
    "Enter": ("Enter", 13),
    "Escape": ("Escape", 27),
    "Tab": ("Tab", 9),
    "ArrowUp": ("ArrowUp", 38),
    "ArrowDown": ("ArrowDown", 40),
    "ArrowLeft": ("ArrowLeft", 37),
    "ArrowRight": ("ArrowRight", 39),
    "F6": ("F6", 117),
    "Delete": ("Delete", 46),
    "PageDown": ("PageDown", 34),
    "PageUp": ("PageUp", 33),
    " ": ("Space", 32),
    "k": ("KeyK", 75),
    "l": ("KeyL", 76),
    "/": ("Slash", 191),
    "o": ("KeyO", 79),
    "z": ("KeyZ", 90),
    "+": ("Equal", 187),
}
_WRITE = {"Enter": "\r", " ": " ", "+": "+"}
_FONTS = "<fontconfig><dir>{folder}/fonts</dir><cachedir>{folder}/cache</cachedir></fontconfig>"
SECONDS = 60.0
MOST_TRIES = 50
_NOT_THERE = "TypeError: Cannot read properties of null"
LET_GO = "none"
"""The method of no request: what comes while held responses are let go is let through."""
_UNTIL = """
new Promise((resolve) => {
  const check = () => {
    if (!(CONDITION)) return;
    watching.disconnect();
    clearInterval(looking);
    removeEventListener("focusin", check);
    resolve(true);
  };
  const watching = new MutationObserver(check);
  watching.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  addEventListener("focusin", check);
  // For what changes without the document: a size, a scrolled place, a variable.
  const looking = setInterval(check, 100);
  check();
})
"""


@dataclass
class Program:
    """An unpacked browser: the command that starts it, and what it needs around it. It runs in its folder."""

    folder: Path
    command: Sequence[str]
    environment: dict[str, str]
    _process: subprocess.Popen[bytes] | None = None

    def address(self) -> str:
        """Of its DevTools protocol; it is started if it does not run, as at first and after a crash."""
        if self._process is None or self._process.poll() is not None:
            self._start()
        until = time.monotonic() + SECONDS
        while len(said := _text_of(self._said_at).split()) < 2:
            assert time.monotonic() < until, "the browser did not start"
            time.sleep(0.05)
        return f"ws://127.0.0.1:{said[0]}{said[1]}"

    def stop(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()

    @property
    def _said_at(self) -> Path:
        """The file to which it writes its port and path."""
        return self.folder / "profile" / "DevToolsActivePort"

    def _start(self) -> None:
        self._said_at.unlink(missing_ok=True)
        command = [*self.command, f"--user-data-dir={self._said_at.parent}", "about:blank"]
        silent = subprocess.DEVNULL
        self._process = subprocess.Popen(command, env=self.environment, stdout=silent, stderr=silent)


@contextmanager
def unpacked() -> Iterator[Program]:
    """The browser of the npm package, removed afterwards: it takes 200 MB and a second and a half.

    Raises NotInstalled.
    """
    from_npm("@sparticuz/chromium")
    with tempfile.TemporaryDirectory(prefix="orc-browser-", ignore_cleanup_errors=True) as folder:
        command = [node(), "--input-type=module", "--eval", _UNPACK]
        environment = {**os.environ, **_WITH_LIBRARIES, "TMPDIR": folder}
        run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        # The package's own list names folders of the machines that it is made for.
        Path(folder, "fonts.conf").write_text(_FONTS.format(folder=folder))
        around = {
            "HOME": folder,
            "TMPDIR": folder,
            "FONTCONFIG_FILE": f"{folder}/fonts.conf",
            "LD_LIBRARY_PATH": f"{folder}/al2023/lib",
            "PATH": os.defpath,
        }
        program = Program(Path(folder), [run.stdout.strip(), *_FLAGS], around)
        try:
            yield program
        finally:
            program.stop()


def _text_of(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _result_of(reply: dict[str, Any]) -> dict[str, Any]:
    """What the page answered; an exception of its script fails the test."""
    assert "exceptionDetails" not in reply, reply["exceptionDetails"]
    result: dict[str, Any] = reply["result"]
    return result


@dataclass
class Page:
    """One page, and what it did.

    `problems` are errors and warnings in its console, `violations` those of its policy. `requests` are the
    method and address of everything that it asked for, `posts` the address and body of what had a body,
    `cancelled` the addresses of what it gave up, and `received` the address of each response that has ended,
    with its bytes on the network, headers included. `traced` are events of a trace, which has ended once
    `traced_all` is set. `port` is that of the browser's DevTools protocol.
    """

    _socket: ClientConnection
    port: int = 0
    _session: str = ""
    problems: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)
    posts: list[tuple[str, str]] = field(default_factory=list)
    received: list[tuple[str, float]] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    traced: list[dict[str, Any]] = field(default_factory=list)
    traced_all: asyncio.Event = field(default_factory=asyncio.Event)
    _addresses: dict[str, str] = field(default_factory=dict)
    _numbers: "count[int]" = field(default_factory=count)
    _waiting: dict[int, asyncio.Future[Any]] = field(default_factory=dict)
    _loads: defaultdict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))
    _reply: dict[str, Any] = field(default_factory=dict)
    _held_method: str = ""
    _held: list[str] = field(default_factory=list)
    _replying: set[asyncio.Task[Any]] = field(default_factory=set)

    async def begin(self) -> None:
        """Make the page, and listen to it."""
        # It ends with the connection.
        user = await self._call("Target.createBrowserContext", disposeOnDetach=True)
        target = await self._call("Target.createTarget", url="about:blank", **user)
        attached = await self._call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "DOM", "Network"):
            await self._call(f"{domain}.enable")
        await self._call("Page.setLifecycleEventsEnabled", enabled=True)

    async def look(self, *, width: int, height: int, dark: bool = False) -> None:
        """Have a window of this size, and a person who likes it light or dark."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        await self._call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self._call("Emulation.setEmulatedMedia", features=[scheme])

    async def open(self, url: str) -> None:
        """Go there, and wait until it is loaded."""
        loader = (await self._call("Page.navigate", url=url))["loaderId"]
        await asyncio.wait_for(self._loads[loader].wait(), SECONDS)

    async def value(self, script: str) -> Any:
        """What an expression in the page amounts to; of a promise, what it brings.

        If it reads an element that is not in the page yet, it is tried again, as a person would wait.
        """
        for _ in range(MOST_TRIES):
            reply = await self._call("Runtime.evaluate", expression=script, userGesture=True)
            if _NOT_THERE not in str(reply):
                break
            await asyncio.sleep(0.1)
        result = _result_of(reply)
        if result.get("subtype") == "promise":
            # Awaited by its id, which keeps it: Chromium collects promises that nothing refers to.
            promise = result["objectId"]
            result = await self._result("Runtime.awaitPromise", promiseObjectId=promise, returnByValue=True)
        elif "objectId" in result:
            itself = "function () { return this; }"
            result = await self._result(
                "Runtime.callFunctionOn",
                functionDeclaration=itself,
                objectId=result["objectId"],
                returnByValue=True,
            )
        return result.get("value")

    async def _result(self, method: str, **params: Any) -> dict[str, Any]:
        return _result_of(await self._call(method, **params))

    async def until(self, condition: str) -> None:
        """Wait until an expression holds: asked 10 times a second, and if the page or its focus changes."""
        await self.value(_UNTIL.replace("CONDITION", condition))

    async def type_line(self, text: str) -> None:
        """Type a line into what has the focus, and press Enter."""
        await self._call("Input.insertText", text=text)
        enter = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13}
        await self._call("Input.dispatchKeyEvent", type="keyDown", text="\r", **enter)
        await self._call("Input.dispatchKeyEvent", type="keyUp", **enter)

    async def press(self, key: str, *, modifiers: int = 0) -> None:
        """Press a key that writes nothing, such as Escape or Tab. `modifiers`: 2 for Ctrl, 8 for Shift."""
        code, number = _KEYS[key]
        keys = {"key": key, "code": code, "windowsVirtualKeyCode": number, "modifiers": modifiers}
        text = {"text": _WRITE[key]} if key in _WRITE and not modifiers & 2 else {}
        await self._call("Input.dispatchKeyEvent", type="keyDown", **keys, **text)
        await self._call("Input.dispatchKeyEvent", type="keyUp", **keys)

    async def type_letter(self, letter: str) -> None:
        """Press the key of a letter: whatever has the focus gets it."""
        await self._call("Input.dispatchKeyEvent", type="keyDown", key=letter, text=letter)
        await self._call("Input.dispatchKeyEvent", type="keyUp", key=letter)

    async def attach(self, selector: str, *files: Path) -> None:
        """Choose files in the field for files."""
        document = await self._call("DOM.getDocument")
        found = await self._call("DOM.querySelector", nodeId=document["root"]["nodeId"], selector=selector)
        names = [str(file) for file in files]
        await self._call("DOM.setFileInputFiles", nodeId=found["nodeId"], files=names)

    async def reload(self) -> None:
        """Load the page again. It returns before that has ended."""
        await self._call("Page.reload")

    async def connected(self, connected: bool) -> None:
        """Cut the page off from the network, or connect it again."""
        speeds = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        await self._call("Network.emulateNetworkConditions", offline=not connected, **speeds)

    async def answer(self, pattern: str, status: int, body: str = "", **headers: str) -> None:
        """Answer requests for matching addresses in the place of the server; with status 0: fail them.

        `headers` are named with underscores.
        """
        sent = [{"name": name.replace("_", "-"), "value": value} for name, value in headers.items()]
        content = base64.b64encode(body.encode()).decode()
        self._reply = {"responseCode": status, "responseHeaders": sent, "body": content} if status else {}
        self._held_method = ""
        await self._call("Fetch.enable", patterns=[{"urlPattern": pattern}])

    async def answer_no_more(self) -> None:
        """Let the server answer again."""
        await self._call("Fetch.disable")

    @asynccontextmanager
    async def hold(self, method: str, pattern: str) -> AsyncIterator[None]:
        """Keep the responses to requests of a method and matching addresses back until this ends."""
        self._held_method = method
        await self._call("Fetch.enable", patterns=[{"urlPattern": pattern, "requestStage": "Response"}])
        yield
        # Later responses still stop here and go on: once a browser is to stop none, it may forget one that
        # just stopped.
        self._held_method = LET_GO
        while self._held:
            with suppress(AssertionError):  # the page has given it up
                await self._call("Fetch.continueRequest", requestId=self._held.pop())

    async def call(self, method: str, **params: Any) -> Any:
        """Anything else of the protocol."""
        return await self._call(method, **params)

    async def picture(self) -> bytes:
        """The window as a PNG, with everything scrolled as it is."""
        shot = await self._call("Page.captureScreenshot")
        return base64.b64decode(shot["data"])

    async def listen(self) -> None:
        """Take what the browser says, for as long as it runs."""
        async for message in self._socket:
            reply = json.loads(message)
            if "id" in reply:
                self._waiting.pop(reply["id"]).set_result(reply)
            else:
                self._note(reply["method"], reply["params"])

    def _note(self, method: str, reply: dict[str, Any]) -> None:
        if method == "Page.lifecycleEvent" and reply["name"] == "load":
            self._loads[reply["loaderId"]].set()
        elif method == "Fetch.requestPaused" and self._held_method == reply["request"]["method"]:
            self._held.append(reply["requestId"])
        elif method == "Fetch.requestPaused":
            task = asyncio.create_task(self._answer(reply["requestId"]))
            self._replying.add(task)
            task.add_done_callback(self._replying.discard)
        elif method == "Network.requestWillBeSent":
            self._note_request(reply["requestId"], reply["request"])
        elif method == "Network.loadingFinished":
            self.received.append((self._addresses.get(reply["requestId"], ""), reply["encodedDataLength"]))
        elif method == "Network.loadingFailed" and reply.get("canceled"):
            self.cancelled.append(self._addresses.get(reply["requestId"], ""))
        elif method == "Tracing.dataCollected":
            self.traced += reply["value"]
        elif method == "Tracing.tracingComplete":
            self.traced_all.set()
        elif method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(reply["exceptionDetails"]))
        elif method == "Log.entryAdded":
            entry = reply["entry"]
            found = self.violations if entry["source"] == "security" else self.problems
            found.append(f"{entry['source']}: {entry['text']} {entry.get('url', '')}".rstrip())
        elif method == "Runtime.consoleAPICalled":
            self.problems.append(json.dumps(reply["args"]))

    def _note_request(self, identifier: str, request: dict[str, Any]) -> None:
        self._addresses[identifier] = request["url"]
        self.requests.append((request["method"], request["url"]))
        if "postData" in request:
            self.posts.append((request["url"], request["postData"]))

    async def _answer(self, request: str) -> None:
        if self._held_method:
            await self._call("Fetch.continueRequest", requestId=request)
        elif self._reply:
            await self._call("Fetch.fulfillRequest", requestId=request, **self._reply)
        else:
            await self._call("Fetch.failRequest", requestId=request, errorReason="ConnectionRefused")

    async def _call(self, method: str, **params: Any) -> Any:
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        session = {"sessionId": self._session} if self._session else {}
        await self._socket.send(json.dumps({"id": number, "method": method, "params": params, **session}))
        reply = await asyncio.wait_for(answer, SECONDS)
        assert "error" not in reply, f"{method}: {reply['error']}"
        return reply["result"]


@asynccontextmanager
async def browsing(program: Program) -> AsyncIterator[Page]:
    """A page of a new user: it shares nothing with other pages of the browser."""
    address = program.address()
    async with connect(address, max_size=None, proxy=None, ping_interval=None) as socket:
        page = Page(socket, urlsplit(address).port or 0)
        listening = asyncio.create_task(page.listen())
        await page.begin()
        yield page
        listening.cancel()
        with suppress(asyncio.CancelledError):
            await listening
