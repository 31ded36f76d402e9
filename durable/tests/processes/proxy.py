"""A proxy between programs and a server's socket, which can cut, stall and slow their connections."""
import selectors
import socket
import threading
import time

PASS, HOLE, SLOW = "pass", "hole", "slow"
SLOW_S = 0.06


class Proxy:
    """Each proxy has a port and a thread of its own. In the mode HOLE it holds back all bytes; they arrive when the
    mode ends, as in a network, unless `cut` drops them."""

    def __init__(self, target):
        self.target, self.mode = target, PASS
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.pairs = {}  # from one socket to the other
        self.lock = threading.Lock()
        self.ends = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def address(self):
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres?sslmode=disable&gssencmode=disable"

    def cut(self):
        with self.lock:
            for each in list(self.pairs):
                self.drop(each)

    def end(self):
        self.ends = True
        self.thread.join()
        self.cut()
        self.listener.close()

    # --- on its thread ---

    def drop(self, one):
        other = self.pairs.pop(one, None)
        if other is not None:
            self.pairs.pop(other, None)
            other.close()
        one.close()

    def accept(self):
        client, _ = self.listener.accept()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        to = socket.socket(socket.AF_UNIX)
        try:
            to.connect(self.target)
        except OSError:
            client.close()
            return
        self.pairs[client], self.pairs[to] = to, client

    def forward(self, one):
        try:
            data = one.recv(65536)
            if data:
                self.pairs[one].sendall(data)
                return
        except OSError:
            pass
        self.drop(one)

    def run(self):
        while not self.ends:
            if self.mode == HOLE:
                time.sleep(0.02)
                continue
            if self.mode == SLOW:
                time.sleep(SLOW_S)
            self.turn()

    def turn(self):
        with selectors.DefaultSelector() as ready:
            with self.lock:
                ready.register(self.listener, selectors.EVENT_READ)
                for each in self.pairs:
                    ready.register(each, selectors.EVENT_READ)
            found = ready.select(0.05)
            with self.lock:
                for key, _ in found:
                    if self.mode == HOLE:
                        return
                    if key.fileobj is self.listener:
                        self.accept()
                    elif key.fileobj in self.pairs:
                        self.forward(key.fileobj)
