"""Files for people and services around the repository: workflows, templates, Dockerfile, citation, release scripts."""

import importlib.util
import os
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import headwise
from headwise.bundled.find import MODELS_VARIABLE
from headwise.serve.settings import load_settings

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = [path for path in sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")) if path.name != "config.yml"]
SCHEMAS = [
    *(("github-workflows", path) for path in WORKFLOWS),
    *(("github-issue-forms", path) for path in FORMS),
    ("github-issue-config", ROOT / ".github" / "ISSUE_TEMPLATE" / "config.yml"),
    ("dependabot", ROOT / ".github" / "dependabot.yml"),
    ("citation-file-format", ROOT / "CITATION.cff"),
]


def table(path: Path) -> dict[Any, Any]:
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in table(path)["jobs"].values() for step in job.get("steps", [])]


@pytest.mark.skipif(importlib.util.find_spec("check_jsonschema") is None, reason="check-jsonschema is not installed")
@pytest.mark.parametrize(("schema", "path"), SCHEMAS, ids=lambda value: getattr(value, "name", value))
def test_files_are_as_their_service_expects(schema: str, path: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_step_is_a_script_of_this_repository(path: Path) -> None:
    """So that what a workflow does can be run and tried anywhere."""
    for step in steps(path):
        if "run" in step:
            [line] = step["run"].splitlines()
            words = [word for word in line.split() if word.startswith("scripts/")]
            assert words, f"{line!r} calls no script"
            script = ROOT / words[0]
            assert script.is_file(), line
            assert script.suffix == ".py" or os.access(script, os.X_OK), f"{script} is not executable"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_trust_nobody_more_than_they_must(path: Path) -> None:
    workflow = table(path)
    assert workflow["permissions"] == {"contents": "read"}
    for step in steps(path):
        if "uses" in step:
            assert re.fullmatch(r"[\w/.-]+@[0-9a-f]{40}", step["uses"]), f"{step['uses']} is not pinned to a commit"
            if step["uses"].startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False
        assert "${{" not in step.get("run", ""), "an expression in a script may inject code: pass it as a variable"
    for job in workflow["jobs"].values():
        assert job.get("permissions", {}).get("contents") != "write" or "announce" in workflow["jobs"]


def test_all_systems_and_pythons_are_tested() -> None:
    matrix = table(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert {name.split("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    tried = table(ROOT / ".github" / "workflows" / "wheels.yml")["jobs"]["try"]["strategy"]["matrix"]
    assert tried["python"] == matrix["python"]
    assert len(tried["os"]) == len(tried["include"]) == 4


def test_the_package_names_its_pythons_systems_and_authors() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    matrix = table(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]["test"]["strategy"]["matrix"]
    named = [each.split(" :: ") for each in project["classifiers"]]
    assert [each[2] for each in named if each[:2] == ["Programming Language", "Python"] and "." in each[2]] == matrix[
        "python"
    ]
    assert {each[-1] for each in named if each[0] == "Operating System"} == {"Linux", "MacOS", "Windows"}
    assert project["authors"] == table(ROOT / "CITATION.cff")["authors"]


def stages() -> dict[str, str]:
    """The stages of the Dockerfile by their names; the last one, which is built by default, has none."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    found = re.findall(r"^FROM \S+(?: AS (\w+))?\n(.*?)(?=^FROM |\Z)", text, re.MULTILINE | re.DOTALL)
    return dict(found)


@pytest.mark.parametrize("name", ["", "serve"])
def test_the_images_are_light_and_without_rights(name: str) -> None:
    final = stages()[name]
    [user] = re.findall(r"^USER (\d+)$", final, re.MULTILINE)
    assert int(user) > 0
    assert final.index("USER") < final.index("HEALTHCHECK") < final.index("ENTRYPOINT")
    for word in ("torch", "[train]", "g++", "apt-get"):
        assert word not in final + stages()["runtime"]
    assert "HEADWISE_RELEASE=1" in stages()["build"]
    for each in re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE):
        assert (ROOT / each).exists()


def test_the_image_of_the_server_sets_what_the_server_knows() -> None:
    given = dict(re.findall(r"(HEADWISE_SERVE_\w+)=(\S+)", stages()["serve"]))
    settings = load_settings(environment=given)
    assert (settings.host, settings.models, settings.state) == ("0.0.0.0", "", "/state")
    assert f"{MODELS_VARIABLE}=/models" in stages()["runtime"]  # served beside the bundled model, as `models` is empty
    assert f"EXPOSE {settings.port}" in stages()["serve"]
    assert f"127.0.0.1:{settings.port}/health" in stages()["serve"]


def test_the_kubernetes_manifest_is_safe_and_sets_what_the_server_knows() -> None:
    text = (ROOT / "docs" / "kubernetes.yaml").read_text(encoding="utf-8")
    deployment, service = (each for each in yaml.safe_load_all(text) if each["kind"] in ("Deployment", "Service"))
    pod = deployment["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["readinessProbe"]["httpGet"]["path"] == "/ready"
    assert container["livenessProbe"]["httpGet"]["path"] == "/health"
    given = {each["name"]: each["value"] for each in container["env"]}
    settings = load_settings(environment=given)
    assert pod["terminationGracePeriodSeconds"] > settings.drain
    assert container["ports"][0]["containerPort"] == settings.port
    assert service["spec"]["ports"][0]["targetPort"] == container["ports"][0]["name"]
    mounted = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    assert {given[MODELS_VARIABLE], settings.state} <= set(mounted.values())
    assert mounted.keys() == {each["name"] for each in pod["volumes"]}


def test_a_release_is_checked_against_the_changelog() -> None:
    check = runpy.run_path(str(ROOT / "scripts" / "release" / "check_version.py"))
    assert check["package_version"]() == headwise.__version__
    assert any("the tag is v9.9.9" in problem for problem in check["problems"]("v9.9.9"))
    assert not any("tag" in problem for problem in check["problems"](f"v{headwise.__version__}"))
    notes = check["notes"](headwise.__version__)
    assert notes.startswith("The first release") or "###" in notes
    assert "## [" not in notes


@pytest.mark.parametrize("name", ["SECURITY.md", "CODE_OF_CONDUCT.md", ".github/PULL_REQUEST_TEMPLATE.md"])
def test_people_find_the_rules(name: str) -> None:
    assert len((ROOT / name).read_text(encoding="utf-8").split()) > 40


@pytest.mark.skipif(os.name == "nt", reason="the scripts run in bash")
@pytest.mark.parametrize(
    "path",
    [
        path
        for path in sorted((ROOT / "scripts").rglob("*"))
        if path.is_file() and path.read_bytes().startswith(b"#!/usr/bin/env bash")
    ],
    ids=lambda path: path.name,
)
def test_scripts_are_bash(path: Path) -> None:
    result = subprocess.run(["bash", "-n", str(path)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert os.access(path, os.X_OK)
    assert "set -euo pipefail" in path.read_text(encoding="utf-8")
