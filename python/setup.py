"""The extension. pyproject.toml has the rest."""

import os
import re
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup

HERE = Path(__file__).resolve().parent
AMALGAMATE = HERE.parent / "packaging/amalgamate/amalgamate.py"

if AMALGAMATE.exists():  # in the repository; an sdist has the two files
    subprocess.run([sys.executable, "-B", AMALGAMATE, HERE / "src"], check=True)

numbers = re.findall(r"define TW_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", (HERE / "src/tickwheel.h").read_text("utf-8"))
setup(
    version=".".join(numbers),
    ext_modules=[
        Extension(
            "tickwheel._tickwheel",
            sources=["src/_tickwheel.cpp", "src/tickwheel.cpp"],
            depends=["src/timer.hpp", "src/wheel.hpp", "src/loop.hpp", "src/tickwheel.h"],
            extra_compile_args=["-std=c++20"],
        )
    ],
)
