"""The service without HTTP: what it holds, from its start to its end."""

from __future__ import annotations

import asyncio
import time
from collections import Counter

from truegrade import __version__
from truegrade.errors import SandboxError
from truegrade.pipeline.verdicts import with_packages
from truegrade.sandbox import Limits
from truegrade.web.bodies import BodyRoom
from truegrade.web.endpoint import Client
from truegrade.web.service.catalogue import NameCatalogue
from truegrade.web.service.executors import Executors
from truegrade.web.service.jobs import JobGrader
from truegrade.web.service.messages import Health
from truegrade.web.service.metrics import Metrics
from truegrade.web.service.service_settings import ServiceSettings
from truegrade.web.service.shadowing import ShadowWatch
from truegrade.web.service.workload import Workload

LOOK_S = 0.02
"""How often a service that stops looks whether all is done."""


class Service:
    """Everything that requests share.

    Args:
        settings: checked ones.

    Raises:
        UserError: a benchmark or profile is unknown, its data is not at hand, or a package is not installed.
        SandboxError: programs would run at protection level 1, and that is not allowed.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        settings.check()
        with_packages({}, settings.packages)
        self.settings = settings
        self.executors = Executors(
            settings.workers, allow_unsafe=settings.allow_unsafe, packages=settings.packages
        )
        self.level, self.protection = self._prove()
        self.catalogue = NameCatalogue(settings.benchmarks, settings.max_cpu_s, settings.max_memory_bytes)
        for name in settings.profiles:
            self.catalogue.known_profile(name)
        self.grader = JobGrader(self.catalogue, self.executors, settings.profiles)
        self.workload = Workload(settings.workers, settings.max_queue)
        self.metrics = Metrics(self.workload, self.level, self.executors.code)
        self.watch = ShadowWatch(settings, self.catalogue, self.executors, self.metrics)
        self.grader.rewarded = self.watch.rewarded
        self.workload.waited = self.metrics.waited
        self.bodies = BodyRoom(settings.max_bodies_bytes)
        self.stopping = False
        self.requests: Counter[Client] = Counter()
        """Requests for work that are not answered yet, by client."""

    @property
    def health(self) -> Health:
        """For people and load balancers."""
        return Health(status="stopping" if self.stopping else "ok", version=__version__, level=self.level)

    async def drain(self) -> None:
        """Wait for the work there is, at most ``drain_s``, then end it.

        Meanwhile own clients are refused; those that are not, and are never to see a refusal, are served.
        """
        self.stopping = True
        deadline = time.monotonic() + self.settings.drain_s
        while self.requests.total() and time.monotonic() < deadline:
            await asyncio.sleep(LOOK_S)
        self.workload.close()
        self.watch.close()
        await asyncio.to_thread(self.executors.close)

    def close(self) -> None:
        """End everything at once."""
        self.workload.close()
        self.watch.close()
        self.executors.close()

    def _prove(self) -> tuple[int, str]:
        """Run a program, so that a machine that cannot is found out before the first request."""
        with self.executors.lend(Limits(cpu_s=self.settings.max_cpu_s)) as sandbox:
            ended = sandbox.script("print(6 * 7)")
            if ended.stdout != "42\n":
                raise SandboxError(f"the sandbox does not run programs: {ended.status}, {ended.detail}")
            return sandbox.level, sandbox.protection
