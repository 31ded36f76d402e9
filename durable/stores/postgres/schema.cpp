#include "schema.hpp"

#include <cerrno>
#include <cstring>

#include "stores/later_release.hpp"

namespace tickwheel::durable::postgres {

namespace {

// The tables must stay fast while another session holds an old snapshot, so that vacuum removes nothing. So a
// job has only the two indexes that it needs until it is due, and claims and starts change no column of them:
// PostgreSQL then writes the new version of the row into the same page and touches no index (a HOT update).
// The fill factor leaves room in each page for one more version of every row; the page forgets former
// versions without vacuum. Three things replace the indexes that held jobs would need:
//
//   - a process finds its rows by their place (ctid), and by the name if the row has moved;
//   - a claim begins where the last one ended (tw_store_claim.from_ns), so it meets few rows that are held or
//     gone;
//   - `claim` has one row for each kind of each claim, with the range of the ready times. S1: a job that a
//     member holds is within such a range of this member. Looks for jobs delete ranges without jobs.
//
// A job that ends leaves one dead row, so vacuum must start after a number of them, and not after a share of
// a table that may hold millions of idle rows. The columns stand in an order that needs no padding.
constexpr const char *tables = R"(
-- `create schema if not exists` needs the right to create a schema even if the schema exists.
do $body$ begin
    if to_regnamespace('$S') is null then
        create schema $S;
    end if;
end $body$;

create table $S.meta (version int not null, oldest_sharing int not null);

create table $S.member (
    id bigint generated always as identity primary key,
    name text not null,
    epoch bigint not null default 0,
    lease_end timestamptz not null,
    dead boolean not null default false,
    joined timestamptz not null default clock_timestamp()
);

create sequence $S.token;

create table $S.job (
    ready timestamptz not null,
    due timestamptz not null,
    token bigint not null default 0,
    holder bigint,
    period bigint,
    grace bigint,
    missed int,
    attempts int not null default 0,
    started boolean not null default false,
    failed boolean not null default false,
    kind text collate "C" not null,
    key text collate "C" not null,
    payload bytea not null,
    cron text,
    zone text,
    error text,
    primary key (kind, key)
) with (fillfactor = 45, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

create index job_failed on $S.job (kind, key) where failed;
)";

// What versions 1 and 2 lack, too.
constexpr const char *additions_of_3 = R"(
create table $S.claim (
    member bigint not null,
    kind text collate "C" not null,
    first timestamptz not null,
    last timestamptz not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
create index claim_member on $S.claim (member);
create index if not exists job_ready on $S.job (kind, ready) where not failed;
alter table $S.member add column kinds text[], add column clock_offset bigint;
-- A row for each kind with limits: a claim by which they are kept locks the row. `next` is the time of
-- tw_store_claim.pause_ns, null before the first start; a `slot` is a job that a claim with `running` has taken. A slot
-- is in use while a member holds the job with this token.
create table $S.pace (kind text collate "C" primary key, next timestamptz) with (fillfactor = 10);
create table $S.slot (kind text collate "C" not null, key text collate "C" not null, token bigint not null)
    with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
create index slot_kind on $S.slot (kind);
-- Periodic jobs whose last due time was given up, and jobs that wait for their next try.
create index if not exists job_with_error on $S.job (kind, key) where error is not null and not failed;
create index if not exists job_of_group on $S.job (of_group) where of_group is not null;
create index if not exists job_waits_for on $S.job (waits_for) where waits_for is not null;
)";

// A job that waits for a group is ready at infinity. `no_later` is the end of the puts with `within_ns`.
constexpr const char *columns_of_3 = R"(
alter table $S.job add column if not exists no_later timestamptz, add column if not exists of_group text collate "C",
    add column if not exists waits_for text collate "C";
)";

// The indexes of versions 1 and 2 that made claims slow, and the values that a job that fires once no longer
// has.
constexpr const char *changes_of_3 = R"(
alter table $S.meta add column oldest_sharing int;
alter table $S.job set (fillfactor = 45);
alter table $S.job alter missed drop not null;
alter table $S.job alter grace drop not null;
insert into $S.claim select holder, kind, min(ready), max(ready) from $S.job where holder is not null group by holder, kind;
drop index $S.job_held;
drop index $S.job_pending;
drop function $S.tell(text, timestamptz);
drop function $S.put(text, text, timestamptz, bytea, boolean);
-- A process of the former release that still runs would claim jobs without a range. Its member is dead, and without
-- the default it cannot join again.
update $S.member set dead = true;
alter table $S.member alter epoch drop default;
)";

