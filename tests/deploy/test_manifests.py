"""Kubernetes' and Compose's files fit the published schemas, the service's options and each other."""

import copy
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from support.docker_defaults import seccomp
from truegrade.cli import main
from truegrade.web.service.grading_application import ROUTES

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
MANIFESTS = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
FOR_NAMESPACES = {"clone", "mount", "pivot_root", "sethostname", "umount2", "unshare"}
"""System calls that bubblewrap makes beyond Docker's defaults; without one of them, unshare apart, it fails."""


def of_kind(kind):
    (found,) = (each for each in MANIFESTS if each["kind"] == kind)
    return found


def merged(under, over):
    """As Kubernetes merges a strategic patch: containers by their name."""
    if isinstance(under, dict):
        both = {name: merged(under[name], over[name]) for name in under.keys() & over.keys()}
        return {**under, **over, **both}
    if isinstance(under, list) and under and "name" in under[0]:
        by_name = {each["name"]: each for each in over}
        return [merged(each, by_name.get(each["name"], {})) for each in under]
    return over


def level_3():
    return merged(
        copy.deepcopy(of_kind("Deployment")), yaml.safe_load((DEPLOY / "kubernetes-level3.yaml").read_text())
    )


def options(arguments):
    """What `truegrade serve` makes of them; unknown ones are an error."""
    assert arguments[0] == "serve"
    return main.commands["serve"].make_context("serve", list(arguments[1:])).params


@pytest.fixture(scope="module")
def pod():
    return of_kind("Deployment")["spec"]["template"]["spec"]


@pytest.fixture(scope="module")
def grading(pod):
    (container,) = pod["containers"]
    return container


# ----------------------------------------------------------------------------------------- Kubernetes


@pytest.mark.parametrize("version", ["1.33", "1.37"])
@pytest.mark.parametrize("manifest", [*MANIFESTS, level_3()], ids=lambda manifest: manifest["kind"])
def test_a_manifest_fits_the_schema_of_kubernetes(manifest, version):
    kubernetes_validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    assert kubernetes_validate.validate(manifest, version, strict=True) == version


