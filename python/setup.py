"""The extension; pyproject.toml has the rest of the package."""

import re
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup

HERE = Path(__file__).resolve().parent
AMALGAMATE = HERE.parent / "packaging/amalgamate/amalgamate.py"

# The library in two files. An sdist has them; in the repository they are made here.
if AMALGAMATE.exists():
    subprocess.run([sys.executable, "-B", AMALGAMATE, HERE / "src"], check=True)



def pkg_config(*what):
    done = subprocess.run(["pkg-config", *what, "tickwheel-durable"], capture_output=True, text=True)
    return done.stdout.split() if done.returncode == 0 else None


# tickwheel.durable needs the installed library, with a client library for each of its databases.
durable = []
try:
    flags, libraries = pkg_config("--cflags"), pkg_config("--libs")
except FileNotFoundError:
    flags = libraries = None
if libraries is None:
    print("tickwheel.durable is left out, as pkg-config does not find tickwheel-durable", file=sys.stderr)
else:
    durable.append(
        Extension(
            "tickwheel._durable",
            sources=["src/_durable.cpp"],
            depends=["src/exports.map"],
            extra_compile_args=["-std=c++20", "-fvisibility=hidden", "-g0", *flags],
            extra_link_args=[*libraries, "-Wl,--as-needed", f"-Wl,--version-script={HERE}/src/exports.map"],
        )
    )

numbers = re.findall(r"define TW_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", (HERE / "src/tickwheel.h").read_text("utf-8"))
setup(
    version=".".join(numbers),
    ext_modules=[
        Extension(
            "tickwheel._tickwheel",
            sources=["src/_tickwheel.cpp", "src/tickwheel.cpp"],
            depends=["src/timer.hpp", "src/wheel.hpp", "src/loop.hpp", "src/tickwheel.h", "src/exports.map"],
            extra_compile_args=[
                "-std=c++20", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-fno-math-errno",
                "-fvisibility=hidden", "-ffunction-sections", "-fdata-sections", "-g0",
            ],
            # The program may have another copy of the library.
            extra_link_args=["-Wl,--gc-sections", "-Wl,--as-needed", f"-Wl,--version-script={HERE}/src/exports.map"],
        ),
        *durable,
    ],
)
