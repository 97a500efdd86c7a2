# SPDX-License-Identifier: LGPL-2.1-or-later
"""A receiver of webhooks on loopback. It records each request, and answers as a test wants: well, with an error or a
redirect, never, without an end, or with huge headers.
"""

import http.server
import json
import os
import ssl
import subprocess
import threading


class Request:
    def __init__(self, path, headers, body):
        self.path, self.headers, self.body = path, headers, body

    @property
    def json(self):
        return json.loads(self.body)


class Receiver:
    """`answers` are taken one by one; the last one stays: a status, or "hang", "endless" or "headers"."""

    def __init__(self, *answers, certificate=None):
        self.requests, self.answers = [], list(answers) or [200]
        self.ended = threading.Event()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # pylint: disable=invalid-name
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                receiver.requests.append(Request(self.path, dict(self.headers.items()), body.decode()))
                try:
                    receiver.answer(self)
                except OSError:
                    self.close_connection = True

            def do_GET(self):  # pylint: disable=invalid-name
                receiver.requests.append(Request("GET " + self.path, {}, ""))
                self.send_error(500)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.scheme = "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            self.scheme = "https"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def answer(self, handler):
        wanted = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if wanted == "hang":
            self.ended.wait()
        elif wanted == "endless":
            handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            while not self.ended.is_set():
                handler.wfile.write(b"x" * 4096)
        elif wanted == "headers":
            handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
            for number in range(1000):
                handler.wfile.write(b"X-%d: " % number + b"y" * 1000 + b"\r\n")
            handler.wfile.write(b"\r\n")
        else:
            handler.send_response(wanted)
            if 300 <= wanted < 400:
                handler.send_header("Location", f"http://127.0.0.1:{self.port}/elsewhere")
            handler.send_header("Content-Length", "0")
            handler.end_headers()

    @property
    def port(self):
        return self.server.server_address[1]

    def url(self, path="/services/T0/secret-token"):
        return f"{self.scheme}://127.0.0.1:{self.port}{path}"

    def close(self):
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()


def make_certificate(folder):
    """Returns a file with a key and a certificate that nobody has signed."""
    key, certificate, both = (os.path.join(folder, name) for name in ("key.pem", "certificate.pem", "both.pem"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                    "-keyout", key, "-out", certificate], check=True, capture_output=True)
    with open(both, "wb") as file:
        for path in (key, certificate):
            with open(path, "rb") as part:
                file.write(part.read())
    return both
