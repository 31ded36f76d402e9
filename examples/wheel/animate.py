"""animate.py PROGRAM: writes an animated SVG of the frames that PROGRAM --frames shows in a terminal.

The picture is a grid of cells in columns of CHUNK characters. All contents of a cell stand side by side, and the steps
of an animation move the right one into view; repeated contents are stored once. If a reader prefers reduced motion, or
the program that shows the picture does not animate, the cells show the frame STILL.
"""
import itertools
import os
import re
import subprocess
import sys

FRAME_MS = 80      # as in wheel_picture.c
LAST_FRAMES = 10   # for which the last frame stays, before the picture starts again
STILL = 82         # a slot of the inner ring has just opened
CHUNK = 6          # gives the smallest file
WIDTH, HEIGHT = 9, 19  # of a character
MARGIN = 12
FAR = 1000         # from one content of a cell to the next: wider than the picture

COLUMNS, ROWS = 80, 24
PANEL, LOG_ROWS, CAPTION_ROWS = 44, range(13, 17), range(22, 24)  # see picture.c
BLANK = (" ", "")

# By the parameters of the escape sequence, see screen.c: class of the text, class of the background.
STYLES = {"": ("", ""), "90": ("f", ""), "1": ("b", ""), "1;36": ("t", ""), "30;42": ("d", "g"), "30;43": ("d", "y"),
          "97;41": ("l", "r"), "1;7": ("i", "h"), "1;93;45": ("s", "m"), "1;96": ("c", "")}

# Drawn instead of written, because fonts draw them differently.
SHAPES = {"○": "o", "·": "p", "✶": "k", "•": "q", "●": "n", "✓": "v", "×": "x"}
SHAPE_PATHS = {
    "o": '<circle cx="4.5" cy="9.5" r="2.4" fill="none" stroke="currentColor"/>',
    "p": '<circle cx="4.5" cy="9.5" r=".9"/>',
    "k": '<path d="M4.5 2.5l1.4 4.6 4.7-1-3.2 3.4 3.2 3.4-4.7-1-1.4 4.6-1.4-4.6-4.7 1 3.2-3.4-3.2-3.4 4.7 1z"/>',
    "q": '<circle cx="4.5" cy="9.5" r="3.2"/>',
    "n": '<circle cx="4.5" cy="9.5" r="3.4"/>',
    "v": '<path d="M1.5 9.8l2.2 2.6 4-6" fill="none" stroke="currentColor" stroke-width="1.6"/>',
    "x": '<path d="M1.8 6.8l5.4 5.4m0-5.4l-5.4 5.4" fill="none" stroke="currentColor" stroke-width="1.4"/>',
}
WORDS = re.compile("[{0}]|[^\\s{0}]+(?: [^\\s{0}]+)*".format("".join(SHAPES)))

TITLE = "A timer wheel as it turns"
DESCRIPTION = ("A recording of ./dev watch: three rings of 16 slots, level 0 on the rim. Timers go into slots of the "
               "three levels by how far away they are due. When a slot of level 2 or 1 opens, its timers move down "
               "a level or two, towards the rim. When the hand reaches a slot of the rim, its timers fire.")

STYLE = """
svg { color: #1f2328 }
text { font: 15px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace }
text, use { fill: currentColor }
.screen { fill: #fff; stroke: #d1d9e0 }
.b, .t, .i { font-weight: 600 }
.f { color: #59636e } .t { color: #0a7283 } .d { color: #0b1a0c } .l, .i { color: #fff } .s { color: #fff3a3 }
.c { color: #0969da }
.g { fill: #7ccf8a } .y { fill: #e6c04a } .r { fill: #c93c37 } .m { fill: #8250df } .h { fill: #1f2328 }
@media (prefers-color-scheme: dark) {
svg { color: #e6edf3 }
.screen { fill: #0d1117; stroke: #3d444d }
.f { color: #9198a1 } .t { color: #4fc3d4 } .i { color: #0d1117 } .c { color: #79c0ff }
.g { fill: #56b366 } .y { fill: #d4a72c } .h { fill: #e6edf3 }
}
@media (prefers-reduced-motion: reduce) { g { animation: none !important } }
"""


def frames_of(program):
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": ""}
    output = subprocess.run([program, "--frames"], env=environment, stdout=subprocess.PIPE, check=True).stdout.decode()
    return [cells_of(frame) for frame in output.partition("\x1b[?25h")[0].split("\x1b[1;1H")[1:]]


