#include "statements.hpp"

#include "schema.hpp"

namespace tickwheel::durable::postgres {

namespace {

// A statement takes several jobs as one array per column (values.hpp).
//
// now() is the start of the transaction, clock_timestamp() the moment when the row is read. Only now() can be
// looked up in an index, because it does not change. A comparison with a lease, or a time for the caller,
// uses clock_timestamp().
//
// A statement sees the tables as they were when it began; of its own parts' changes it sees only the rows
// that they return. So changes that must see each other are separate statements.
//
// A claim, or a put that holds, locks the row of its member (`for key share`). Statements that raise the
// member's epoch or declare it dead wait for that lock (`for update`), and a claim waits for them. So they
// see all that the claim took, or the claim finds the member changed and takes nothing. Renewals take
// neither lock: a put may block on a locked row, and its member must stay alive meanwhile.

// $1 to $11: one array for each field of a job; $11 says whether to hold it. $12, $13: for which member and
// epoch.
constexpr const char *put_values = R"(
with me as materialized (
    select id from $S.member
    where id = $12::int8 and epoch = $13::int8 and not dead and lease_end > clock_timestamp() for key share),
given as materialized (
    select kind, key, payload, period, cron, zone, missed, grace, hold <> 0 as hold,
        least(coalesce(due, clock_timestamp() + delay * interval '1 microsecond'), '2200-12-31 23:59:59.999999+00') as due
    from unnest($1::text[], $2::text[], $3::bytea[], $4::timestamptz[], $5::int8[], $6::int8[], $7::text[], $8::text[],
        $9::int4[], $10::int8[], $11::int4[])
        as given (kind, key, payload, due, delay, period, cron, zone, missed, grace, hold)),
done as (
    insert into $S.job (kind, key, payload, due, ready, period, cron, zone, missed, grace, holder, token, started)
    select kind, key, payload, due, due, period, cron, zone, missed, grace, me.id,
        case when me.id is null then 0 else nextval('$S.token') end, me.id is not null and due <= clock_timestamp()
    from given left join me on hold
    on conflict (kind, key) do )";

// A join of two of these parts has no index, and would take time quadratic in the number of jobs. So the
// caller combines the returned rows.
constexpr const char *put_result = R"(
    returning kind, key, ready, xmax <> 0 as existed, token, started, holder is not null as held),
told as materialized (select $S.tell(kind, min(ready)) from done where not held group by kind)
select kind, key, existed, held, token, ready, started from done where )";
constexpr const char *put_end = " union all select null, null, null, null, null, null, null from told";

// One locked job must not delay the rest of a batch. The first attempt waits at most `limit_ms` for a lock,
// because a claim that comes too late for a job locks the row only for a moment. If that fails, the store
// runs the statement again with `locked` = "skip locked". set_config stands in `me` because every part that
// locks reads `me` first, so the limit is set before the first lock; `true` ends it with the transaction.
//
// A row that was updated while a statement waited has a new ctid, which the statement's snapshot cannot
// see. So a job that a statement did not return may be locked, or may have been locked until just now: the
// caller asks again.

std::string with_me(const char *column, std::int64_t limit_ms) {
    return std::string("with me as materialized (select ") + column + ", set_config('lock_timeout', '" +
           std::to_string(limit_ms) +
           "', true) from $S.member where id = $1::int8 and epoch = $2::int8 and not dead),";
}

// $1, $2 member, $3 tokens. Returns (n, true) for every job that is now started; (n, false, ready) for every
// job that the member held when the statement began; and row 0: whether the member may ask.
std::string start(const char *locked, std::int64_t limit_ms) {
    return with_me("lease_end", limit_ms) + R"(
given as materialized (select * from unnest($3::int8[]) with ordinality as given (token, n)),
free as materialized (
    select job.ctid as place, given.n from given join $S.job on job.token = given.token and holder = $1::int8
    where (started or ready <= clock_timestamp()) and exists (select from me where lease_end > clock_timestamp())
    for update of job )" +
           locked + R"(),
done as (update $S.job set started = true from free where job.ctid = free.place returning free.n)
select n, true, null, clock_timestamp() from done
union all select given.n, false, job.ready, clock_timestamp()
from given join $S.job on job.token = given.token and holder = $1::int8
union all select 0, exists (select from me), null, clock_timestamp())";
}

