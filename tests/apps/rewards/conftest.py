"""A folder for the node's pool that no other test, and no pool of the machine's, shares."""

import os
import shutil
import tempfile

import pytest

pytest.importorskip("prometheus_client", reason="the extra [serve] is not installed")


@pytest.fixture(scope="module", autouse=True)
def own_node():
    """Also inherited by the processes that tests start. Short, since a Unix socket's path is."""
    from truegrade.apps.rewards import grader
    from truegrade.apps.rewards import node_pool as places

    folder = tempfile.mkdtemp(prefix="tg-", dir="/tmp")
    patched = pytest.MonkeyPatch()
    patched.setenv("XDG_RUNTIME_DIR", folder)
    # A grader that another module's tests left open has a pool in another folder.
    patched.setattr(places, "_askers", {})
    patched.setattr(places, "_users", {})
    patched.setattr(grader, "_graders", {})
    yield folder
    places.close_all()
    patched.undo()
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def source():
    """Where processes that tests start find the package."""
    import truegrade

    return os.path.dirname(os.path.dirname(truegrade.__file__))
