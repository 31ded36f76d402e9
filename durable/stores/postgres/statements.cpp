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

// $1 to $13: one array for each field of a job. The last three may be empty: `unnest` fills them up with
// null.
constexpr const char *put_fields = "unnest($1::text[], $2::text[], $3::bytea[], $4::timestamptz[], "
                                   "$5::int8[], $6::int8[], $7::text[], $8::text[], "
                                   "$9::int4[], $10::int8[], $11::text[], $12::text[], $13::int8[]";
constexpr const char *field_names =
    "kind, key, payload, due, delay, period, cron, zone, missed, grace, of_group, waits_for, within";
constexpr const char *put_times = R"(
    select least(coalesce(due, clock_timestamp() + delay * interval '1 microsecond'),
            clock_timestamp() + within * interval '1 microsecond', '2200-12-31 23:59:59.999999+00') as due,
        clock_timestamp() + within * interval '1 microsecond' as no_later)";

// The end that the former job keeps; null if there is none. `least` leaves out nulls.
#define KEPT_END \
    "case when excluded.no_later is not null and not job.started and not job.failed and job.attempts = 0 " \
    "then job.no_later end"
#define DUE_OF_REPLACED "least(excluded.due, " KEPT_END ")"

constexpr const char *or_replace = R"(update
    set payload = excluded.payload, due = )" DUE_OF_REPLACED R"(,
        ready = case when excluded.waits_for is null then )" DUE_OF_REPLACED R"( else 'infinity' end,
        period = excluded.period, cron = excluded.cron, zone = excluded.zone, missed = excluded.missed,
        grace = excluded.grace, attempts = 0, failed = false, error = null, holder = excluded.holder,
        started = excluded.holder is not null and )" DUE_OF_REPLACED R"( <= clock_timestamp(),
        token = case when excluded.holder is null then job.token else nextval('$S.token') end,
        of_group = case when job.of_group is null or job.of_group = excluded.of_group
            or $S.tell_of_group(job.of_group) then excluded.of_group end,
        waits_for = excluded.waits_for, no_later = coalesce()" KEPT_END R"(, excluded.no_later))";

// `fields` is a table with the fields of jobs.
std::string insert(const std::string &fields, const char *conflict) {
    return R"(
    insert into $S.job (kind, key, payload, due, ready, period, cron, zone, missed, grace, of_group, waits_for, no_later)
    select kind, key, payload, at.due, case when waits_for is null then at.due else 'infinity' end, period, cron,
        zone, missed, grace, of_group, waits_for, at.no_later
    from )" +
           fields + ", lateral (" + put_times + R"() as at
    on conflict (kind, key) do )" +
           conflict;
}

constexpr const char *one_job =
    R"((select $1::text as kind, $2::text as key, $3::bytea as payload, $4::timestamptz as due,
    $5::int8 as delay, $6::int8 as period, $7::text as cron, $8::text as zone, $9::int4 as missed, $10::int8 as grace,
    $11::text as of_group, $12::text as waits_for, $13::int8 as within) as given)";

std::string many_jobs() { return std::string(put_fields) + ") as given (" + field_names + ")"; }

std::string put_replacing_one() {
    return "with done as (" + insert(one_job, or_replace) + " returning kind, ready), " + told("done") +
           " select from told";
}

// $14 to $16: for each kind the first time at which one of these jobs is due, or the delay. So the statement
// need not collect the rows that it inserts, which takes a tenth of its time.
std::string put_replacing_many() {
    return "with done as (" + insert(many_jobs(), or_replace) + "), " +
           told(R"((select kind, coalesce(due, clock_timestamp() + delay * interval '1 microsecond') as ready
        from unnest($14::text[], $15::timestamptz[], $16::int8[]) as first (kind, due, delay)) as of_kind)") +
           " select from told";
}

// Returns the names of the new jobs.
std::string put_keeping(const std::string &fields) {
    return "with done as (" + insert(fields, "nothing returning kind, key, ready") + "), " + told("done") +
           " select kind, key from done union all select null, null from told";
}

