"""A headless Chromium driven over a pipe by its DevTools protocol; nothing but the browser is needed."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
PATIENCE = 60.0  # seconds to wait for an answer


def find_browser():
    """The path of a Chromium, or the test is skipped."""
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    if found is None:
        pytest.skip(f"no Chromium on this machine (looked for {', '.join(NAMES)}); on Debian: apt-get install chromium")
    return found


class Browser:
    """One page. `errors` are exceptions and console errors, `requests` the addresses it asked for."""

    def __init__(self):
        path = find_browser()
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        theirs, self._in = os.pipe()
        self._out, answers = os.pipe()
        command = (
            f"exec {path} --headless=new --no-sandbox --disable-gpu --no-first-run --remote-debugging-pipe "
            f"--user-data-dir={self.folder.name} --hide-scrollbars about:blank 3<&{theirs} 4>&{answers}"
        )
        self.process = subprocess.Popen(
            ["bash", "-c", command], pass_fds=(theirs, answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(theirs)
        os.close(answers)
        self._buffer, self._count, self._session = b"", 0, None
        self.errors, self.requests = [], []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method, **parameters):
        """The result of one command."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._in, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read(PATIENCE)
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def _read(self, patience):
        while b"\0" not in self._buffer:
            if not select.select([self._out], [], [], patience)[0]:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self._out, 1 << 20)
            if not piece:
                raise RuntimeError("the browser has ended")
            self._buffer += piece
        text, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(text)
        self._note(message.get("method"), message.get("params", {}))
        return message

    def _note(self, event, data):
        if event == "Runtime.exceptionThrown":
            details = data["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif event == "Log.entryAdded" and data["entry"]["level"] == "error":
            self.errors.append(data["entry"]["text"])
        elif event == "Runtime.consoleAPICalled" and data["type"] == "error":
            self.errors.append(str(data["args"]))
        elif event == "Network.requestWillBeSent":
            self.requests.append(data["request"]["url"])

    def open(self, path, width=1100, height=800):
        """Load a file in a window of this size and wait until it has loaded."""
        self.errors, self.requests = [], []
        self.resize(width, height)
        self.send("Page.navigate", url=Path(path).resolve().as_uri())
        self.wait_for("document.readyState === 'complete' && location.protocol === 'file:'")

    def resize(self, width, height):
        """A window of this size, a telephone's if it is narrow."""
        phone = width < 500
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def run(self, script):
        """The value of a JavaScript expression, promises awaited."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", script))
        return answer["result"].get("value")

    def wait_for(self, condition):
        """Return when a JavaScript condition holds."""
        end = time.monotonic() + PATIENCE
        while not self.run(condition):
            if time.monotonic() > end:
                raise TimeoutError(condition)
            time.sleep(0.02)

    def mouse(self, kind, x, y, **more):
        """A mouse event: mousePressed, mouseMoved, mouseReleased, mouseWheel."""
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def press(self, key, code=None, text=None):
        """A key pressed and released."""
        facts = {"key": key, "code": code or key} | ({"text": text} if text else {})
        self.send("Input.dispatchKeyEvent", type="keyDown", **facts)
        self.send("Input.dispatchKeyEvent", type="keyUp", **facts)

    def screenshot(self, path, *, full=False):
        """A PNG of the window, or of the whole page."""
        data = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=full)["data"]
        Path(path).write_bytes(base64.b64decode(data))

    def close(self):
        """End the browser."""
        self.process.terminate()
        self.process.wait(20)
        os.close(self._in)
        os.close(self._out)
        self.folder.cleanup()
