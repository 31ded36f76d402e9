"""picture.py PAGE PNG: the picture in the README, of the head of the page and the wheel in mid-turn."""
import sys
from pathlib import Path

from chromium import Chromium

WIDTH, FRAME = 1200, 168

with Chromium() as browser:
    browser.media("light", "reduce")
    browser.size(WIDTH)
    browser.open(Path(sys.argv[1]))
    browser.value(f"(e => {{ e.value = {FRAME}; e.oninput(); }})(document.getElementById('seek'))")
    end = browser.value("document.getElementById('wheel').getBoundingClientRect().bottom + scrollY")
    picture = browser.picture(WIDTH, int(end))
    if browser.complaints:
        sys.exit(f"the browser complains: {browser.complaints}")
    Path(sys.argv[2]).write_bytes(picture)
