drop schema if exists x cascade; create schema x; set search_path=x;
create table full_job (
    kind text collate "C" not null, key text collate "C" not null, payload bytea not null,
    due timestamptz not null, ready timestamptz not null, period bigint, cron text, zone text,
    missed int not null, grace bigint not null, attempts int not null default 0, token bigint not null default 0,
    holder bigint, started boolean not null default false, failed boolean not null default false, error text,
    primary key (kind, key)) with (fillfactor=80);
create index on full_job (kind, ready) where holder is null and not failed;
create unique index on full_job (token) where holder is not null;
create index on full_job (kind,key) where failed;
create table lean (
    kind text collate "C" not null, key text collate "C" not null, 
    ready timestamptz not null, token bigint not null, holder int, state "char" not null,
    due timestamptz, period bigint, cron text, zone text,
    missed int, grace bigint, attempts int,  error text,payload bytea,
    primary key (kind, key)) with (fillfactor=80);
create index on lean (kind, ready);
create table bare (id bigint generated always as identity primary key, kind text, key text, payload bytea, due timestamptz);
create sequence tok; create sequence tok2 cache 1000;
