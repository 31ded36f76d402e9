"""terminal.py TOOL HANDLER: tickwheel-jobs watch in a terminal: it draws within any size, follows the jobs, ends by q
and by signals, and restores the terminal. Also tests its output to a pipe."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

from tool import HOSTILE, SHOWN, Handler, is_safe, run

program, handler = sys.argv[1:]
BEGIN, END, ROW = b"\x1b[?1049h\x1b[?25l", b"\x1b[?25h\x1b[?1049l", b"\x1b[H"


def take_terminal():
    """Called in the new process, so that it gets the signal of Ctrl-C."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Terminal:
    """A terminal in which the tool runs the verb watch."""

    def __init__(self, tool, rows, columns):
        self.outer, self.inner = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.inner)
        self.process = subprocess.Popen([program, "--schema", tool.schema, "watch", "--seconds", "0.1"], stdin=self.inner, stdout=self.inner,
                                        stderr=self.inner, env=tool.environment, preexec_fn=take_terminal)
        self.seen = b""
        self.read_until(BEGIN)
        assert not termios.tcgetattr(self.inner)[3] & termios.ECHO

    def resize(self, rows, columns):
        fcntl.ioctl(self.outer, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read_until(self, wanted, seconds=60):
        """Returns the output up to and including the wanted text."""
        until = time.monotonic() + seconds
        while wanted not in self.seen:
            assert time.monotonic() < until, (wanted, self.seen[-2000:])
            if select.select([self.outer], [], [], 1)[0]:
                self.seen += os.read(self.outer, 65536)
        end = self.seen.index(wanted) + len(wanted)
        read, self.seen = self.seen[:end], self.seen[end:]
        return read

    def picture(self):
        """The lines of the next whole picture."""
        self.read_until(ROW)
        drawn = self.read_until(ROW)[:-len(ROW)].decode()
        self.seen = ROW + self.seen
        lines = [line.rstrip("\r").removesuffix("\x1b[K") for line in drawn.split("\n")]
        assert all(is_safe(line) for line in lines), lines
        return lines

    def picture_with(self, pattern):
        until = time.monotonic() + 60
        while not re.search(pattern, "\n".join(lines := self.picture())):
            assert time.monotonic() < until, (pattern, lines)
        return lines

    def ended(self):
        """Asserts that the tool has ended with success, and has restored the terminal."""
        self.read_until(END)
        assert self.process.wait(60) == 0, self.process.returncode
        assert termios.tcgetattr(self.inner) == self.before
        os.close(self.inner)
        os.close(self.outer)


def follows_what_happens(tool):
    terminal = Terminal(tool, 30, 200)
    lines = terminal.picture_with("nothing is late, held or started, and nothing has failed")
    assert len(lines) == 30 and "by the database's clock; 0 processes are alive" in lines[0]
    assert lines[1] == "0 late, 0 held, 0 started, 0 failed, 0 given up"
    tool("put", HOSTILE, HOSTILE, "--in", "1h")
    with Handler(handler, tool):
        for i in range(40):
            tool("put", "bad", f"b{i:02}")
        tool("put", "slow", HOSTILE)
        terminal.picture_with(r"0 held, 1 started, 40 failed")
        lines = terminal.picture_with(r"slow .* started .* (late|now)")
        assert len(lines) == 30 and any(line.startswith("slow") and SHOWN[:17] in line for line in lines), lines
        assert lines[2].startswith("nobody handles " + SHOWN) and sum(line.startswith("bad") for line in lines) >= 10
    os.write(terminal.outer, b"xq")
    terminal.ended()


def shows_what_is_late_first(tool):
    """In 80 columns and 24 rows, whatever there is."""
    for i in range(60):
        tool("put", "late", f"{i:02}" + "x" * 100, "--at", f"2020-01-01T00:00:{59 - i % 60:02}Z")
    terminal = Terminal(tool, 24, 80)
    lines = terminal.picture_with("60 late by")
    assert lines[4].startswith("KIND") and lines[5].startswith("late") and "59xxx" in lines[5], lines
    assert not any(line.endswith("...") and len(line) == 80 for line in lines), lines  # nothing was cut at the edge
    os.write(terminal.outer, b"q")
    terminal.ended()
    tool("remove", "late", "--yes")


def fits_into_any_terminal(tool):
    """More rows than fit, and wide characters, which take two columns each."""
    for i in range(60):
        tool("put", "世界" * 20, f"é{i}", "--payload", "世")
    terminal = Terminal(tool, 24, 80)
    for rows, columns in ((24, 80), (3, 20), (1, 1), (5, 7), (100, 300)):
        terminal.resize(rows, columns)
        until = time.monotonic() + 60
        while len(lines := terminal.picture()) != rows:
            assert time.monotonic() < until, (rows, columns, lines)
        lines = terminal.picture()
        wide = [sum(2 if each >= "\u2e80" else 1 for each in line) for line in lines]
        assert max(wide) <= columns, (rows, columns, lines)
    os.write(terminal.outer, b"Q")
    terminal.ended()


def ends_by_signals(tool):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        terminal = Terminal(tool, 10, 40)
        terminal.picture()
        terminal.process.send_signal(number)
        terminal.ended()
    terminal = Terminal(tool, 10, 40)
    terminal.picture()
    os.write(terminal.outer, b"\x03")  # Ctrl-C
    terminal.ended()


def prints_lines_elsewhere(tool):
    command = [program, "--schema", tool.schema, "watch", "--seconds", "0.05"]
    watch = subprocess.Popen(command, stdout=subprocess.PIPE, env=tool.environment)
    heads = 0
    while heads < 3:
        line = watch.stdout.readline().decode()
        assert is_safe(line), line
        heads += " 0 started" in line
    watch.send_signal(signal.SIGTERM)
    assert watch.wait(60) == 0
    watch.stdout.close()
    watch = subprocess.Popen(command, stdout=subprocess.PIPE, env=tool.environment)
    watch.stdout.readline()
    watch.stdout.close()  # as `| head -1` does
    assert watch.wait(60) != 0


run(program, (follows_what_happens, shows_what_is_late_first, fits_into_any_terminal, ends_by_signals, prints_lines_elsewhere))
