"""install.py FOLDER: builds the sdist in FOLDER, a wheel from the sdist, and an index of both; and installs the
package from that index into the virtual environment FOLDER/venv. Nothing comes from the network."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROGRAM = """
import tickwheel
fired = []
with tickwheel.TimerWheel("virtual") as wheel:
    wheel.call_later(1.5, fired.append, "installed")
    wheel.advance(2)
print(*fired, tickwheel.__version__, tickwheel.__file__)
"""


def run(*command, **options):
    subprocess.run([str(each) for each in command], check=True, **options)


def main():
    folder = Path(sys.argv[1]).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    index = folder / "index/tickwheel"
    index.mkdir(parents=True)
    # A copy of the folder python where setup.py finds amalgamate.py, as in the repository.
    source = folder / "source/python"
    shutil.copytree(ROOT / "python", source, ignore=shutil.ignore_patterns("build", "*.egg-info", "tickwheel.*"))
    (folder / "source/packaging").symlink_to(ROOT / "packaging")

    # What `python3 -m build` and pip do, each part once.
    make_sdist = f"from setuptools import build_meta; build_meta.build_sdist({str(index)!r})"
    run(sys.executable, "-c", make_sdist, cwd=source, stdout=subprocess.DEVNULL)
    (sdist,) = index.glob("tickwheel-*.tar.gz")
    pip = ["-m", "pip", "--disable-pip-version-check", "-q"]
    offline = {**os.environ, "PIP_CONFIG_FILE": os.devnull}
    run(sys.executable, *pip, "wheel", "--no-index", "--no-deps", "--no-build-isolation", "--no-cache-dir",
        "-w", index, sdist, env=offline)
    (wheel,) = index.glob("tickwheel-*.whl")

    # PEP 503: a page of links for each project.
    links = "".join(f'<a href="{each.name}">{each.name}</a>\n' for each in (sdist, wheel))
    (index / "index.html").write_text(f"<!DOCTYPE html>\n{links}", encoding="utf-8")

    run(sys.executable, "-m", "venv", folder / "venv")
    python = folder / "venv/bin/python"
    run(python, *pip, "install", "--no-cache-dir", "--index-url", index.parent.as_uri(), "tickwheel", env=offline)
    said = subprocess.run([python, "-I", "-c", PROGRAM], check=True, capture_output=True, text=True).stdout
    print(said, end="")
    version = sdist.name.removeprefix("tickwheel-").removesuffix(".tar.gz")
    if not said.startswith(f"installed {version} {folder}/venv/"):
        raise SystemExit("install.py: this is not the package from the index")


main()
