"""Printers of gdb for Tickwheel: nodes, wheels, runtimes, sets of timers and handles.

    (gdb) source .../share/tickwheel/tickwheel-gdb.py
    (gdb) print session->timeout
    $1 = pending, due in 29.997 s, label "idle timeout", calls on_timeout(0x5555557a92a0)
    (gdb) print *rt
    $2 = runtime "timers", driver sleep, ticks of 1 ms = {
      [steady] = wheel at tick 4711, 3 pending = {...},
      ...

They read memory and call nothing in the process, so they work on a core as well. For nodes, the program's own
debug information is enough. What is inside of wheels, runtimes and sets is known only if the library has debug
information, too; without it they are printed as they are.

"Due in" counts from the tick that the wheel was last told, which a runtime that sleeps does not know better.
"""
import gdb
import gdb.printing

MOST_LISTED = 5  # nodes of a wheel that are due next
MOST_WALKED = 100000  # nodes that are looked at to find them

STATES = {0: "idle", 1: "pending", 2: "shut down"}
MISSED = {0: "burst", 1: "skip", 2: "delay"}
CLOCKS = {1: "monotonic", 2: "boot time", 3: "wall", 4: "virtual"}
UNITS = (("d", 86400e9), ("h", 3600e9), ("min", 60e9), ("s", 1e9), ("ms", 1e6), ("us", 1e3))


def duration(ns):
    for name, size in UNITS:
        if abs(ns) >= size:
            return f"{ns / size:.6g} {name}"
    return f"{ns} ns"


def type_of(name):
    """The type, or None where the debug information does not have it."""
    try:
        return gdb.lookup_type(name)
    except gdb.error:
        return None


def has(value, name):
    """True if a struct, or what it derives from, has such a member."""
    def is_in(kind):
        return any(f.name == name or (f.is_base_class and is_in(f.type)) for f in kind.strip_typedefs().fields())
    return is_in(value.type)


def plain(value):
    """What an std::atomic or another struct around one value holds."""
    while value.type.strip_typedefs().code == gdb.TYPE_CODE_STRUCT:
        value = value[next(field for field in value.type.strip_typedefs().fields() if hasattr(field, "bitpos"))]
    return value


def member(pointer, *names):
    """A member of a member ... of what a pointer points to, without reading all of that: gdb refuses large structs."""
    address, kind = int(pointer), pointer.type.target().strip_typedefs()
    for name in names:
        field = next(field for field in kind.fields() if field.name == name)
        address, kind = address + field.bitpos // 8, field.type.strip_typedefs()
    return gdb.Value(address).cast(kind.pointer()).dereference()


def text(pointer):
    """The text at a pointer, without what a terminal would take for more than itself."""
    if int(pointer) == 0:
        return None
    found = pointer.string(encoding="utf-8", errors="backslashreplace")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in found)


def symbol(function):
    block = gdb.block_for_pc(int(function))
    if block is not None and block.function is not None:
        return block.function.name
    return function.format_string(format="a", symbols=True)


def inside(wheel):
    """The contents of a struct tw, or None if the library has no debug information, or it is no wheel."""
    kind = type_of("tickwheel::core::(anonymous namespace)::library_wheel")
    if kind is None:
        return None
    it = wheel.address.cast(kind.pointer()).dereference()
    return it if int(it["self"]) & ~1 == int(wheel.address) else None


def runtime_of(contents):
    """The runtime that a wheel belongs to; None if it has none: then its caller, if it has one, is another's."""
    kind = type_of("tw_runtime")
    if kind is None or contents is None or int(contents["caller_arg"]) == 0:
        return None
    it = contents["caller_arg"].cast(kind.pointer())
    wheel = int(contents["self"]) & ~1
    try:
        lines = int(member(it, "steady").address), int(member(it, "absolute"))
    except gdb.MemoryError:
        return None
    return it.dereference() if wheel in lines else None


def label_text(runtime, number):
    return "(other labels)" if number == 63 else text(plain(runtime["label_texts"][number]))


