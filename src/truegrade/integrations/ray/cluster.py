"""Finding a cluster, or starting one of this machine's cores."""

from __future__ import annotations

import logging
import os
import re
import socket
from typing import Any

from truegrade.errors import SandboxError, UserError
from truegrade.integrations.ray.shipping import GROUP_BYTES

STARTED_HERE = "local"
"""Ray's own name for a cluster that is started by, and ends with, the process that asks for it."""

_STORE_BYTES = 32 * GROUP_BYTES
"""Of a cluster started here: some groups of problems and the batches under way; Ray puts more on disk."""
_KNOCK_S = 10.0
_BY_DRIVER, _BY_CLIENT = "/ray.rpc.NodeInfoGcsService/CheckAlive", "/ray.rpc.RayletDriver/ClusterInfo"
"""A call that changes nothing, of a cluster's head node and of its client server: ray 2.60.0 ``src/ray/protobuf/``
``gcs_service.proto`` and ``ray_client.proto``."""
_ADDRESS = re.compile(r"(auto|local|ray://[^\s/:]+:\d+|[^\s/:]+:\d+)")


def parse_address(text: str) -> str:
    """What follows ``ray:`` on the command line, as `ray.init` wants it.

    Raises:
        UserError: no cluster can have such an address.
    """
    address = f"ray:{text}" if text.startswith("//") else text or STARTED_HERE
    if address.startswith("ray://") and re.fullmatch(r"ray://[^\s/:]+", address):
        address += ":10001"  # the port of Ray's client server, unless it was told otherwise
    if not _ADDRESS.fullmatch(address):
        raise UserError(
            f"`executor` ray:{text}: not the address of a cluster; write ray, ray:auto, ray:HOST:PORT or"
            " ray://HOST:PORT"
        )
    return address


def connect(address: str, cores: int) -> bool:
    """Connect this process to a cluster, unless it is connected; return whether `disconnect` is up to the caller.

    Args:
        address: as `parse_address` returns it.
        cores: of a cluster that is started here.

    Raises:
        UserError: there is no cluster at the address, or it runs another version of Python or Ray.
        SandboxError: a cluster cannot be started here.
    """
    import ray

    if ray.is_initialized():
        return False
    here = address == STARTED_HERE
    _knock(address)
    own: dict[str, Any] = {"num_cpus": cores, "include_dashboard": False, "object_store_memory": _STORE_BYTES}
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # else Ray reports to its makers
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", **(own if here else {}))
    except Exception as error:  # Ray raises many kinds, down to plain Exception where a node starts too slowly
        why = " ".join(str(error).split())
        if here:
            raise SandboxError(f"a Ray cluster cannot be started here: {why}; try again") from error
        raise UserError(
            f"`executor` ray:{address}: no connection to a cluster: {why}; see `ray status` on its head node"
        ) from error
    _keep_off_stdout()
    return True


def _knock(address: str) -> None:
    """Refuse an address where nothing listens, or that refuses our token: Ray itself would try on and on, and say
    no more than that there is no connection.

    Raises:
        UserError: nothing listens there, or the token is not the cluster's.
    """
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:
        return
    try:
        socket.create_connection((host, int(port)), timeout=_KNOCK_S).close()
    except OSError as error:
        raise UserError(
            f"`executor` ray:{address}: no connection to a cluster: {error.strerror or error}; see `ray status` on"
            " its head node"
        ) from None
    refused = _refusal_of_token(f"{host}:{port}", _BY_CLIENT if address.startswith("ray://") else _BY_DRIVER)
    if refused is not None:
        raise UserError(
            f"`executor` ray:{address}: the cluster asks for its token and refuses the connection ({refused}); set"
            " RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to what `ray get-auth-token` prints on its head node"
        )


def _refusal_of_token(place: str, method: str) -> str | None:
    """What a cluster says to a call with the token that Ray has been given, if it refuses that; else None."""
    try:
        import grpc
        from ray._raylet import AuthenticationTokenLoader
    except ImportError:  # Ray without the client, or older than token authentication
        return None
    try:
        loader = AuthenticationTokenLoader.instance()
        shown = tuple(loader.get_token_for_http_header().items()) if loader.has_token() else ()
        with grpc.insecure_channel(place) as channel:
            channel.unary_unary(method)(b"", timeout=_KNOCK_S, metadata=shown)
    except grpc.RpcError as error:
        return str(error.details()) if error.code() is grpc.StatusCode.UNAUTHENTICATED else None
    except Exception:  # of the loader, where a token is wanted and there is none: Ray says that well itself
        return None
    return None


def _keep_off_stdout() -> None:
    """Log what Ray prints on stdout when a machine or actor is lost: there it would be part of ``--json``.

    ``log_to_driver`` does not cover these messages (ray 2.60.0 ``python/ray/_private/worker.py``,
    ``listen_error_messages``), nor does any other option.
    """
    from ray._private import worker

    def log(data: dict[str, Any], **_: Any) -> None:
        logging.getLogger(__name__).info("%s", "\n".join(data["lines"]))

    worker.print_to_stdstream = log


def disconnect() -> None:
    """Leave the cluster; one that was started here ends, with all its processes."""
    import ray

    ray.shutdown()


def cores_of_cluster() -> int:
    """Cores that the cluster has at this moment.

    Raises:
        UserError: it has none.
    """
    import ray

    cores = int(ray.cluster_resources().get("CPU", 0))
    if cores < 1:
        raise UserError("the Ray cluster has no cores; add nodes, or give `workers` if it grows on demand")
    return cores
