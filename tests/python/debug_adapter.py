"""A client of debugpy that speaks the Debug Adapter Protocol over a socket."""

from __future__ import annotations

import itertools
import json
import socket
import subprocess
import sys
import time


class Debugger:
    """Runs ``words`` under debugpy; a context that ends the process."""

    def __init__(self, words, *, cwd, env):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.process = subprocess.Popen(
            [sys.executable, "-Xfrozen_modules=off", "-m", "debugpy", "--listen", str(port),
             "--wait-for-client", *words],
            cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self._stream = self._connected(port).makefile("rwb")
        self._numbers = itertools.count(1)
        self._events, self._answers = [], {}

    def _connected(self, port):
        end = time.monotonic() + 60
        while True:
            try:
                connection = socket.create_connection(("127.0.0.1", port))
                break
            except OSError:
                assert self.process.poll() is None and time.monotonic() < end
                time.sleep(0.1)
        connection.settimeout(120)
        return connection

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stream.close()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def send(self, command, **arguments):
        number = next(self._numbers)
        message = {
            "seq": number,
            "type": "request",
            "command": command,
            "arguments": arguments,
        }
        body = json.dumps(message).encode()
        self._stream.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._stream.flush()
        return number

    def ask(self, command, **arguments):
        """The body of the answer to a request."""
        number = self.send(command, **arguments)
        while number not in self._answers:
            self._read()
        answer = self._answers.pop(number)
        assert answer["success"], answer
        return answer.get("body", {})

    def event(self, name):
        """The body of the next event of this kind."""
        while True:
            for event in self._events:
                if event["event"] == name:
                    self._events.remove(event)
                    return event.get("body", {})
            self._read()

    def _read(self):
        length = None
        while line := self._stream.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        assert length is not None, "the debugger has ended"
        message = json.loads(self._stream.read(length))
        if message["type"] == "event":
            self._events.append(message)
        elif message["type"] == "response":
            self._answers[message["request_seq"]] = message

    # --- what a person does ---

    def start(self, file, lines, **attach):
        """Attaches, with breakpoints at these lines, and lets the program begin."""
        self.ask("initialize", adapterID="test", pathFormat="path")
        self.send("attach", **attach)
        self.event("initialized")
        found = self.ask(
            "setBreakpoints", source={"path": str(file)}, breakpoints=[{"line": n} for n in lines]
        )
        assert all(each["verified"] for each in found["breakpoints"]), found
        self.ask("configurationDone")

    def stopped(self):
        """Why it has stopped, and the frames as (function, line, id), the innermost first."""
        stop = self.event("stopped")
        self.thread = stop["threadId"]
        frames = self.ask("stackTrace", threadId=self.thread)["stackFrames"]
        return stop["reason"], [(each["name"], each["line"], each["id"]) for each in frames]

    def variables(self, reference):
        rows = self.ask("variables", variablesReference=reference)["variables"]
        return {row["name"]: row for row in rows}

    def locals(self, frame):
        scope = self.ask("scopes", frameId=frame)["scopes"][0]
        return self.variables(scope["variablesReference"])

    def go(self, how="continue"):
        self.ask(how, threadId=self.thread)