// A put that holds jobs. $14 says which of them; $15, $16: for which member and epoch. Returns the jobs that
// are held, and with `keep` all new ones.
//
// A join of two of these parts has no index, and would take time quadratic in the number of jobs. So the
// caller combines the returned rows.
std::string put_holding(bool keep) {
    return std::string(R"(
with me as materialized (
    select id from $S.member
    where id = $15::int8 and epoch = $16::int8 and not dead and lease_end > clock_timestamp() for key share),
given as materialized (
    select kind, key, payload, at.due, case when waits_for is null then at.due else 'infinity' end as ready, period,
        cron, zone, missed, grace, of_group, waits_for, at.no_later, hold <> 0 as hold
    from )") +
           put_fields + ", $14::int4[]) as given (" + field_names + ", hold), lateral (" + put_times +
           R"() as at),
done as (
    insert into $S.job (kind, key, payload, due, ready, period, cron, zone, missed, grace, of_group, waits_for, no_later,
        holder, token, started)
    select kind, key, payload, due, ready, period, cron, zone, missed, grace, of_group, waits_for, no_later, me.id,
        case when me.id is null then 0 else nextval('$S.token') end, me.id is not null and due <= clock_timestamp()
    from given left join me on hold
    on conflict (kind, key) do )" +
           (keep ? "nothing" : or_replace) + R"(
    returning kind, key, ready, token, started, holder is not null as held, ctid),
noted as (
    insert into $S.claim (member, kind, first, last)
    select $15::int8, kind, min(ready), max(ready) from done where held group by kind),
)" + told("done where not held") +
           R"(
select kind, key, held, token, ready, started, ctid from done where )" +
           (keep ? "true" : "held") + " union all select null, null, null, null, null, null, null from told";
}

// Whether a range of claims covers no job any more. Only the statement that inserts a range adds jobs to it.
constexpr const char *is_empty_range = R"(not exists (
    select from $S.job as held where held.kind = claim.kind and held.ready between claim.first and claim.last
        and held.holder = claim.member and not held.failed))";

// One locked job must not delay the rest of a batch. The first attempt waits at most `limit_ms` for a lock,
// because a claim that comes too late for a job locks the row only for a moment. If that fails, the store
// runs the statement again with `locked` = "skip locked". set_config stands in `me` because every part that
// locks reads `me` first, so the limit is set before the first lock; `true` ends it with the transaction.
//
// A row that was updated while a statement waited has a new ctid, which the statement's snapshot cannot
// see. So a job that a statement did not return may be locked, or may have moved, or may not be ready, or may
// be held no more: the caller asks for its place (find_rows).

std::string with_me(const char *column, std::int64_t limit_ms) {
    return std::string("with me as materialized (select ") + column + ", set_config('lock_timeout', '" +
           std::to_string(limit_ms) +
           "', true) from $S.member where id = $1::int8 and epoch = $2::int8 and not dead),";
}

// The places of the given rows that hold these claims of member $1, locked. $3 places, $4 tokens. The tokens
// say which jobs are meant, the places only where to look: a row whose token is among the given ones is
// meant, whichever of the places it has. One scan for all places takes a third of the time of a join with
// them. `is true` keeps PostgreSQL from making a join of the second condition, which it then checks in a hash
// table.
std::string given_rows(const char *condition, const char *locked) {
    return std::string(R"(array (
    select ctid from $S.job
    where ctid = any ($3::tid[]) and (token in (select unnest($4::int8[]))) is true and holder = $1::int8 and )") +
           condition + " for update " + locked + ")";
}

// $1, $2 member, $3 places, $4 tokens. Returns the token and the new place of every job that is now started
// and, in row 0, whether the member may ask.
std::string start(const char *locked, std::int64_t limit_ms) {
    return with_me("lease_end", limit_ms) + R"(
done as (
    update $S.job set started = true where ctid = any ()" +
           given_rows("(started or ready <= clock_timestamp()) "
                      "and exists (select from me where lease_end > clock_timestamp())",
                      locked) +
           R"()
    returning token, ctid)
select token, true, ctid, clock_timestamp() from done
union all select 0, exists (select from me), null, clock_timestamp())";
}

