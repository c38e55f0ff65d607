"""A frame of any size is received and sent in time proportional to it."""

from __future__ import annotations

from os import read
from socket import socketpair
from threading import Thread
from time import thread_time

from truegrade.sandbox import frames


def test_a_frame_that_arrives_in_pieces_is_put_together_once(monkeypatch):
    """Adding each piece to those before copied 100 MB a thousand times: 13 CPU seconds of the program's twelve."""
    payload = bytes(range(256)) * (1 << 16)
    frame = frames.HEADER.pack(len(payload)) + payload
    monkeypatch.setattr(frames, "read", lambda fd, size: read(fd, min(size, 1 << 11)))
    ours, theirs = socketpair()
    with ours, theirs:
        sender = Thread(target=frames.write_frame, args=(ours.fileno(), frame))
        sender.start()
        began = thread_time()
        received = frames.read_frame(theirs.fileno())
        used_s = thread_time() - began
        sender.join()
    assert received == payload
    assert used_s < 1, "8,192 pieces; 10 s and more where each is added to those before"


def test_a_stream_that_closes_inside_a_frame_gives_none():
    ours, theirs = socketpair()
    with theirs:
        with ours:
            ours.sendall(frames.HEADER.pack(10) + b"abc")
        assert frames.read_frame(theirs.fileno()) is None
