#include "schema.hpp"

#include <cerrno>

namespace tickwheel::durable::postgres {

namespace {

// Claims search `ready` in job_pending, which contains neither held nor failed jobs; the two other indexes
// are small. Each claim, start and end of a job leaves a dead row. So vacuum must start after a number of
// dead rows, and not after a share of a table that may hold millions of idle rows.
constexpr const char *tables = R"(
-- `create schema if not exists` needs the right to create a schema even if the schema exists.
do $body$ begin
    if to_regnamespace('$S') is null then
        create schema $S;
    end if;
end $body$;

create table $S.meta (version int not null);

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
    kind text collate "C" not null,
    key text collate "C" not null,
    payload bytea not null,
    due timestamptz not null,
    ready timestamptz not null,
    period bigint,
    cron text,
    zone text,
    missed int not null,
    grace bigint not null,
    attempts int not null default 0,
    token bigint not null default 0,
    holder bigint,
    started boolean not null default false,
    failed boolean not null default false,
    error text,
    primary key (kind, key)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

create index job_pending on $S.job (kind, ready) where holder is null and not failed;
create unique index job_held on $S.job (token) where holder is not null;
create index job_failed on $S.job (kind, key) where failed;
)";

// What people see of members, and the index of periodic jobs whose last due time was given up, and of jobs
// that wait for their next try. Added to the tables of any older version.
constexpr const char *added_for_looking = R"(
alter table $S.member add column if not exists kinds text[], add column if not exists clock_offset bigint;
create index if not exists job_with_error on $S.job (kind, key) where error is not null and not failed;
)";

// Programs call these functions in their own transactions. Each function has its own search path: otherwise
// it would run operators and functions that another user has put into a schema of the caller's search path.
// An upgrade replaces all functions.
constexpr const char *functions = R"(
create or replace function $S.check_name(name text) returns text language plpgsql stable
set search_path = pg_catalog, pg_temp as $body$
begin
    if name is null or octet_length(convert_to(name, 'UTF8')) not between 1 and 512 then
        raise exception 'a kind or key of a job has 1 to 512 bytes in UTF-8' using errcode = 'invalid_parameter_value';
    end if;
    return name;
end $body$;

create or replace function $S.tell(kind text, ready timestamptz) returns void language sql volatile
set search_path = pg_catalog, pg_temp as $body$
    select pg_notify('$N', (extract(epoch from ready) * 1000000)::bigint || ' ' || kind)
    where ready < clock_timestamp() + interval '1 minute'
$body$;

create or replace function $S.put(kind text, key text, due timestamptz, payload bytea default '', replace boolean default true)
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
    insert into $S.job as j (kind, key, payload, due, ready, missed, grace)
        values ($S.check_name(kind), $S.check_name(key), payload, due, due, 0, 0)
        on conflict on constraint job_pkey do update
        set payload = excluded.payload, due = excluded.due, ready = excluded.ready, period = null, cron = null,
            zone = null, missed = 0, grace = 0, attempts = 0, holder = null, started = false, failed = false,
            error = null
        where replace
        returning xmax <> 0 into existed;
    if not found then
        return true;
    end if;
    perform $S.tell(kind, due);
    return existed;
end $body$;

create or replace function $S.remove(kind text, key text) returns boolean language sql volatile
set search_path = pg_catalog, pg_temp as $body$
    delete from $S.job j where j.kind = $1 and j.key = $2 returning not j.started
$body$;
)";

// Version 2 changed only the functions. The store itself calls only `tell`. The old `tell` is safe here,
// because session::open has set the connection's search path.
constexpr int newest = 3;

// Serializes all connections that create tables in this database.
constexpr const char *lock = "select pg_advisory_xact_lock(hashtext('tickwheel.schema'));";

// Stores 0 as the version if there are no tables yet.
int read_version(session &server, const std::string &schema, int &version) {
    server.prepare_later({in_schema("select version from $S.meta", schema)});
    parameters none;
    rows found;
    const int error = server.call(0, none, found);
    version = 0;
    if (error == -EPROTO)
        return 0;
    if (error != 0)
        return error;
    if (found.count() != 1) {
        server.explain_by("the table of the version has not one row");
        return -EPROTO;
    }
    version = found.int4(0, 0);
    return 0;
}

// Upgrades from any older version.
int change(session &server, const std::string &schema, int version) {
    std::string all =
        std::string("begin;") + lock + (version == 0 ? tables : "") + added_for_looking + functions;
    all += "delete from $S.meta; insert into $S.meta values (" + std::to_string(newest) + "); commit;";
    return server.run(in_schema(all.c_str(), schema));
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

int bring_up_to_date(session &server, const std::string &schema, bool must_exist) {
    int version;
    if (const int error = read_version(server, schema, version); error != 0)
        return error;
    if (version > newest)
        return -EPROTO;
    if (version == newest)
        return 0;
    if (must_exist && version == 0) {
        server.explain_by("the database has no tables of this schema");
        return -ENOENT;
    }
    const int error = change(server, schema, version);
    if (error == 0)
        return 0;
    // Another process may have been faster.
    const std::string why = server.why();
    server.run("rollback");
    if (read_version(server, schema, version) == 0 && version == newest)
        return 0;
    server.explain_by(why);
    return error;
}

}  // namespace tickwheel::durable::postgres
