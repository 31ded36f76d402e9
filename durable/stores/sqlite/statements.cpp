#include "statements.hpp"

#include <array>
#include <cstddef>

namespace tickwheel::durable::sqlite {

namespace {

#define JOBS "@job left join @member on @member.id = holder"

#define IS_PENDING "holder is null and failed = 0"
#define IS_NAMED "kind = ?1 and key = ?2"
#define IS_HELD "kind = ?1 and key = ?2 and holder = ?3 and token = ?4"
#define OF_DEAD "holder in (select id from @member where dead = 1)"
#define IS_RELEASED \
    "waits_for = ?1 and not exists (select 1 from @job as left_over where left_over.of_group = ?1)"

// In the order of the enumeration.
constexpr std::array<const char *, static_cast<std::size_t>(sql::count)> texts = {
    "select value from @meta where name = ?1",
    "update @meta set value = value + ?1 where name = 'token'",
    "select (select value from @meta where name = 'news'), (select value from @meta where name = "
    "'news_ready')",
    "update @meta set value = case name when 'news' then value + 1 else ?1 end where name in ('news', "
    "'news_ready')",

    // insert_job, replace_job: with the same parameters
    "insert into @job (kind, key, due, ready, payload, period, cron, zone, missed, grace, of_group, "
    "waits_for, "
    "no_later) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) on conflict (kind, key) do "
    "nothing",
    "update @job set due = ?3, ready = ?4, payload = ?5, period = ?6, cron = ?7, zone = ?8, missed = ?9, "
    "grace = ?10, of_group = ?11, waits_for = ?12, no_later = ?13, "
    "attempts = 0, holder = null, started = 0, failed = 0, error = null where " IS_NAMED,
    // find_replaced: its group, and the end that it hands on
    "select of_group, case when started = 0 and failed = 0 and attempts = 0 then no_later end from @job "
    "where " IS_NAMED,
    "select started, of_group from @job where " IS_NAMED,
    "delete from @job where " IS_NAMED,

    "select " JOB_COLUMNS ", @member.name from " JOBS " where " IS_NAMED,

    "insert into @member (name, epoch, lease, dead, joined) values (?1, ?4, ?2, 0, ?3)",
    "select epoch, lease from @member where id = ?1 and dead = 0",
    "update @member set lease = ?3 where id = ?1 and epoch = ?2 and dead = 0",
    "update @member set epoch = epoch + 1 where id = ?1 and dead = 0 and epoch between ?2 and ?2 + 1000000",
    "delete from @member where id = ?1 and dead = 0 and epoch between ?2 and ?2 + 1000000",
    "update @job set started = 1 where holder = ?1 and token = ?2",
    "select " JOB_COLUMNS ", @member.name from " JOBS " where holder = ?1",
    "update @job set holder = null, started = 0 where holder = ?1",
    "update @member set dead = 1 where dead = 0 and lease <= ?1",
    "select min(ready) from @job where " OF_DEAD,
    "update @job set holder = null, attempts = attempts + started, started = 0 "
    "where (kind, key) in (select kind, key from @job where " OF_DEAD " limit ?1)",
    "delete from @member where dead = 1 and not exists (select 1 from @job where holder = @member.id)",
    "select min(case when dead then 0 else lease end) from @member where id <> ?1 and (dead = 1 or lease <= "
    "?2 "
    "or exists (select 1 from @job where holder = @member.id))",

    "select ready, key, rowid from @job where kind = ?1 and " IS_PENDING
    " and ready between ?4 and ?2 order by ready limit ?3",
    "select count(*) from @job where holder is not null and kind = ?1",
    "select next from @pace where kind = ?1",
    "insert into @pace (kind, next) values (?1, ?2) on conflict (kind) do update set next = excluded.next",
    "update @job set failed = 1, error = 'the key is not a text' where rowid = ?1",
    "select ready from @job where kind = ?1 and " IS_PENDING " and ready >= ?2 order by ready limit 1",
    "update @job set holder = ?3, token = ?4, started = ready <= ?5 where " IS_NAMED,
    "update @job set started = 1 where " IS_HELD " and ready <= ?5",
    "select ready from @job where " IS_HELD,
    "delete from @job where " IS_HELD " returning of_group",
    "update @job set holder = null, started = 0, due = ?5, ready = ?6, attempts = ?7, error = ?8, failed = "
    "?9, no_later = null where " IS_HELD,
    "update @job set holder = null, started = 0 where " IS_HELD,

    "select min(max(due, ?2)) from @job where " IS_RELEASED,
    "update @job set waits_for = null, ready = max(due, ?2) where " IS_RELEASED,
};
static_assert(texts.back() != nullptr, "a statement is missing");

}  // namespace

// cppcheck-suppress CastIntegerToAddressAtReturn
const char *text_of(sql which) { return texts[static_cast<std::size_t>(which)]; }

}  // namespace tickwheel::durable::sqlite
