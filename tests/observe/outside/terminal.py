"""terminal.py TOP LOOKED_AT: tickwheel-top in a terminal: it draws, follows a change of size, ends by q and
by signals, and restores the terminal."""
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

top, looked_at = sys.argv[1:]


def read_until(fd, wanted, seconds=60):
    seen, until = b"", time.monotonic() + seconds
    while wanted not in seen:
        assert time.monotonic() < until, (wanted, seen)
        if select.select([fd], [], [], 1)[0]:
            try:
                more = os.read(fd, 65536)
            except OSError:
                break
            seen += more
    assert wanted in seen, (wanted, seen)
    return seen


def resize(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def run(end):
    outer, inner = pty.openpty()
    resize(outer, 40, 100)
    before = termios.tcgetattr(inner)
    program = subprocess.Popen([top, "--seconds", "0.1"], stdin=inner, stdout=inner, stderr=inner, env=environment)
    drawn = read_until(outer, b"often")
    assert b"\033[?1049h" in drawn and b"\033[?25l" in drawn
    assert not termios.tcgetattr(inner)[3] & termios.ECHO
    resize(outer, 3, 20)
    read_until(outer, b"\033[H")
    drawn = read_until(outer, b"\033[H" * 1)
    end(outer, program)
    drawn = read_until(outer, b"\033[?25h\033[?1049l")
    assert program.wait(60) == 0, program.returncode
    assert termios.tcgetattr(inner) == before
    os.close(inner)
    os.close(outer)


with tempfile.TemporaryDirectory() as folder:
    environment = {**os.environ, "XDG_RUNTIME_DIR": folder}
    shown = subprocess.Popen([looked_at], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    shown.stdout.readline()
    run(lambda outer, program: os.write(outer, b"q"))
    run(lambda outer, program: program.send_signal(signal.SIGTERM))
    run(lambda outer, program: program.send_signal(signal.SIGINT))
    shown.stdin.close()
    assert shown.wait(60) == 0
    assert os.listdir(os.path.join(folder, "tickwheel")) == []
print("the terminal is as it was, three times")