// $1, $2 member, $3 tokens of jobs that end, $4.. one array for each field of the other outcomes. `what` is a
// tw_store_outcome_kind. Returns the tokens of the jobs that it has settled and, in row 0, whether the member
// may settle. This is the only change that does not wait for the disk: if a server crash undoes it, the job
// fires again, as if the process had ended just before its answer.
std::string settle(const char *locked, std::int64_t limit_ms) {
    return with_me("id", limit_ms) + R"(
given as materialized (
    select * from unnest($4::int8[], $5::int4[], $6::timestamptz[], $7::timestamptz[], $8::int8[], $9::int4[],
        $10::text[]) as given (token, what, due, ready, delay, attempts, error)
    where exists (select from me)),
ended as (
    delete from $S.job
    where ctid = any (array (
        select ctid from $S.job where token = any ($3::int8[]) and holder = $1::int8 and exists (select from me)
        for update )" +
           locked + R"())
    returning token),
free as materialized (
    select job.ctid as place, given.* from given join $S.job on job.token = given.token and holder = $1::int8
    for update of job )" +
           locked + R"(),
moved as (
    update $S.job set holder = null, started = false, failed = what = 2,
        due = case when what = 3 then job.due else free.due end,
        ready = case when what = 3 then job.ready
            else least(coalesce(free.ready, clock_timestamp() + delay * interval '1 microsecond'),
                '2200-12-31 23:59:59.999999+00') end,
        attempts = case when what = 3 then job.attempts else free.attempts end,
        error = case when what = 3 then job.error else free.error end
    from free where job.ctid = free.place
    returning free.token, what, job.kind, job.ready),
told as materialized (select $S.tell(kind, min(ready)) from moved where what = 3 group by kind)
select token, true from ended union all select token, true from moved
union all select 0, exists (select from me)
from (select count(*) from told) as all_told, set_config('synchronous_commit', 'off', true) as until_the_commit)";
}

}  // namespace

std::vector<std::string> statements_for(const std::string &schema, std::int64_t lock_limit_ms) {
    std::vector<std::string> all(statements_count);
    all[read_clock] = "select clock_timestamp()";

    all[put_replacing] = std::string(put_values) + R"(update
    set payload = excluded.payload, due = excluded.due, ready = excluded.ready, period = excluded.period,
        cron = excluded.cron, zone = excluded.zone, missed = excluded.missed, grace = excluded.grace,
        attempts = 0, failed = false, error = null, holder = excluded.holder, started = excluded.started,
        token = case when excluded.holder is null then job.token else nextval('$S.token') end)" +
                         put_result + "existed or held" + put_end;

    all[put_keeping] = std::string(put_values) + "nothing" + put_result + "true" + put_end;

    all[remove_job] = "delete from $S.job where kind = $1 and key = $2 returning started";

    all[requeue_failed] = R"(
with done as (
    update $S.job set failed = false, attempts = 0, error = null, ready = clock_timestamp()
    where failed and ($1::text is null or kind = $1) and ($2::text is null or key = $2)
    returning kind, ready),
told as materialized (select $S.tell(kind, min(ready)) from done group by kind)
select (select count(*) from done), (select count(*) from told))";

    all[join_as_member] = R"(
insert into $S.member (name, lease_end) values ($1, clock_timestamp() + $2::int8 * interval '1 microsecond')
returning id, epoch)";

    all[renew_lease] = R"(
update $S.member set lease_end = clock_timestamp() + $3::int8 * interval '1 microsecond'
where id = $1::int8 and epoch = $2::int8 and not dead returning clock_timestamp())";

    all[raise_epoch] = R"(
with me as materialized (select id from $S.member where id = $1::int8 and not dead for update)
update $S.member set epoch = epoch + 1 from me where member.id = me.id returning epoch)";

    // $1 member, $2 tokens of started jobs. A row that another transaction has locked stays unmarked.
    all[list_held] = R"(
