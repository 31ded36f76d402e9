"""attacker.py SUITE ASK: another user of a PostgreSQL database, who may create objects in the schema `public`, sets traps
there: operators, functions and types with the same names as those that the store uses. No trap may run as the
application, or as the administrator who calls the functions of the schema.

SUITE (store.cpp) executes every statement of the store as the application, and ASK (ask.cpp) opens tables of a former
release. The search path of the database names `public` first, so that a trap hides even a function with the same
arguments.
"""
import itertools
import re
import subprocess
import sys
from pathlib import Path

import running
from running import expect

TYPES = ["int4", "int8", "float8", "numeric", "bool", "text", "varchar", "name", "bytea", "timestamptz", "timestamp",
         "interval", "xid", "oid", "tid", "regclass"]
TRUTHS, OTHERS = ["=", "<>", "<", "<=", ">", ">="], ["+", "-", "*", "||", "&"]

# The functions that the statements call, with the types of their results.
FUNCTIONS = {
    "clock_timestamp": "timestamptz", "now": "timestamptz", "nextval": "int8", "min": "timestamptz", "count": "int8",
    "pg_notify": "text", "octet_length": "int4", "convert_to": "bytea", "hashtext": "int4", "set_config": "text",
    "to_regnamespace": "oid", "pg_advisory_xact_lock": "text", "date_part": "float8", "extract": "numeric",
}
UNTRAPPED = "set search_path = pg_catalog;"
ARRAYS = [f"{each}[]" for each in ("int4", "int8", "text", "bytea", "timestamptz", "tid")]


def body(trap):
    return (f"language plpgsql set search_path = pg_catalog as $$ begin raise log 'caught by {trap}, running as %', "
            "current_user; return null; end $$;")


def qualified(names):
    return ", ".join(f"pg_catalog.{name}" for name in names)


def operator_traps():
    """A trap for * has the type of its right operand, as `int8 * interval` has; + and - have that of the left one."""
    for left, right in itertools.product(TYPES, TYPES):
        both = qualified([left, right])
        for number, (result, operators) in enumerate(
                [("bool", TRUTHS), (left, ["+", "-", "&"]), (right, ["*"]), ("text", ["||"])]):
            function = f"public.trap_{left}_{right}_{number}"
            yield f"create function {function}({both}) returns pg_catalog.{result} {body(function)}"
            for operator in operators:
                yield (f"create operator public.{operator} (function = {function}, leftarg = pg_catalog.{left}, "
                       f"rightarg = pg_catalog.{right});")


def function_traps():
    some = ["text", "name", "varchar", "int8"]
    for name, result in FUNCTIONS.items():
        for arguments in itertools.chain([[]], ([each] for each in TYPES), itertools.product(some, some),
                                         itertools.product(some, some, ["bool"])):
            yield f"create function public.{name}({qualified(arguments)}) returns pg_catalog.{result} {body(name)}"
    for array in ARRAYS:
        yield (f"create function public.unnest(pg_catalog.{array}) returns setof pg_catalog.{array[:-2]} language "
               "plpgsql set search_path = pg_catalog as $$ begin raise log 'caught by unnest'; return; end $$;")


def type_traps():
    """Must come last: these types would break the statements that create the other traps."""
    for name in ("int4", "int8", "text", "timestamptz"):
        yield (f"create function public.is_{name}(pg_catalog.{name}) returns bool language plpgsql set search_path = "
               f"pg_catalog as $$ begin raise log 'caught by a type'; return true; end $$; create domain public.{name} "
               f"as pg_catalog.{name} check (public.is_{name}(value));")


class Attacked:
    """A server with a database that has the traps, and its log since they were set."""

    def __init__(self, server):
        self.server = server
        for role in ("mallory", "app"):
            self.sql(f"create role {role} login", "postgres")
        self.sql("create database attacked", "postgres")
        self.sql("grant create on schema public to mallory; grant create on database attacked to app;")
        traps = [*operator_traps(), *function_traps(), *type_traps()]
        self.sql(UNTRAPPED + "set role mallory;" + "\n".join(traps))
        self.sql("alter database attacked set search_path = public, pg_catalog", "postgres")
        self.skip_log()
        print(f"  {len(traps)} traps")

    def sql(self, text, database="attacked"):
        done = self.server.psql(text, database)
        expect(done is not None, f"refused: {text[:200]}")
        return done

    def skip_log(self):
        self.begin = (self.server.folder / "log").stat().st_size

    def caught(self):
        with (self.server.folder / "log").open(encoding="utf-8", errors="replace") as log:
            log.seek(self.begin)
            return re.findall(r"caught by .*(?:\n.*){0,4}", log.read())


def expect_nothing_caught(attacked, who):
    caught = attacked.caught()
    expect(not caught, f"{len(caught)} times something of the attacker's ran as {who}, at first:\n{caught and caught[0]}")


def calls_of_functions(attacked):
    """The arguments are literals: the library cannot protect expressions in the caller's own statement."""
    for call in ("put('k', 'sql', '2030-01-01 UTC')", "put('k', 'sql', '1990-01-01 UTC', 'x')",
                 "put('k', 'sql', '2030-01-01 UTC', replace => false)", "remove('k', 'sql')", "remove('k', 'none')"):
        attacked.sql(f"select tickwheel.{call}")
    for bad in ("put('', 'sql', '2030-01-01 UTC')", "put('k', 'sql', '2300-01-01 UTC')"):
        expect(attacked.server.psql(f"select tickwheel.{bad}", "attacked") is None, f"taken: {bad}")


def bring_up_to_date(attacked, ask, address):
    """Functions of a former release do not protect their callers. A process that opens the tables replaces them."""
    former = (Path(__file__).parent / "version_1.sql").read_text()
    attacked.sql(UNTRAPPED + "set role app;" + former + "select tickwheel.put('k', 'kept', '2030-01-01 UTC')")
    attacked.server.psql("select tickwheel.put('k', 'trapped', '2030-01-01 UTC')", "attacked")
    expect(attacked.caught(), "the traps catch nobody")
    subprocess.run([ask], input=f"open {address}\n", stdout=subprocess.DEVNULL, text=True, check=True)
    expect(attacked.sql("select version from tickwheel.meta") == "3", "the tables are not up to date")
    expect(attacked.sql(UNTRAPPED + "select count(*) from tickwheel.job where key = 'kept'") == "1", "a job is lost")


def test(suite, ask):
    with running.server("fsync=off") as server:
        attacked = Attacked(server)
        address = f"postgresql:///attacked?host={server.folder}&user=app"
        done = subprocess.run([suite, address], check=False)
        expect_nothing_caught(attacked, "the application")
        expect(done.returncode == 0, "see above")
        bring_up_to_date(attacked, ask, address)
        attacked.skip_log()
        calls_of_functions(attacked)
        expect_nothing_caught(attacked, "the administrator")


if __name__ == "__main__":
    running.main(lambda: test(*sys.argv[1:]))