// $1, $2 member, $3, $4 places and tokens of jobs that end, $5.. one array for each field of the other
// outcomes. `what` is a tw_store_outcome_kind. Returns the tokens of the jobs that it has settled, with the
// groups of those that it has ended, and in row 0 whether the member may settle. This is the only change that
// does not wait for the disk: if a server crash undoes it, the job fires again, as if the process had ended
// just before its answer.
std::string settle(const char *locked, std::int64_t limit_ms) {
    return with_me("id", limit_ms) + R"(
ended as (
    delete from $S.job where ctid = any ()" +
           given_rows("exists (select from me)", locked) + R"()
    returning token, of_group),
free as materialized (
    select job.ctid as place, given.token, what, due_then, ready_then, delay, attempts_then, error_then
    from unnest($5::tid[], $6::int8[], $7::int4[], $8::timestamptz[], $9::timestamptz[], $10::int8[], $11::int4[],
        $12::text[]) as given (place, token, what, due_then, ready_then, delay, attempts_then, error_then)
        join $S.job on job.ctid = given.place and job.token = given.token and holder = $1::int8
    where exists (select from me)
    for update of job )" +
           locked + R"(),
moved as (
    update $S.job set holder = null, started = false, failed = what = 2,
        due = case when what = 3 then job.due else due_then end,
        ready = case when what = 3 then job.ready
            else least(coalesce(ready_then, clock_timestamp() + delay * interval '1 microsecond'),
                '2200-12-31 23:59:59.999999+00') end,
        attempts = case when what = 3 then job.attempts else attempts_then end,
        error = case when what = 3 then job.error else error_then end,
        no_later = case when what = 3 then job.no_later end
    from free where job.ctid = free.place
    returning free.token, what, job.kind, job.ready),
)" + told("moved where what = 3") +
           R"(
select token, true, of_group from ended union all select token, true, null from moved
union all select 0, exists (select from me), null
from (select count(*) from told) as all_told, set_config('synchronous_commit', 'off', true) as until_the_commit)";
}

// Parts of a statement that release the jobs that wait for the empty ones of some groups: `released` has
// their kinds and ready times, and `told` the notifications. If they are many, the statement releases only
// `release_batch` of them, and all who handle their kinds look for the rest.
//
// The subquery on the group does not depend on the waiting job, so the server runs it once for each group. A
// waiting job that another transaction replaces meanwhile has a new ctid, so this statement does not touch
// it: the new job may have come together with new jobs of its group.
std::string released(const std::string &groups) {
    const std::string most = std::to_string(release_batch);
    return "free as materialized (select place from (" + groups + R"() as waited (name), lateral (
        select ctid as place from $S.job
        where waits_for = waited.name
            and not exists (select from $S.job as left_over where left_over.of_group = waited.name)
        for update skip locked) as waiting
    limit )" +
           most + R"(),
released as (
    update $S.job set waits_for = null, ready = greatest(due, clock_timestamp())
    where ctid = any (array (select place from free))
    returning kind, ready),
)" +
           told("(select kind, case when (select count(*) from released) < " + most +
                R"( then ready else '1970-01-01 UTC' end as ready from released) as batch)");
}

// $1, $2 member, $3 kinds, $4 the ready time to begin at, $5 the one to end at; null: none.
std::string look(const std::string &parts, const std::string &more_columns) {
    return parts + R"(
select exists (select from $S.member
        where id = $1::int8 and epoch = $2::int8 and not dead and lease_end > clock_timestamp()),
    clock_timestamp(), min(first.ready),
    (select min(case when dead then '-infinity' else lease_end end) from $S.member
        where member.id <> $1::int8 and (dead or lease_end < clock_timestamp()
            or exists (select from $S.claim where claim.member = member.id))),
    exists (select from $S.claim where member = $1::int8))" +
           more_columns + R"(
from unnest($3::text[]) as handled (kind), lateral (
    select ready from $S.job where job.kind = handled.kind and not failed and holder is null
        and ready >= $4::timestamptz and ready < coalesce($5::timestamptz, 'infinity')
    order by ready limit 1) as first)";
}

// $6: the group after which to look for groups for which jobs wait. Returns the last of `sweep` such groups
// (null: there are no more), and how many jobs it has released, which the look does not see.
std::string look_and_release() {
    const std::string most = std::to_string(sweep);
    const auto next = [](const char *after) {
        return std::string("(select waits_for from $S.job where waits_for > ") + after +
               " order by waits_for limit 1)";
    };
    return look("with recursive swept (name, n) as (select " + next("$6::text") + ", 1 union all select " +
                    next("swept.name") + ", n + 1 from swept where name is not null and n < " + most +
                    "),\n" + released("select name from swept where name is not null"),
                ", (select name from swept where n = " + most +
                    "), (select count(*) from released), (select count(*) from told)");
}

}  // namespace