// Programs call these functions in their own transactions. Each function has its own search path: otherwise
// it would run operators and functions that another user has put into a schema of the caller's search path.
// An upgrade replaces all functions.
constexpr const char *functions = R"(
create or replace function $S.check_name(name text) returns text language plpgsql stable
set search_path = pg_catalog, pg_temp as $body$
begin
    if name is null or octet_length(convert_to(name, 'UTF8')) not between 1 and 512 then
        raise exception 'a kind, key or group of a job has 1 to 512 bytes in UTF-8' using errcode = 'invalid_parameter_value';
    end if;
    return name;
end $body$;

-- Makes the processes look for jobs that wait for this group, once the transaction has ended. Returns true.
create or replace function $S.tell_of_group(name text) returns boolean language plpgsql volatile
set search_path = pg_catalog, pg_temp as $body$
begin
    if name is not null then
        perform pg_notify('$N', '0 ' || waiting.kind)
            from (select distinct j.kind from $S.job j where j.waits_for = name) as waiting;
    end if;
    return true;
end $body$;

create or replace function $S.put(kind text, key text, due timestamptz, payload bytea default '', replace boolean default true,
    of_group text default null, waits_for text default null)
returns boolean language plpgsql volatile
set search_path = pg_catalog, pg_temp as $body$
declare
    existed boolean;
begin
    if due is null or due not between '1970-01-01 UTC' and '2200-12-31 23:59:59.999999 UTC' then
        raise exception 'a job is due between 1970 and 2200' using errcode = 'invalid_parameter_value';
    end if;
    if payload is null or octet_length(payload) > 65536 then
        raise exception 'the payload of a job has at most 65536 bytes' using errcode = 'invalid_parameter_value';
    end if;
    if of_group = waits_for then
        raise exception 'a job waits for its own group' using errcode = 'invalid_parameter_value';
    end if;
    insert into $S.job as j (kind, key, payload, due, ready, of_group, waits_for)
        values ($S.check_name(kind), $S.check_name(key), payload, due, case when waits_for is null then due else 'infinity' end,
            case when of_group is not null then $S.check_name(of_group) end,
            case when waits_for is not null then $S.check_name(waits_for) end)
        on conflict on constraint job_pkey do update
        set payload = excluded.payload, due = excluded.due, ready = excluded.ready, period = null, cron = null,
            zone = null, missed = null, grace = null, attempts = 0, holder = null, started = false, failed = false,
            error = null, no_later = null, waits_for = excluded.waits_for,
            of_group = case when j.of_group is null or j.of_group = excluded.of_group or $S.tell_of_group(j.of_group)
                then excluded.of_group end
        where replace
        returning xmax <> 0 into existed;
    if not found then
        return true;
    end if;
    if waits_for is not null then
        perform pg_notify('$N', '0 ' || kind);
    elsif due < clock_timestamp() + interval '1 minute' then
        perform pg_notify('$N', (extract(epoch from due) * 1000000)::bigint || ' ' || kind);
    end if;
    return existed;
end $body$;

-- A claim with limits (tw_store_claim), for the library: of at most `most` jobs, started. `running` and `pause` may be
-- null. Returns the jobs and, in a last row without a job, is_full and starts of tw_store_look; no row if the member
-- may not claim. The claim is one call, so that a process that is stopped holds no lock: each statement of the function
-- sees what was committed before it began, and so, behind the lock, all former claims of the kind.
create or replace function $S.claim_limited(of_member bigint, of_epoch bigint, of_kind text, most bigint, begins timestamptz,
    running bigint, pause bigint, tolerance bigint)
returns table (kind text, key text, payload bytea, due timestamptz, ready timestamptz, period bigint, cron text, zone text,
    missed int, grace bigint, attempts int, token bigint, started boolean, seen timestamptz, place tid, is_full boolean,
    starts timestamptz)
language plpgsql volatile set search_path = pg_catalog, pg_temp as $body$
#variable_conflict use_column
declare
    moment timestamptz;
    next_start timestamptz;
    allowed bigint := most;
    used bigint := 0;
    taken bigint := 0;
