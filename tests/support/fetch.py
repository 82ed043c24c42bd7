"""A small web server for the tests of `svmkit datasets fetch`."""

import contextlib
import http.server
import threading

TOY = "".join(f"{1 if i % 3 else -1} 1:{i} 2:{i * i % 97}\n" for i in range(4000)).encode()
TOY_T = TOY[: TOY.index(b"\n", 500) + 1]


class Files(http.server.BaseHTTPRequestHandler):
    """Serves `server.files`, {path: bytes}, as told.

    server.ranges : knows ranges and ETags; most : breaks off after so many bytes; also : further headers.
    """

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        server = self.server
        server.requests.append((self.path, self.headers.get("Range"), self.headers.get("If-Range")))
        if self.path not in server.files:
            self.send_error(404)
            return
        body, etag, first = server.files[self.path], f'"{server.version}"', 0
        wanted = self.headers.get("Range")
        if server.ranges and wanted and self.headers.get("If-Range", etag) == etag:
            first = int(wanted.removeprefix("bytes=").removesuffix("-"))
        if first >= len(body) > 0:
            self.send_error(416)
            return
        self.send_response(206 if first else 200)
        if first:
            self.send_header("Content-Range", f"bytes {first}-{len(body) - 1}/{len(body)}")
        if server.ranges:
            self.send_header("ETag", etag)
        for name, value in server.also.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) - first))
        self.end_headers()
        sent = body[first:][: server.most]
        with contextlib.suppress(ConnectionError):  # a client that has seen enough
            self.wfile.write(sent)
        self.close_connection = len(sent) < len(body) - first

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Files)
        self.files, self.requests, self.version = {}, [], "1"
        self.ranges, self.most, self.also = True, None, {}

    def handle_error(self, request, client_address):
        """Silent: clients that hang up belong to the tests."""

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


@contextlib.contextmanager
def serving(server):
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