std::string told(const std::string &jobs) {
    return R"(told as materialized (
    select pg_notify('$N', (extract(epoch from ready) * 1000000)::int8 || ' ' || kind)
    from (select kind, min(ready) as ready from )" +
           jobs + R"( group by kind) as first
    where ready < clock_timestamp() + interval '1 minute'))";
}

std::string rows_held_by(const char *member, const char *lock) {
    return std::string(R"(array (
    select held.ctid from $S.claim, $S.job as held
    where claim.member )") +
           member + R"( and held.kind = claim.kind and held.ready between claim.first and claim.last
        and held.holder = claim.member and not held.failed )" +
           lock + ")";
}

std::vector<std::string> statements_for(const std::string &schema, std::int64_t lock_limit_ms) {
    std::vector<std::string> all(statements_count);
    all[read_clock] = "select clock_timestamp()";

    all[put_one_replacing] = put_replacing_one();
    all[put_one_keeping] = put_keeping(one_job);
    all[put_many_replacing] = put_replacing_many();
    all[put_many_keeping] = put_keeping(many_jobs());
    all[put_holding_replacing] = put_holding(false);
    all[put_holding_keeping] = put_holding(true);

    all[remove_job] = "delete from $S.job where kind = $1 and key = $2 returning started, of_group";

    all[join_as_member] = R"(
insert into $S.member (name, lease_end, epoch)
values ($1, clock_timestamp() + $2::int8 * interval '1 microsecond', floor(random() * 4503599627370496)::int8)
returning id, epoch)";

    all[renew_lease] = R"(
update $S.member set lease_end = clock_timestamp() + $3::int8 * interval '1 microsecond'
where id = $1::int8 and epoch = $2::int8 and not dead returning clock_timestamp())";

    // $1, $2 member. The epoch may have risen without an answer, but not often. A database that has gone back
    // in time, as after a failover, can give the number of a member twice, but then with another epoch.
    all[raise_epoch] = R"(
with me as materialized (
    select id from $S.member where id = $1::int8 and epoch between $2::int8 and $2::int8 + 1000000 and not dead for update)
update $S.member set epoch = epoch + 1 from me where member.id = me.id returning epoch)";

    // $1 member, $2 tokens of started jobs. A row that another transaction has locked stays unmarked.
    all[list_held] = R"(
with held as materialized (select ctid as place from $S.job where ctid = any ()" +
                     rows_held_by("= $1::int8") + R"()),
marked as (
    update $S.job set started = true
    where ctid = any (array (
        select job.ctid from held join $S.job on job.ctid = held.place
        where token = any ($2::int8[]) and holder = $1::int8 and not started
        for update of job skip locked))
    returning token)
select kind, key, ready, token, started or token in (select token from marked)
from held join $S.job on job.ctid = held.place where holder = $1::int8)";

    // $1, $2 member, $3 kinds, $4 horizon, $5 limit, $6 the ready time to begin at. A locked row does not
    // move, so its ctid is enough to find it; and one scan for all ctids takes half as long as a join.
    all[claim_jobs] = R"(
with me as materialized (
    select from $S.member
    where id = $1::int8 and epoch = $2::int8 and not dead and lease_end > clock_timestamp() for key share),
near as materialized (
    select place, handled.kind, ready from me, unnest($3::text[]) as handled (kind), lateral (
        select ctid as place, ready from $S.job
        where job.kind = handled.kind and not failed and holder is null
            and ready >= $6::timestamptz and ready <= now() + $4::int8 * interval '1 microsecond'
        order by ready limit $5::int8 for update skip locked) as near
    order by ready limit $5::int8),
noted as (
    insert into $S.claim (member, kind, first, last)
    select $1::int8, kind, min(ready), max(ready) from near group by kind)
