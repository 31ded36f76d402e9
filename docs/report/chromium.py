"""A headless Chromium, driven by the DevTools protocol over its pipe: messages of JSON, each ended by a null byte."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
           "--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe"]


class ScriptError(Exception):
    """The exception of a script that should have returned a value."""


class Chromium:
    """A browser with one page. What its scripts and its console complain of is in `complaints`."""

    def __init__(self, seconds=30):
        self.seconds, self.number, self.complaints = seconds, 0, []
        self.profile = tempfile.mkdtemp(prefix="tickwheel-report-")
        commands, self.write_end = os.pipe()
        self.read_end, answers = os.pipe()

        def connect():  # the browser reads from descriptor 3 and writes to 4
            moved = os.dup(commands), os.dup(answers)  # which may have these numbers themselves
            os.dup2(moved[0], 3)
            os.dup2(moved[1], 4)

        self.process = subprocess.Popen(["chromium", *OPTIONS, f"--user-data-dir={self.profile}"], preexec_fn=connect,
                                        close_fds=False, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self.read, self.session = b"", None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)
        shutil.rmtree(self.profile, ignore_errors=True)

    def message(self):
        """The next message of the browser; it may be an event."""
        end = time.monotonic() + self.seconds
        while b"\0" not in self.read:
            ready, _, _ = select.select([self.read_end], [], [], max(end - time.monotonic(), 0))
            some = os.read(self.read_end, 1 << 20) if ready else b""
            if not some:
                raise RuntimeError("chromium does not answer")
            self.read += some
        text, _, self.read = self.read.partition(b"\0")
        message = json.loads(text)
        self.note(message)
        return message

    def note(self, message):
        method, said = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            about = said["exceptionDetails"]
            self.complaints.append(about.get("exception", {}).get("description", about["text"]))
        elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(each.get("value", each.get("description"))) for each in said["args"]))
        elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            self.complaints.append(said["entry"]["text"])
        elif method == "Network.requestWillBeSent" and not said["request"]["url"].startswith(("file:", "data:")):
            self.complaints.append(f"asks for {said['request']['url']}")

    def call(self, method, **arguments):
        self.number += 1
        command = {"id": self.number, "method": method, "params": arguments}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.write_end, json.dumps(command).encode() + b"\0")
        while (answer := self.message()).get("id") != self.number:
            pass
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def media(self, scheme="light", motion="no-preference", kind=""):
        self.call("Emulation.setEmulatedMedia", media=kind, features=[
            {"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": motion}])

    def size(self, width, height=800, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)

    def open(self, path):
        self.call("Page.navigate", url=path.resolve().as_uri())
        while self.message().get("method") != "Page.loadEventFired":
            pass

    def value(self, expression):
        """What an expression, awaited, comes to."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise ScriptError(answer["exceptionDetails"]["exception"].get("description"))
        return answer["result"].get("value")

    def picture(self, width, height):
        """A PNG of the upper left corner of the page."""
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)["data"])
