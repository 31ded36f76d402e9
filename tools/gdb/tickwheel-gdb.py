"""Pretty-printers for gdb: Tickwheel's nodes, wheels, runtimes, sets of timers and handles.

    (gdb) source .../share/tickwheel/tickwheel-gdb.py
    (gdb) print session->timeout
    $1 = pending, due in 29.997 s, label "idle timeout", calls on_timeout(0x5555557a92a0)
    (gdb) print *rt
    $2 = runtime "timers", driver sleep, ticks of 1 ms = {
      [steady] = wheel at tick 4711, 3 pending = {...},
      ...

The printers read memory and call nothing in the process, so they also work on a core file. For nodes, the
program's own debug information is enough. For the contents of wheels, runtimes and sets the library needs debug
information, too; without it gdb prints them as plain structs.

"Due in" counts from the last tick that the wheel was advanced to. A sleeping runtime has no later one.
"""
import gdb
import gdb.printing

MOST_LISTED = 5  # next due nodes of a wheel
MOST_WALKED = 100000  # nodes visited to find them

STATES = {0: "idle", 1: "pending", 2: "retired"}
MISSED = {0: "coalesce", 1: "delay", 2: "burst"}
CLOCKS = {1: "monotonic", 2: "boot time", 3: "wall", 4: "virtual"}
UNITS = (("d", 86400e9), ("h", 3600e9), ("min", 60e9), ("s", 1e9), ("ms", 1e6), ("us", 1e3))


def duration(ns):
    for name, size in UNITS:
        if abs(ns) >= size:
            return f"{ns / size:.6g} {name}"
    return f"{ns} ns"


def type_of(name):
    """The type, or None if the debug information lacks it."""
    try:
        return gdb.lookup_type(name)
    except gdb.error:
        return None


def has(value, name):
    """True if a struct or one of its bases has such a member."""
    def is_in(kind):
        return any(f.name == name or (f.is_base_class and is_in(f.type)) for f in kind.strip_typedefs().fields())
    return is_in(value.type)


def plain(value):
    """The value inside a std::atomic or another struct around one value."""
    while value.type.strip_typedefs().code == gdb.TYPE_CODE_STRUCT:
        value = value[next(field for field in value.type.strip_typedefs().fields() if hasattr(field, "bitpos"))]
    return value


def member(pointer, *names):
    """A nested member of the struct at a pointer, without reading the whole struct: gdb refuses large ones."""
    address, kind = int(pointer), pointer.type.target().strip_typedefs()
    for name in names:
        field = next(field for field in kind.fields() if field.name == name)
        address, kind = address + field.bitpos // 8, field.type.strip_typedefs()
    return gdb.Value(address).cast(kind.pointer()).dereference()


def text(pointer):
    """The text at a pointer, with characters escaped that a terminal could interpret."""
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
    """The contents of a struct tw; None if the library has no debug information, or the struct is not a wheel."""
    kind = type_of("tickwheel::core::(anonymous namespace)::library_wheel")
    if kind is None:
        return None
    contents = wheel.address.cast(kind.pointer()).dereference()
    return contents if int(contents["self"]) & ~1 == int(wheel.address) else None


def runtime_of(contents):
    """The runtime of a wheel; None if the wheel has none, even if it has another caller."""
    kind = type_of("tw_runtime")
    if kind is None or contents is None or int(contents["caller_arg"]) == 0:
        return None
    runtime = contents["caller_arg"].cast(kind.pointer())
    wheel = int(contents["self"]) & ~1
    try:
        lines = int(member(runtime, "steady").address), int(member(runtime, "absolute"))
    except gdb.MemoryError:
        return None
    return runtime.dereference() if wheel in lines else None


def label_text(runtime, number):
    return "(other labels)" if number == 63 else text(plain(runtime["label_texts"][number]))