with marked as (
    update $S.job set started = true
    where ctid = any (array (
        select ctid from $S.job where token = any ($2::int8[]) and holder = $1::int8 and not started
        for update skip locked))
    returning token)
select kind, key, ready, token, started or token in (select token from marked) from $S.job where holder = $1::int8)";

    // $1, $2 member, $3 kinds, $4 horizon, $5 limit. A locked row does not move, so its ctid is enough to
    // find it; and one scan for all ctids takes half as long as a join.
    all[claim_jobs] = R"(
with me as materialized (
    select from $S.member
    where id = $1::int8 and epoch = $2::int8 and not dead and lease_end > clock_timestamp() for key share)
update $S.job set holder = $1::int8, token = nextval('$S.token'), started = ready <= now()
where ctid = any (array (
    select place from me, unnest($3::text[]) as handled (kind), lateral (
        select ctid as place, ready from $S.job
        where job.kind = handled.kind and holder is null and not failed
            and ready <= now() + $4::int8 * interval '1 microsecond'
        order by ready limit $5::int8 for update skip locked) as near
    order by ready limit $5::int8))
returning kind, key, payload, due, ready, period, cron, zone, missed, grace, attempts, token, started,
    clock_timestamp())";

    // $1, $2 member, $3 kinds
    all[next_ready] = R"(
select exists (select from $S.member
        where id = $1::int8 and epoch = $2::int8 and not dead and lease_end > clock_timestamp()),
    clock_timestamp(), min(first.ready),
    exists (select from $S.member where dead or lease_end < clock_timestamp())
from unnest($3::text[]) as handled (kind), lateral (
    select ready from $S.job where job.kind = handled.kind and holder is null and not failed
    order by ready limit 1) as first)";

    all[start_jobs] = start("", lock_limit_ms);
    all[start_unlocked_jobs] = start("skip locked", lock_limit_ms);
    all[settle_jobs] = settle("", lock_limit_ms);
    all[settle_unlocked_jobs] = settle("skip locked", lock_limit_ms);

    // $1 member, $2 tokens
    all[still_held] = "select token from $S.job where token = any ($2::int8[]) and holder = $1::int8";

    // Skips members that are just claiming; the next call declares them dead. Returns whether any member is
    // dead.
    all[declare_ended] = R"(
with ended as materialized (
    select id from $S.member where not dead and lease_end < clock_timestamp() for update skip locked),
done as (update $S.member set dead = true from ended where member.id = ended.id returning 1)
select exists (select from done) or exists (select from $S.member where dead))";

    // $1 limit
    all[release_of_dead] = R"(
with left_behind as materialized (
    select kind, key from $S.job where holder in (select id from $S.member where dead)
    limit $1::int8 for update skip locked),
done as (
    update $S.job set holder = null, attempts = attempts + started::int, started = false
    from left_behind where job.kind = left_behind.kind and job.key = left_behind.key
    returning job.kind, ready),
told as materialized (select $S.tell(kind, min(ready)) from done group by kind)
select (select count(*) from done), (select count(*) from told))";

    // $1 member. The next three statements form one transaction. The second begins after every claim of this
    // member has ended, so it sees the jobs that they took.
    all[declare_dead] = R"(
with me as materialized (select id from $S.member where id = $1::int8 and not dead for update)
update $S.member set dead = true from me where member.id = me.id returning true)";
    all[release_of_one] = R"(
with done as (
    update $S.job set holder = null, started = false
    where ctid = any (array (select ctid from $S.job where holder = $1::int8 for update skip locked))
    returning kind, ready),
told as materialized (select $S.tell(kind, min(ready)) from done group by kind)
select count(*) from told)";
    all[delete_member] = "delete from $S.member where id = $1::int8 and not exists (select from $S.job where "
                         "holder = $1::int8)";

    for (std::string &each : all)
        each = in_schema(each.c_str(), schema);
    return all;
}

}  // namespace tickwheel::durable::postgres
