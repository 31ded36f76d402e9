// The statements of the SQLite store.
#pragma once

namespace tickwheel::durable::sqlite {

// The columns of a job, in the order in which entry_of reads them. The name of the holder follows them.
#define JOB_COLUMNS \
    "kind, key, payload, due, period, cron, zone, missed, grace, ready, attempts, token, started, failed, " \
    "error, of_group, waits_for, holder"

enum class sql : unsigned {
    read_meta,
    next_token,
    read_news,
    ring,

    insert_job,
    replace_job,
    find_replaced,
    is_started,
    delete_job,
    find_job,

    join,
    find_member,
    renew,
    resume,
    delete_member,
    mark_started,
    held_jobs,
    release_held,
    declare_dead,
    first_of_dead,
    release_of_dead,
    delete_dead,
    first_end,

    choose,
    count_held,
    read_pace,
    set_pace,
    fail_unnamed,
    first_pending,
    hold,
    start,
    ready_of_held,
    end_held,
    move_held,
    release_one,

    first_waiting,
    release_waiting,

    count
};

// With `@` for the name of the schema and an underscore.
const char *text_of(sql which);

}  // namespace tickwheel::durable::sqlite