class Node:
    """struct tw_node"""

    def __init__(self, value):
        self.value = value

    def wheel(self):
        if not has(self.value, "wheel") or int(self.value["wheel"]) == 0:
            return None
        bits = 8 * gdb.lookup_type("long").sizeof  # the field is a sum with the node's address, its halves swapped
        own = int(self.value.address)
        address = (int(self.value["wheel"]) - (own << bits // 2 | own >> bits // 2)) % (1 << bits)
        try:
            return inside(gdb.Value(address).cast(type_of("tw").pointer()).dereference())
        except gdb.MemoryError:
            return None

    def ns_per(self, runtime, unit):
        return int(runtime["steady"]["unit"][unit])

    def deadline(self, contents, runtime):
        ticks = int(self.value["expiry"]) - int(contents["now"]) if contents is not None else None
        if ticks is None:
            return f"due at tick {int(self.value['expiry'])}"
        if runtime is None:
            return f"due at tick {int(self.value['expiry'])}, in {ticks}"
        return f"due in {duration(ticks * self.ns_per(runtime, 'ns'))}"

    def is_periodic(self):
        """A one-shot timer of a runtime keeps its delay in `period`; see TW_CORE_ONCE in the library's
        door.h."""
        is_once = has(self.value, "part") and int(self.value["part"]) == 0xFFFFFFFF
        return int(self.value["period"]) != 0 and not is_once

    def period(self, runtime):
        period, in_parts = int(self.value["period"]), int(self.value["part"]) != 0 if has(self.value, "part") else False
        if runtime is not None:
            length = duration(period * self.ns_per(runtime, "part" if in_parts else "ns"))
        else:
            length = f"{period} {'parts of a tick' if in_parts else 'ticks'}"
        left = int(self.value["fires_left"])
        return f"every {length} ({MISSED.get(int(self.value['missed_and_label']) & 3, 'broken')}" + (
            f", {left} times more)" if left else ")")

    def label(self, runtime):
        number = int(self.value["missed_and_label"]) >> 2
        if number == 0:
            return None
        return f'label "{label_text(runtime, number)}"' if runtime is not None else f"label {number}"

    def to_string(self):
        if int(self.value["fn"]) == 0:
            return "not initialised"
        state = STATES.get(int(self.value["state"]), "broken")
        contents = self.wheel()
        runtime = runtime_of(contents)
        parts = [state]
        if state == "pending":
            parts.append(self.deadline(contents, runtime))
        if self.is_periodic():
            parts.append(self.period(runtime))
        parts.append(self.label(runtime))
        parts.append(f"calls {symbol(self.value['fn'])}({int(self.value['arg']):#x})")
        return ", ".join(part for part in parts if part)


def nodes_of(contents):
    """The pending nodes of a wheel. A broken link ends the walk."""
    return nodes_of_tree(contents) if has(contents, "top_") else nodes_of_slots(contents)


def nodes_of_tree(contents):
    """The pending nodes of the tree, and of the trees of tw_cancel_all calls in progress."""
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
    """The pending nodes of the slots, one slot after the other."""
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
            pending = at.cast(node)
            if STATES.get(int(pending["state"])) == "pending":  # else the place of a walk
                yield pending


def records_of(contents):
    """The number of the library's own timers on a wheel."""
    try:
        logs = contents["slots"]["records"]["logs"]
    except gdb.error:
        return 0
    return int(logs["armed"]) if int(logs) else 0


class Wheel:
    """struct tw"""

    def __init__(self, value):
        self.value = value
        self.contents = inside(value)

    def pending(self):
        """The number of pending nodes, without the places of walks, which a library without the runtime lacks."""
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
            found = sorted(nodes_of(self.contents), key=lambda node: int(node["expiry"]))[:MOST_LISTED]
        except gdb.MemoryError:
            found = []
        for node in found:
            yield f"[{int(node):#x}]", node.dereference()


class Runtime:
    """struct tw_runtime"""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        parts = [f'runtime "{self.value["thread_name"].string()}"', f"driver {text(self.value['driver']['name'])}",
                 f"{CLOCKS.get(int(self.value['clock']), 'unknown')} clock",
                 f"ticks of {duration(int(self.value['steady']['unit']['ns']))}",
                 f"woke up {int(plain(self.value['counters']['wakeups']))} times"]
        if int(plain(self.value["forked"])):
            parts.append("inert: a child of a fork")
        if int(plain(self.value["is_freed"])):
            parts.append("being freed")
        return ", ".join(parts)

    def fires(self, label):
        counts = self.value["meter"]["counts"], self.value["on_workers"]
        return sum(int(plain(of["labels"][label]["fires"])) for of in counts)

    def children(self):
        wheels = {"[steady]": self.value["steady"]["wheel"]}
        lanes = self.value["steady"]["lanes"]
        for number in range(1, int(plain(lanes["made"])).bit_length()):
            if int(plain(lanes["wheels"][number])):
                wheels[f"[lane {number}]"] = plain(lanes["wheels"][number]).dereference()
        if int(self.value["absolute"]) != int(self.value["steady"].address):
            wheels["[wall]"] = self.value["absolute"].dereference()["wheel"]
        yield from wheels.items()
        contents = [inside(wheel) for wheel in wheels.values()]
        if int(plain(self.value["records"])) and None not in contents:
            yield "[timers of the library's own]", f"{sum(map(records_of, contents))} pending"
        for number in range(int(plain(self.value["label_count"])) + 1):
            name = f'"{label_text(self.value, number)}"' if number else "no label"
            yield f"[{name}]", f"{self.fires(number)} fires"


class Set:
    """struct tw_timers and struct tw_keyed, which the library implements as timer_set"""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        runtime = self.value["rt"].dereference()
        traits = self.value["traits"]
        number = int(traits["label"])
        first, lanes = int(self.value["first"]), int(self.value["lanes"])
        lanes = [plain(self.value["in_lanes"][lane]) for lane in range(first, first + lanes)]
        count = sum(int(lane.dereference()["count"]) for lane in lanes if int(lane))
        return f"{count} timers of {'keys' if int(traits['lookup']) else 'handles'}" + (
            f', label "{label_text(runtime, number)}"' if number else "") + (
            ", on workers" if int(traits["workers"]) else "")


class Handle:
    """tw_handle"""

    def __init__(self, value):
        self.value = int(value)

    def to_string(self):
        return f"cell {self.value & 0xffffffff}, generation {self.value >> 32}" if self.value else "none"


PRINTERS = {"tw_node": Node, "tw": Wheel, "tw_runtime": Runtime, "tw_timers": Set, "tw_keyed": Set,
            "tickwheel::timers::timer_set": Set}


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
