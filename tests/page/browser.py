"""A headless Chromium that is driven over the DevTools protocol, with the standard library alone."""
import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import time
import urllib.request


def find():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path:
            return path
    return None


class Socket:
    """A WebSocket of RFC 6455, as far as DevTools needs it: text frames, no extensions."""

    def __init__(self, url):
        host, path = url.removeprefix("ws://").split("/", 1)
        name, port = host.rsplit(":", 1)
        self.socket = socket.create_connection((name, int(port)), timeout=30)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        self.rest = b""
        while b"\r\n\r\n" not in self.rest:
            self.rest += self.socket.recv(4096)
        head, self.rest = self.rest.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise OSError(f"no WebSocket: {head!r}")

    def send(self, text):
        data = text.encode()
        mask = os.urandom(4)
        size = len(data)
        head = b"\x81"
        if size < 126:
            head += bytes([0x80 | size])
        elif size < 1 << 16:
            head += bytes([0x80 | 126]) + struct.pack(">H", size)
        else:
            head += bytes([0x80 | 127]) + struct.pack(">Q", size)
        # All bytes at once: as numbers, exclusive or.
        whole = int.from_bytes(data, "big") ^ int.from_bytes((mask * (size // 4 + 1))[:size], "big")
        self.socket.sendall(head + mask + whole.to_bytes(size, "big"))

    def take(self, size):
        while len(self.rest) < size:
            more = self.socket.recv(1 << 16)
            if not more:
                raise OSError("the browser has closed the connection")
            self.rest += more
        out, self.rest = self.rest[:size], self.rest[size:]
        return out

    def receive(self, timeout):
        """One message, or None when none comes in time."""
        text = b""
        self.socket.settimeout(timeout)
        try:
            head = self.take(2)
        except TimeoutError:
            return None
        self.socket.settimeout(30)
        while True:
            size = head[1] & 0x7F
            if size == 126:
                size = struct.unpack(">H", self.take(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self.take(8))[0]
            text += self.take(size)
            if head[0] & 0x80:
                return text.decode()
            head = self.take(2)


class Browser:
    """One page. Keeps everything the console said, every failed load and the address of every request."""

    def __init__(self, folder, languages="en-GB", size=(1100, 900), dark=False, sound=None):
        """sound: a WAV that the microphone hears, again and again; None: beeps."""
        self.folder = folder
        profile = os.path.join(folder, "profile")
        self.process = subprocess.Popen(
            [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--disable-default-apps", "--mute-audio", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
             "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream",
             *([f"--use-file-for-fake-audio-capture={sound}"] if sound else []),
             f"--user-data-dir={profile}", "--remote-debugging-port=0", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=open(os.path.join(folder, "browser.log"), "ab"))
        self.socket = Socket(self.page_address(profile))
        self.number = 0
        self.console, self.requests, self.failures = [], [], []
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder, eventsEnabled=False)
        self.set_size(*size)
        self.set_languages(languages)
        self.set_media(dark)

    def page_address(self, profile):
        port_file = os.path.join(profile, "DevToolsActivePort")
        for _ in range(600):
            try:
                port = int(open(port_file).readline())
                pages = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=10))
                return next(p for p in pages if p["type"] == "page")["webSocketDebuggerUrl"]
            except (OSError, ValueError, StopIteration):
                if self.process.poll() is not None:
                    raise OSError("the browser has ended") from None
                time.sleep(0.1)
        raise OSError("the browser does not answer")

    def close(self):
        try:
            self.socket.send(json.dumps({"id": 0, "method": "Browser.close"}))
            self.process.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()

    # ---- the protocol ----

    def call(self, method, **params):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while True:
            message = self.socket.receive(60)
            if message is None:
                raise OSError(f"no answer to {method}")
            answer = json.loads(message)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise OSError(f"{method}: {answer['error']}")
                return answer.get("result", {})
            self.note(answer)

    def note(self, event):
        method, p = event.get("method"), event.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.console.append(f"{p['type']}: " + " ".join(str(a.get("value", a.get("description"))) for a in p["args"]))
        elif method == "Runtime.exceptionThrown":
            d = p["exceptionDetails"]
            self.console.append("exception: " + str(d.get("exception", {}).get("description", d.get("text"))))
        elif method == "Log.entryAdded":
            self.console.append(f"{p['entry']['level']}: {p['entry']['text']} {p['entry'].get('url', '')}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(p["request"]["url"])
        elif method == "Network.loadingFailed" and not p.get("canceled"):
            self.failures.append(p["errorText"])

    def pump(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            message = self.socket.receive(max(0.01, end - time.monotonic()))
            if message is not None:
                self.note(json.loads(message))

    # ---- the page ----

    def set_size(self, width, height, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)

    def set_languages(self, languages):
        agent = self.call("Browser.getVersion")["userAgent"]
        self.call("Emulation.setUserAgentOverride", userAgent=agent, acceptLanguage=languages)

    def set_media(self, dark=False, still=False):
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"}])

    def open(self, url):
        self.call("Page.navigate", url=url)
        self.until("document.readyState === 'complete'")

    def value(self, expression):
        r = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in r:
            raise ValueError(f"{expression}: {r['exceptionDetails']}")
        return r["result"].get("value")

    def until(self, expression, seconds=60):
        """Waits until it is true; True, or False when it never was."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if self.value(expression):
                    return True
            except ValueError:
                pass  # the page is being loaded
            self.pump(0.05)
        return False

    def key(self, key, code=None, number=0, text=None, modifiers=0):
        common = {"key": key, "code": code or key, "windowsVirtualKeyCode": number, "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **common, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def tab(self, back=False):
        self.key("Tab", number=9, modifiers=8 if back else 0)

    def enter(self):
        self.key("Enter", number=13, text="\r")

    def type(self, text):
        self.call("Input.insertText", text=text)

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=False)["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))