def test_selectors_and_references_lead_to_the_pods(pod, grading):
    labels = of_kind("Deployment")["spec"]["template"]["metadata"]["labels"]
    spread = pod["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"]
    selectors = [
        of_kind("Deployment")["spec"]["selector"]["matchLabels"],
        of_kind("Service")["spec"]["selector"],
        of_kind("PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        of_kind("NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
        spread,
    ]
    assert all(selector.items() <= labels.items() for selector in selectors)
    target = of_kind("HorizontalPodAutoscaler")["spec"]["scaleTargetRef"]
    assert (target["kind"], target["name"]) == ("Deployment", of_kind("Deployment")["metadata"]["name"])
    (port,) = grading["ports"]
    assert of_kind("Service")["spec"]["ports"][0]["targetPort"] == port["name"]
    assert of_kind("NetworkPolicy")["spec"]["ingress"][0]["ports"] == [{"port": port["name"]}]


def test_probes_ask_what_the_service_answers_without_a_token(grading):
    public = {route.path for route in ROUTES if route.public}
    asked = {name: grading[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "readiness", "liveness")}
    assert asked == {"startup": "/healthz", "readiness": "/readyz", "liveness": "/healthz"}
    assert set(asked.values()) <= public


def test_the_container_of_kubernetes_is_the_image_with_its_options(pod, grading):
    serve = options(grading["args"])
    assert str(serve["workers"]) == grading["resources"]["limits"]["cpu"]
    assert grading["resources"]["requests"] == grading["resources"]["limits"]
    assert serve["port"] == grading["ports"][0]["containerPort"]
    user = f"{pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}"
    assert f"USER {user}\n" in DOCKERFILE and f"EXPOSE {serve['port']}\n" in DOCKERFILE
    assert serve["host"] == "0.0.0.0" and "--no-token" not in grading["args"]
    (variable,) = grading["env"]
    (option,) = (each for each in main.commands["serve"].params if each.name == "token")
    assert variable["name"] == option.envvar and "secretKeyRef" in variable["valueFrom"]


def test_what_runs_may_end_before_kubernetes_kills_it(pod, grading):
    serve = options(grading["args"])
    paused = int(grading["lifecycle"]["preStop"]["exec"]["command"][-1])
    assert serve["drain_s"] >= serve["max_cpu_s"]
    assert pod["terminationGracePeriodSeconds"] >= paused + serve["drain_s"] + 10


# --------------------------------------------------------------------------------------------- level 3


def test_the_profile_of_level_3_is_dockers_and_what_namespaces_need():
    *written, added = json.loads((DEPLOY / "seccomp-level3.json").read_text())["syscalls"]
    defaults = seccomp([])
    assert written == defaults.pop("syscalls")
    assert set(added["names"]) == FOR_NAMESPACES and not added["args"]
    profile = json.loads((DEPLOY / "seccomp-level3.json").read_text())
    assert {name: profile[name] for name in defaults} == defaults


def test_the_patch_to_level_3_changes_the_security_context_alone(pod, grading):
    patched = level_3()["spec"]["template"]["spec"]
    (container,) = patched.pop("containers")
    assert patched.pop("hostUsers") is False
    profile = patched["securityContext"]["seccompProfile"]
    assert (DEPLOY / profile["localhostProfile"]).is_file()
    assert patched["securityContext"].keys() - {"appArmorProfile"} == pod["securityContext"].keys()
    assert container["securityContext"] == {**grading["securityContext"], "procMount": "Unmasked"}
    assert {**container, "securityContext": 0} == {**grading, "securityContext": 0}


# --------------------------------------------------------------------------------------------- compose


def test_compose_takes_its_file():
    commands = (["docker", "compose"], ["docker-compose"])
    there = (words for words in commands if shutil.which(words[0]))
    version = (
        words for words in there if subprocess.run([*words, "version"], capture_output=True).returncode == 0
    )
    words = next(version, None)
    if words is None:
        pytest.skip("docker compose is not installed")
    given = {"TRUEGRADE_SERVE_TOKEN": "a-token-of-the-tests", "GRAFANA_PASSWORD": "x", "PATH": "/usr/bin:/bin"}
    asked = [*words, "-f", str(DEPLOY / "compose.yaml"), "config", "--quiet"]
    done = subprocess.run(asked, env=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_files_of_compose_agree():
    services = COMPOSE["services"]
    serve = options(services["grading"]["command"])
    assert serve["workers"] == services["grading"]["cpus"]
    assert serve["drain_s"] >= serve["max_cpu_s"]
    assert int(services["grading"]["stop_grace_period"].removesuffix("s")) >= serve["drain_s"] + 10
    build = services["grading"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).is_file()
    assert f" AS {build['target']}\n" in DOCKERFILE
    mounted = [volume for each in services.values() for volume in each.get("volumes", ()) if volume[0] == "."]
    assert mounted and all((DEPLOY / volume.split(":")[0]).is_file() for volume in mounted)
    assert all(port.startswith("127.0.0.1:") for each in services.values() for port in each["ports"])
    assert services["grading"]["image"] in re.search(r"docker build .*service", DOCKERFILE)[0]


def test_prometheus_asks_the_service_and_grafana_asks_prometheus():
    (job,) = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())["scrape_configs"]
    (found,) = job["dns_sd_configs"]
    assert (set(found["names"]), found["port"]) == ({"grading"}, 8080) and "grading" in COMPOSE["services"]
    (secret,) = COMPOSE["services"]["prometheus"]["secrets"]
    assert job["authorization"]["credentials_file"] == f"/run/secrets/{secret['target']}"
    assert COMPOSE["secrets"][secret["source"]] == {"environment": "TRUEGRADE_SERVE_TOKEN"}
    (source,) = yaml.safe_load((DEPLOY / "grafana" / "datasource.yaml").read_text())["datasources"]
    assert source["url"] == "http://prometheus:9090"
    panels = json.loads((DEPLOY / "grafana" / "dashboard.json").read_text())["panels"]
    assert {panel["datasource"]["uid"] for panel in panels} == {source["uid"]}
    (provider,) = yaml.safe_load((DEPLOY / "grafana" / "provisioning.yaml").read_text())["providers"]
    targets = [volume.split(":")[1] for volume in COMPOSE["services"]["grafana"]["volumes"]]
    assert f"{provider['options']['path']}/truegrade.json" in targets