def cells_of(frame):
    """Returns the rows of a frame, each of them a list of (character, style)."""
    rows = []
    for row in re.split(r"\x1b\[\d+;1H", frame):
        cells, style = [], ""
        for sequence, character in re.findall(r"\x1b\[0?;?([\d;]*)m|(.)", row):
            if character:
                cells.append((character, style))
            else:
                style = sequence
        rows.append(cells)
    if len(rows) != ROWS or any(len(cells) != COLUMNS for cells in rows):
        sys.exit(f"animate.py: a frame is not of {COLUMNS} x {ROWS} characters")
    return rows


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;")


def attribute(class_name):
    return f' class="{class_name}"' if class_name else ""


def drawn(cells, x, y):
    """Returns the elements for some cells of a row, the first of them at x."""
    backgrounds, signs = [], []
    column = 0
    for style, run in itertools.groupby(cells, key=lambda cell: cell[1]):
        text = "".join(character for character, _ in run)
        text_class, background = STYLES[style]
        left = x + column * WIDTH
        if background:
            size = len(text) * WIDTH
            backgrounds.append(f'<path class="{background}" d="M{left} {y}h{size}v{HEIGHT}h-{size}z"/>')
        for word in re.finditer(WORDS, text):
            place = left + word.start() * WIDTH
            size = len(word[0])
            if word[0] in SHAPES:
                signs.append(f'<use href="#{SHAPES[word[0]]}"{attribute(text_class)} x="{place}" y="{y}"/>')
            else:
                length = f' textLength="{size * WIDTH}"' if size > 1 else ""
                signs.append(f'<text{attribute(text_class)} x="{place}" y="{y + 14}"{length}>{escaped(word[0])}</text>')
        column += len(text)
    return "".join(backgrounds + signs)


class Picture:
    def __init__(self, frames):
        self.frames = frames
        self.total = len(frames) - 1 + LAST_FRAMES
        self.keyframes = []
        self.names = {}  # of animations, by their steps

    def animation(self, contents):
        """Returns the name of an animation that shows the frames' contents, given as numbers."""
        steps = tuple((frame, content) for frame, content in enumerate(contents)
                      if frame == 0 or content != contents[frame - 1])
        if steps not in self.names:
            self.names[steps] = f"a{len(self.names)}"
            lines = "".join(f"{100 * frame / self.total:.3g}%{{translate:{-content}em}}"
                            for frame, content in steps)
            self.keyframes.append(f"@keyframes {self.names[steps]}{{{lines}}}")
        return self.names[steps]

    def chunk(self, row, columns):
        x, y = MARGIN + columns.start * WIDTH, MARGIN + row * HEIGHT
        contents = [frame[row][columns] for frame in self.frames]
        steady = [cells[0] if len(set(cells)) == 1 else BLANK for cells in zip(*contents)]
        contents = [tuple(BLANK if cell == always else cell for cell, always in zip(content, steady))
                    for content in contents]
        distinct = list(dict.fromkeys([contents[STILL], *contents]))
        if len(distinct) == 1:
            return drawn(steady, x, y)
        name = self.animation([distinct.index(content) for content in contents])
        elements = "".join(drawn(cells, x + FAR * i, y) for i, cells in enumerate(distinct))
        return f'{drawn(steady, x, y)}<g style="animation-name:{name}">{elements}</g>'

    def chunks_of_row(self, row):
        """Returns ranges of columns. Captions and the log change all at once, so their lines are not cut."""
        whole_from = 0 if row in CAPTION_ROWS else PANEL if row in LOG_ROWS else COLUMNS
        bounds = [*range(0, whole_from, CHUNK), whole_from, COLUMNS]
        return [slice(begin, end) for begin, end in itertools.pairwise(bounds) if begin < end]

    def svg(self):
        body = [self.chunk(row, columns) for row in range(ROWS) for columns in self.chunks_of_row(row)]
        width, height = COLUMNS * WIDTH + 2 * MARGIN, ROWS * HEIGHT + 2 * MARGIN
        seconds = self.total * FRAME_MS / 1000
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" '
            'aria-labelledby="title description">',
            f'<title id="title">{TITLE}</title>', f'<desc id="description">{DESCRIPTION}</desc>',
            f"<style>{STYLE}g {{ animation-duration: {seconds:g}s; animation-timing-function: step-end; "
            f"animation-iteration-count: infinite; font-size: {FAR}px }}", *self.keyframes, "</style>",
            "<defs>" + "".join(f'<g id="{name}">{path}</g>' for name, path in SHAPE_PATHS.items())
            + "</defs>",
            f'<rect class="screen" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="6"/>',
            *(line for line in body if line), "</svg>", ""])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.stdout.write(Picture(frames_of(sys.argv[1])).svg())