begin
    perform from $S.member
        where id = of_member and epoch = of_epoch and not dead and lease_end > clock_timestamp() for key share;
    if not found then
        return;
    end if;
    select next into next_start from $S.pace where kind = of_kind for update skip locked;
    if not found then
        insert into $S.pace (kind) values (of_kind) on conflict do nothing;
    end if;
    moment := clock_timestamp();
    if not found then  -- another claim of this kind has locked the row
        perform set_config('synchronous_commit', 'off', true);
        is_full := false;
        seen := moment;
        starts := moment + interval '5 milliseconds';
        return next;
        return;
    end if;
    next_start := greatest(next_start, moment);
    if pause is not null then
        -- In nanoseconds; `extract` gives seconds.
        used := tolerance - (extract(epoch from next_start - moment) * 1000000)::bigint * 1000;
        allowed := case when used < 0 then 0 else least(most, used / pause + 1) end;
        used := 0;
    end if;
    if running is not null then
        delete from $S.slot where kind = of_kind and not exists (
            select from $S.job where job.kind = slot.kind and job.key = slot.key and job.token = slot.token
                and holder is not null);
        select count(*) into used from $S.slot where kind = of_kind;
        allowed := least(allowed, running - used);
    end if;
    if allowed > 0 then
        return query
        with near as materialized (
            select ctid as place, ready from $S.job
            where job.kind = of_kind and not failed and holder is null and ready >= begins and ready <= now()
            order by ready limit allowed for update skip locked),
        noted as (
            insert into $S.claim (member, kind, first, last)
            select of_member, of_kind, min(ready), max(ready) from near having count(*) > 0),
        done as (
            update $S.job set holder = of_member, token = nextval('$S.token'), started = true
            where ctid = any (array (select place from near))
            returning job.*, job.ctid as place),
        slots as (
            insert into $S.slot (kind, key, token)
            select kind, key, token from done where running is not null)
        select kind, key, payload, due, ready, period, cron, zone, missed, grace, attempts, token, started,
            clock_timestamp(), place, null::boolean, null::timestamptz
        from done;
        get diagnostics taken = row_count;
    end if;
    if taken = 0 then
        perform set_config('synchronous_commit', 'off', true);
    elsif pause is not null then
        next_start := next_start + (taken * pause + 999) / 1000 * interval '1 microsecond';
        update $S.pace set next = next_start where kind = of_kind;
    end if;
    kind := null;
    seen := clock_timestamp();
    is_full := coalesce(used + taken >= running, false);
    starts := case when pause is null then '1970-01-01 UTC' else next_start - tolerance / 1000 * interval '1 microsecond' end;
    return next;
end $body$;

create or replace function $S.remove(kind text, key text) returns boolean language sql volatile
set search_path = pg_catalog, pg_temp as $body$
    delete from $S.job j where j.kind = $1 and j.key = $2
        returning case when $S.tell_of_group(j.of_group) then not j.started end
$body$;
)";

// The rights of a process that opens and uses the tables. PostgreSQL warns, and grants nothing, if the user
// has rights but is not the owner.
constexpr const char *check_owner = R"(
do $body$ begin
    if not (select pg_has_role(relowner, 'usage') from pg_class where oid = '$S.job'::regclass) then
        raise exception 'only the owner of the tables can grant rights' using errcode = 'insufficient_privilege';
    end if;
end $body$;
)";
constexpr const char *rights[] = {"usage on schema $S",
                                  "select on $S.meta",
                                  "select, insert, update, delete on $S.member, $S.job",
                                  "select, insert, delete on $S.claim, $S.slot",
                                  "select, insert, update on $S.pace",
                                  "usage on sequence $S.token",
                                  "execute on all functions in schema $S"};

// Version 2 changed only the functions, version 3 the tables.
constexpr int newest = 3;

// What a later release that adds to the tables must write into `meta`: this release can share them.
constexpr int oldest_sharing = 3;

// Serializes all connections that create tables in this database.
constexpr const char *lock = "select pg_advisory_xact_lock(hashtext('tickwheel.schema'));";

struct tables_version {
    int of_tables = 0;       // 0: there are no tables yet
    int oldest_sharing = 0;  // the oldest version whose releases can use these tables
};

