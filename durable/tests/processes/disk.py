"""What a disk could hold after a power cut: reads the journal of disk_recorder.c up to some moment, and builds the
files.

A disk certainly holds what was synced before. Of what was done later it can hold anything that Disk.build chooses:

- nothing, as if the disk wrote only when it must;
- everything, as after the end of all processes;
- some: of each block a state between the last sync and the cut, of each name likewise. A write of several blocks can
  be there in part, a later write without an earlier one, a file longer than its data, with zeros.

A sync of a file does not make its name durable. File systems of Linux do that for a new file, but POSIX does not ask
for it; and neither SQLite nor PostgreSQL relies on it.
"""
import os
import random
import struct
from dataclasses import dataclass, field
from pathlib import Path

HEAD = struct.Struct("=IIIIQqq")
NOTHING, EVERYTHING, SOME = "nothing", "everything", "some"
FOLDER = object()


@dataclass
class Record:
    what: str
    name: str
    other: str  # the second name of a rename or link
    data: bytes
    inode: int
    offset: int
    boot: int


def read_journal(path):
    with path.open("rb") as file:
        while head := file.read(HEAD.size):
            what, name_size, data_size, _, inode, offset, boot = HEAD.unpack(head)
            name, _, other = file.read(name_size).decode().partition("\0")
            yield Record(chr(what), name, other, file.read(data_size), inode, offset, boot)


@dataclass
class File:
    """What the disk certainly holds, and the records since."""
    base: Path | None = None
    held: bytearray | None = None
    later: list = field(default_factory=list)

    def content(self):
        if self.held is None:
            self.held = bytearray(self.base.read_bytes() if self.base else b"")
        return self.held

    def is_copy_of(self, path):
        return self.base == path and self.held is None and not self.later


def apply(content, record):
    if record.what == "t":
        del content[record.offset:]
    content.extend(bytes(max(0, record.offset + len(record.data) - len(content))))
    content[record.offset:record.offset + len(record.data)] = record.data


def apply_some(content, records, chance, block):
    """Each block keeps the state after one of the records, which is a different one for each block."""
    stopped, grown = set(), len(content)
    for record in records:
        end = record.offset + len(record.data)
        if record.what == "t" and chance.random() < 0.5:
            break
        if record.what == "t":
            apply(content, record)
            continue
        grown = max(grown, end)
        for number in range(record.offset // block, -(-end // block)):
            if number not in stopped and chance.random() < 0.3:
                stopped.add(number)
            if number in stopped:
                continue
            begin, past = max(record.offset, number * block), min(end, (number + 1) * block)
            content.extend(bytes(max(0, past - len(content))))
            content[begin:past] = record.data[begin - record.offset:past - record.offset]
    if chance.random() < 0.5:
        content.extend(bytes(max(0, grown - len(content))))


class Disk:
    def __init__(self, folder, base=None, forgets_syncs=False):
        """`base` is a copy of the folder from before the first record."""
        self.folder, self.base, self.forgets_syncs = str(folder), base, forgets_syncs
        self.files = {}  # by inode
        self.names, self.held_names = {}, {}
        self.later = []  # changes of names: [(name, file or None for "no longer"), ...]
        for place, _, names in os.walk(folder) if base else ():
            for each in names:
                path = Path(place, each)
                file = File(base / path.relative_to(folder))
                self.files[path.lstat().st_ino] = self.names[str(path)] = self.held_names[str(path)] = file

    # --- the records ---

    def take(self, record):
        {"w": self.change, "t": self.change, "e": self.change, "s": self.sync, "d": self.sync_folder,
         "a": self.sync_all, "c": self.create, "m": self.make_folder, "u": self.unlink, "r": self.rename,
         "l": self.link}[record.what](record)

    def change(self, record):
        if record.inode in self.files:
            self.files[record.inode].later.append(record)

    def sync(self, record):
        file = self.files.get(record.inode)
        if file and not self.forgets_syncs:
            self.sync_file(file)

    def sync_file(self, file):
        for each in file.later:
            apply(file.content(), each)
        file.later.clear()

    def sync_folder(self, record):
        if not self.forgets_syncs:
            self.sync_names(lambda change: any(os.path.dirname(name) == record.name for name, _ in change))

    def sync_names(self, is_synced):
        for change in [each for each in self.later if is_synced(each)]:
            self.held_names.update(change)
            self.later.remove(change)

    def sync_all(self, _):
        for file in self.files.values():
            self.sync_file(file)
        self.sync_names(lambda change: True)

    def name(self, *change):
        self.names.update(change)
        self.later.append(list(change))

    def create(self, record):
        file = self.files[record.inode] = File()
        self.name((record.name, file))

    def make_folder(self, record):
        self.name((record.name, FOLDER))

    def unlink(self, record):
        self.name((record.name, None))

    def rename(self, record):
        # Some files of PostgreSQL are written by the C library, unseen.
        self.name((record.name, None), (record.other, self.names.get(record.name) or File()))

    def link(self, record):
        self.name((record.other, self.names.get(record.name) or File()))

    # --- the files ---

    def build(self, place, choice, seed):
        """Builds the folder after a power cut at `place`, where a copy of the base must be if there is one."""
        chance = random.Random(seed)
        block = chance.choice([512, 4096])
        names = dict(self.held_names)
        blocked = set()
        for change in self.later:
            touched = {name for name, _ in change}
            if choice == NOTHING or (choice == SOME and (blocked & touched or chance.random() < 0.4)):
                blocked |= touched
            else:
                names.update(change)
        for name, file in sorted(names.items()):
            part = Path(name).relative_to(self.folder)
            path = place / part
            if file is None:
                path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
            elif not path.parent.is_dir() or (self.base and file is not FOLDER and file.is_copy_of(self.base / part)):
                continue
            elif file is FOLDER:
                path.mkdir(exist_ok=True)
            else:
                path.write_bytes(self.content(file, choice, chance, block))
            if file:
                parent = path.parent.stat()
                os.chown(path, parent.st_uid, parent.st_gid)  # the server's files are not this user's

    def content(self, file, choice, chance, block):
        content = bytearray(file.content()) if file.later else file.content()
        if choice == EVERYTHING:
            for each in file.later:
                apply(content, each)
        elif choice == SOME:
            apply_some(content, file.later, chance, block)
        return content
