"""reference.py FOLDER: writes the reference, from the comments of the public headers.

FOLDER/man/man3 gets the man pages of the C functions, FOLDER/html/index.html all headers on one page that
searches itself. ./dev reference runs this and checks what comes out.
"""
import os
import re
import shutil
import sys
import time
from pathlib import Path

from headers import conventions_of, read_headers
from html_page import html_page
from man_pages import man_pages

ROOT = Path(__file__).resolve().parent.parent.parent


def version():
    text = (ROOT / "include/tickwheel/version.h").read_text()
    return ".".join(re.search(rf"TW_VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def write(folder, files, links):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    for name, target in links.items():
        (folder / name).symlink_to(target)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    headers = read_headers(ROOT / "include", ROOT / "calendar/include", ROOT / "durable/include", ROOT / "boards/include")
    conventions = {header.path: conventions_of(header, headers) for header in headers}
    of_c = [header for header in headers if header.path.count("/") == 1 and header.path.endswith(".h")]
    date = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))
    edition = f'{date} "Tickwheel {version()}"'
    write(folder / "man/man3", *man_pages(of_c, conventions, edition))
    write(folder / "html", {"index.html": html_page(headers, version())}, {})


main()