class Node:
    """struct tw_node"""

    def __init__(self, value):
        self.it = value

    def wheel(self):
        if not has(self.it, "wheel") or int(self.it["wheel"]) == 0:
            return None
        bits = 8 * gdb.lookup_type("long").sizeof  # a sum with the node's address, its halves swapped
        own = int(self.it.address)
        address = (int(self.it["wheel"]) - (own << bits // 2 | own >> bits // 2)) % (1 << bits)
        try:
            return inside(gdb.Value(address).cast(type_of("tw").pointer()).dereference())
        except gdb.MemoryError:
            return None

    def ns_per(self, runtime, unit):
        return int(runtime["steady"]["unit"][unit])

    def deadline(self, contents, runtime):
        ticks = int(self.it["expiry"]) - int(contents["now"]) if contents is not None else None
        if ticks is None:
            return f"due at tick {int(self.it['expiry'])}"
        if runtime is None:
            return f"due at tick {int(self.it['expiry'])}, in {ticks}"
        return f"due in {duration(ticks * self.ns_per(runtime, 'ns'))}"

    def period(self, runtime):
        period, in_parts = int(self.it["period"]), int(self.it["part"]) != 0 if has(self.it, "part") else False
        if runtime is not None:
            length = duration(period * self.ns_per(runtime, "part" if in_parts else "ns"))
        else:
            length = f"{period} {'parts of a tick' if in_parts else 'ticks'}"
        left = int(self.it["fires_left"])
        return f"every {length} ({MISSED.get(int(self.it['missed_and_label']) & 3, 'broken')}" + (
            f", {left} times more)" if left else ")")

    def label(self, runtime):
        number = int(self.it["missed_and_label"]) >> 2
        if number == 0:
            return None
        return f'label "{label_text(runtime, number)}"' if runtime is not None else f"label {number}"

    def to_string(self):
        if int(self.it["fn"]) == 0:
            return "not initialised"
        state = STATES.get(int(self.it["state"]), "broken")
        contents = self.wheel()
        runtime = runtime_of(contents)
        parts = [state]
        if state == "pending":
            parts.append(self.deadline(contents, runtime))
        if int(self.it["period"]) != 0:
            parts.append(self.period(runtime))
        parts.append(self.label(runtime))
        parts.append(f"calls {symbol(self.it['fn'])}({int(self.it['arg']):#x})")
        return ", ".join(part for part in parts if part)


def nodes_of(contents):
    """The pending nodes of a wheel. Links that lead nowhere end it."""
    return nodes_of_tree(contents) if has(contents, "top_") else nodes_of_slots(contents)


def nodes_of_tree(contents):
    """Those of the tree, and of the trees of the calls of tw_clear that are under way."""
    ways, clearing, walked = [contents["top_"]], contents["under_way_"]["first_"], 0
    while int(clearing) and len(ways) < MOST_WALKED:
        ways.append(clearing["top"])
        clearing = clearing["next"]
    while ways:
        head = ways.pop()
        if int(head) == 0:
            continue
        ways += [head["child"][0], head["child"][1]]
        at = head
        while walked < MOST_WALKED:
            walked += 1
            yield at
            next_link = at["link"]["next"]
            if int(next_link) == int(head) or int(next_link["prev"]) != int(at):
                break
            at = next_link.cast(head.type)


def nodes_of_slots(contents):
    """Those of the slots, one slot after the other."""
    node, link = type_of("tw_node").pointer(), type_of("tw_link")
    rings = contents["slots"]["rings"]
    first, size, count = int(rings.address), link.sizeof, rings.type.range()[1] + 1
    heads = [first + i * size for i in range(count)] + [int(contents["leaving"].address)]
    walked = 0
    for head in heads:
        at = gdb.Value(head).cast(link.pointer())
        before = head
        while int(at["next"]) != head and walked < MOST_WALKED:
            at, before = at["next"], int(at)
            if int(at["prev"]) != before:
                return
            walked += 1
            it = at.cast(node)
            if STATES.get(int(it["state"])) == "pending":  # else the place of a walk, or a seam
                yield it


def records_of(contents):
    """How many timers of the library's own are on a wheel."""
    try:
        logs = contents["slots"]["records"]["logs"]
    except gdb.error:
        return 0
    return int(logs["armed"]) if int(logs) else 0


class Wheel:
    """struct tw"""

    def __init__(self, value):
        self.it = value
        self.contents = inside(value)

    def pending(self):
        """Nodes, without the places of walks, which a library without the runtime does not have."""
        try:
            return int(self.contents["count"]) - int(self.contents["places"])
        except gdb.error:
            return int(self.contents["count"])

    def to_string(self):
        if self.contents is None:
            return "a wheel; the library has no debug information, or this is not initialised"
        running = int(self.contents["running"])
        return f"wheel at tick {int(self.contents['now'])}, {self.pending()} pending" + (
            f", in the callback of node {running:#x}" if running else "")

    def children(self):
        if self.contents is None:
            return
        try:
            found = sorted(nodes_of(self.contents), key=lambda it: int(it["expiry"]))[:MOST_LISTED]
        except gdb.MemoryError:
            found = []
        for it in found:
            yield f"[{int(it):#x}]", it.dereference()


class Runtime:
    """struct tw_runtime"""

    def __init__(self, value):
        self.it = value

    def to_string(self):
        parts = [f'runtime "{self.it["thread_name"].string()}"', f"driver {text(self.it['driver']['name'])}",
                 f"{CLOCKS.get(int(self.it['clock']), 'unknown')} clock",
                 f"ticks of {duration(int(self.it['steady']['unit']['ns']))}",
                 f"woke up {int(plain(self.it['counters']['wakeups']))} times"]
        if int(plain(self.it["forked"])):
            parts.append("inert: a child of a fork")
        if int(plain(self.it["is_freed"])):
            parts.append("being freed")
        return ", ".join(parts)

    def fires(self, label):
        return sum(int(plain(of["labels"][label]["fires"])) for of in (self.it["meter"]["counts"], self.it["on_workers"]))

    def children(self):
        wheels = {"[steady]": self.it["steady"]["wheel"]}
        if int(self.it["absolute"]) != int(self.it["steady"].address):
            wheels["[wall]"] = self.it["absolute"].dereference()["wheel"]
        yield from wheels.items()
        contents = [inside(wheel) for wheel in wheels.values()]
        if int(plain(self.it["records"])) and None not in contents:
            yield "[timers of the library's own]", f"{sum(map(records_of, contents))} pending"
        for number in range(int(plain(self.it["label_count"])) + 1):
            name = f'"{label_text(self.it, number)}"' if number else "no label"
            yield f"[{name}]", f"{self.fires(number)} fires"


class Set:
    """struct tw_handles and struct tw_keyed, which the library knows as record_set"""

    def __init__(self, value):
        self.it = value

    def to_string(self):
        runtime = self.it["rt"].dereference()
        number = int(self.it["label"])
        return f"{int(self.it['count'])} timers of {'keys' if int(self.it['lookup']) else 'handles'}" + (
            f', label "{label_text(runtime, number)}"' if number else "") + (
            ", on workers" if int(self.it["workers"]) else "")


class Handle:
    """tw_handle"""

    def __init__(self, value):
        self.it = int(value)

    def to_string(self):
        return f"cell {self.it & 0xffffffff}, generation {self.it >> 32}" if self.it else "none"


PRINTERS = {"tw_node": Node, "tw": Wheel, "tw_runtime": Runtime, "tw_handles": Set, "tw_keyed": Set,
            "tickwheel::runtime::record_set": Set}


class Printers(gdb.printing.PrettyPrinter):
    def __init__(self):
        super().__init__("tickwheel", [gdb.printing.SubPrettyPrinter(name) for name in (*PRINTERS, "tw_handle")])

    def __call__(self, value):
        if value.type.name == "tw_handle":
            return Handle(value)
        kind = value.type.strip_typedefs().unqualified()
        if kind.code != gdb.TYPE_CODE_STRUCT or kind.tag not in PRINTERS or not kind.fields():
            return None
        return PRINTERS[kind.tag](value)


gdb.printing.register_pretty_printer(gdb.current_objfile(), Printers(), replace=True)
