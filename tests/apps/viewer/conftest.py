"""A real viewer on a real socket over real runs."""

import contextlib
import json
import sys
import threading
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import pytest

sys.path.append(str(Path(__file__).parents[2] / "report"))

from viewing_runs import standard_runs

from truegrade.apps.viewer.viewer_server import ViewServer


class Viewer(NamedTuple):
    server: ViewServer
    root: Path

    def get(self, path, *, headers=None, method="GET", **query):
        """Status, headers and body of a request."""
        import http.client

        host, port = self.server.server_address[:2]
        connection = http.client.HTTPConnection(host, port, timeout=180)
        target = f"{path}?{urlencode(query, doseq=True)}" if query else path
        connection.request(method, target, headers=headers or {})
        reply = connection.getresponse()
        content = reply.read()
        connection.close()
        return reply.status, reply.headers, content

    def json(self, path, **query):
        status, _, content = self.get(path, **query)
        assert status == 200, content
        return json.loads(content)

    def refused(self, path, **query):
        status, headers, content = self.get(path, **query)
        assert status >= 400
        assert headers["Content-Type"] == "application/problem+json"
        return status, json.loads(content)["detail"]


@contextlib.contextmanager
def viewing(root):
    with ViewServer(root) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield Viewer(server, root)
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def viewer(tmp_path_factory):
    with viewing(standard_runs(tmp_path_factory.mktemp("viewed") / "runs")) as running:
        yield running


@pytest.fixture(scope="session")
def view():
    """Serve another folder."""
    return viewing