int read_version(session &server, const std::string &schema, tables_version &version) {
    server.prepare_later({in_schema("select * from $S.meta", schema)});
    parameters none;
    rows found;
    const int error = server.call(0, none, found);
    version = {};
    if (error == -EPROTO)
        return 0;
    if (error != 0)
        return error;
    if (found.count() != 1) {
        server.explain_by("the table of the version has not one row");
        return -EPROTO;
    }
    version.of_tables = found.int4(0, 0);
    version.oldest_sharing = found.fields() > 1 ? found.int4(0, 1) : version.of_tables;
    return 0;
}

// The indexes are built before the transaction, while others use the jobs. An interrupted attempt leaves an
// invalid index, which is dropped first, and columns that the former release does not use.
int build_indexes(session &server, const std::string &schema) {
    if (const int error = server.run(in_schema(columns_of_3, schema)); error != 0)
        return error;
    if (const int error = server.be_patient(true, true); error != 0)
        return error;
    int error = 0;
    for (const char *const index :
         {"job_ready on $S.job (kind, ready) where not failed",
          "job_with_error on $S.job (kind, key) where error is not null and not failed",
          "job_of_group on $S.job (of_group) where of_group is not null",
          "job_waits_for on $S.job (waits_for) where waits_for is not null"}) {
        const std::string name(index, std::strchr(index, ' '));
        parameters none;
        rows invalid;
        const std::string is_invalid =
            "select from pg_index where indexrelid = to_regclass('$S." + name + "') and not indisvalid";
        error = server.ask(in_schema(is_invalid.c_str(), schema), none, invalid);
        if (error == 0 && invalid.count() > 0)
            error = server.run(in_schema(("drop index concurrently $S." + name).c_str(), schema));
        if (error == 0)
            error = server.run(
                in_schema((std::string("create index concurrently if not exists ") + index).c_str(), schema));
        if (error != 0)
            break;
    }
    const std::string why = server.why();
    server.be_patient(false);
    server.explain_by(why);
    return error;
}

// From any older version.
std::string upgrade(int version) {
    std::string all = version == 0 ? tables : "";
    all += columns_of_3;
    all += additions_of_3;
    all += version == 0 ? "" : changes_of_3;
    all += functions;
    return all + "delete from $S.meta; insert into $S.meta values (" + std::to_string(newest) + ", " +
           std::to_string(oldest_sharing) + ");";
}

std::string grants(const std::string &role, const std::string &schema) {
    std::string name, all = in_schema(check_owner, schema);
    for (const char each : role)
        name.append(each == '"' ? 2 : 1, each);
    for (const char *const right : rights)
        all += "grant " + in_schema(right, schema) + " to \"" + name + "\";";
    return all;
}

// In one transaction, apart from the index.
int change(session &server, const std::string &schema, int version, const char *grant_to) {
    if (version != 0 && version < newest)
        if (const int error = build_indexes(server, schema); error != 0)
            return error;
    std::string all =
        in_schema((std::string(lock) + (version < newest ? upgrade(version) : "")).c_str(), schema);
    if (grant_to != nullptr)
        all += grants(grant_to, schema);
    return server.run("begin;" + all + "commit;");
}

}  // namespace

std::string in_schema(const char *text, const std::string &schema) {
    std::string all;
    for (const char *at = text; *at != 0; ++at) {
        if (*at != '$' || (at[1] != 'S' && at[1] != 'N'))
            all += *at;
        else if (*++at == 'S')
            all += '"' + schema + '"';
        else
            all += schema;
    }
    return all;
}

int bring_up_to_date(session &server, const std::string &schema, bool must_exist, const char *grant_to) {
    tables_version version;
    int error = read_version(server, schema, version);
    while (error == 0) {
        if (version.of_tables > newest && version.oldest_sharing > newest) {
            server.explain_by(later_release(version.of_tables, newest));
            return -EPROTO;
        }
        if (must_exist && version.of_tables == 0) {
            server.explain_by("the database has no tables of this schema");
            return -ENOENT;
        }
        if (version.of_tables >= newest && grant_to == nullptr)
            return 0;
        const tables_version before = version;
        const int result = change(server, schema, version.of_tables, grant_to);
        if (result == 0)
            return 0;
        const std::string why = server.why();
        server.run("rollback");
        error = read_version(server, schema, version);
        if (error != 0 || version.of_tables == before.of_tables) {  // otherwise another process was faster
            server.explain_by(why);
            return result;
        }
    }
    return error;
}

}  // namespace tickwheel::durable::postgres
