"""A running server with a small translator, a language model and an encoder, for the clients of others."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headwise.models.folder.load import save_model
from tests.kinds import encoder, remembering
from tests.serve.running import running_server


@pytest.fixture(scope="package")
def url(small_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the server."""
    folder = tmp_path_factory.mktemp("clients")
    shutil.copytree(small_folder, folder / "models" / "five")
    save_model(folder / "models" / "writer", remembering())
    save_model(folder / "models" / "reader", encoder())
    with running_server(folder / "models", folder, suggestions=True) as server:
        yield server.url


@pytest.fixture(scope="package")
def run_node() -> Callable[[str, str, str], Any]:
    """Runs a program with an npm package as `client`; its result is what it returns. NODE_PATH names the packages."""

    def run(package: str, program: str, url: str) -> Any:
        node = shutil.which("node") or "node"
        lookup = subprocess.run([node, "-e", f"require.resolve({package!r})"], capture_output=True)
        if lookup.returncode:
            pytest.skip(f"the npm package {package} is not installed: set NODE_PATH to a folder node_modules with it")
        script = f"""
            const load = async () => {{
                try {{ return require({package!r}) }}
                catch (error) {{
                    return import(require("url").pathToFileURL(require.resolve({package!r})))
                }}
            }}
            load()
                .then(async client => {{ const url = {json.dumps(url)}; {program} }})
                .then(found => console.log(JSON.stringify(found)), error => {{ console.error(error); process.exit(1) }})
        """
        done = subprocess.run([node, "-e", script], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run
