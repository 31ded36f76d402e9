-- The tables and functions of version 1, as the release that had them created them; to see that they are brought
-- up to date.
begin;
create schema tickwheel;

create table tickwheel.meta (version int not null);

create table tickwheel.member (
    id bigint generated always as identity primary key,
    name text not null,
    epoch bigint not null default 0,
    lease_end timestamptz not null,
    dead boolean not null default false,
    joined timestamptz not null default clock_timestamp()
);

create sequence tickwheel.token;

create table tickwheel.job (
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

create index job_pending on tickwheel.job (kind, ready) where holder is null and not failed;
create unique index job_held on tickwheel.job (token) where holder is not null;
create index job_failed on tickwheel.job (kind, key) where failed;

create function tickwheel.check_name(name text) returns text language plpgsql immutable as $body$
begin
    if name is null or octet_length(name) not between 1 and 512 then
        raise exception 'a kind or key of a job has 1 to 512 bytes' using errcode = 'invalid_parameter_value';
    end if;
    return name;
end $body$;

create function tickwheel.tell(kind text, ready timestamptz) returns void language sql volatile as $body$
    select pg_notify('tickwheel', (extract(epoch from ready) * 1000000)::bigint || ' ' || kind)
    where ready < clock_timestamp() + interval '1 minute'
$body$;

create function tickwheel.put(kind text, key text, due timestamptz, payload bytea default '', replace boolean default true)
returns boolean language plpgsql volatile as $body$
declare
    existed boolean;
begin
    if due is null or due not between '1970-01-01 UTC' and '2200-12-31 23:59:59.999999 UTC' then
        raise exception 'a job is due between 1970 and 2200' using errcode = 'invalid_parameter_value';
    end if;
    if payload is null or octet_length(payload) > 65536 then
        raise exception 'the payload of a job has at most 65536 bytes' using errcode = 'invalid_parameter_value';
    end if;
    insert into tickwheel.job as j (kind, key, payload, due, ready, missed, grace)
        values (tickwheel.check_name(kind), tickwheel.check_name(key), payload, due, due, 0, 0)
        on conflict on constraint job_pkey do update
        set payload = excluded.payload, due = excluded.due, ready = excluded.ready, period = null, cron = null,
            zone = null, missed = 0, grace = 0, attempts = 0, holder = null, started = false, failed = false,
            error = null
        where replace
        returning xmax <> 0 into existed;
    if not found then
        return true;
    end if;
    perform tickwheel.tell(kind, due);
    return existed;
end $body$;

create function tickwheel.remove(kind text, key text) returns boolean language sql volatile as $body$
    with gone as (delete from tickwheel.job j where j.kind = $1 and j.key = $2 returning 1)
    select exists (select from gone)
$body$;

insert into tickwheel.meta values (1);
commit;