update $S.job set holder = $1::int8, token = nextval('$S.token'), started = ready <= now()
where ctid = any (array (select place from near))
returning kind, key, payload, due, ready, period, cron, zone, missed, grace, attempts, token, started,
    clock_timestamp(), ctid)";

    // $1, $2 member, $3 kind, $4 limit, $5 the ready time to begin at, $6 running, $7 pause, $8 tolerance.
    all[claim_jobs_within_limits] =
        "select * from $S.claim_limited($1::int8, $2::int8, $3::text, $4::int8, $5::timestamptz, $6::int8, "
        "$7::int8, $8::int8)";

    all[look_on] = look("", "");
    all[look_on_and_release] = look_and_release();

    // $1 groups
    all[release_waiting] = "with " + released("select unnest($1::text[])") +
                           "\nselect (select count(*) from released), (select count(*) from told)";

    all[start_jobs] = start("", lock_limit_ms);
    all[start_unlocked_jobs] = start("skip locked", lock_limit_ms);
    all[settle_jobs] = settle("", lock_limit_ms);
    all[settle_unlocked_jobs] = settle("skip locked", lock_limit_ms);

    // $1 member, $2 kinds, $3 keys, $4 tokens. Returns (n, place, ready time) of every job that the member
    // holds.
    all[find_rows] = R"(
select n, job.ctid, ready
from unnest($2::text[], $3::text[], $4::int8[]) with ordinality as given (kind, key, token, n)
    join $S.job on job.kind = given.kind and job.key = given.key and job.token = given.token and holder = $1::int8)";

    // Skips members that are just claiming; the next call declares them dead. Returns whether any member is
    // dead.
    all[declare_ended] = R"(
with ended as materialized (
    select id from $S.member where not dead and lease_end < clock_timestamp() for update skip locked),
done as (update $S.member set dead = true from ended where member.id = ended.id returning 1)
select exists (select from done) or exists (select from $S.member where dead))";

    // $1 limit
    all[release_of_dead] = std::string(R"(
with done as (
    update $S.job set holder = null, attempts = attempts + started::int, started = false
    where ctid = any ()") +
                           rows_held_by("in (select id from $S.member where dead)",
                                        "limit $1::int8 for update of held skip locked") +
                           R"()
    returning kind, ready),
)" + told("done") + R"(
select (select count(*) from done), (select count(*) from told))";

    all[forget_ranges_of_dead] =
        std::string("delete from $S.claim where member in (select id from $S.member where dead) and ") +
        is_empty_range;
    all[delete_dead] = "delete from $S.member where dead and not exists (select from $S.claim where "
                       "claim.member = member.id)";

    // $1 member; the first also has $2, the epoch, as raise_epoch. It notifies all who handle the member's
    // kinds: only the member knew of jobs whose answers it has settled, and which it was about to claim
    // again. The next four statements form one transaction. The second begins after every claim of this
    // member has ended, so it sees the jobs that they took.
    all[declare_dead] = R"(
with me as materialized (
    select id from $S.member where id = $1::int8 and epoch between $2::int8 and $2::int8 + 1000000 and not dead for update),
told as materialized (
    select pg_notify('$N', '0 ' || kind) from $S.member, unnest(kinds) as kind where id = $1::int8)
update $S.member set dead = true from me where member.id = me.id returning (select count(*) from told) >= 0)";
    all[release_of_one] = std::string(R"(
with done as (
    update $S.job set holder = null, started = false
    where ctid = any ()") +
                          rows_held_by("= $1::int8", "for update of held skip locked") +
                          R"()
    returning kind, ready),
)" + told("done") + R"(
select count(*) from told)";
    // $1 member, $2, $3 the ready times of the last jobs of the ranges; null: no limit.
    all[forget_ranges_of_one] =
        std::string("delete from $S.claim where member = $1::int8 and last >= coalesce($2::timestamptz, "
                    "'-infinity') and last < coalesce($3::timestamptz, 'infinity') and ") +
        is_empty_range;
    all[delete_member] = "delete from $S.member where id = $1::int8 and not exists (select from $S.claim "
                         "where member = $1::int8)";

    all[notify_of_kind] = "select pg_notify('$N', '0 ' || $1::text)";

    for (std::string &each : all)
        each = in_schema(each.c_str(), schema);
    return all;
}

}  // namespace tickwheel::durable::postgres
