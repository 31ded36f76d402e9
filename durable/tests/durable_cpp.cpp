// The C++ interface of durable timers: on virtual time with a database in memory, and with SQLite in real
// time.
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <list>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <tickwheel/durable.hpp>
#include <tickwheel/durable_sqlite.hpp>

#include "cpp/support.hpp"

// A value whose codec throws, and one whose codec returns nothing.
struct order {
    std::string id;
    int cents;
};
template <> struct tickwheel::durable_codec<order> {
    static std::string encode(const order &from) { return from.id + "=" + std::to_string(from.cents); }
    static order decode(std::span<const std::byte> payload) {
        const std::string text(reinterpret_cast<const char *>(payload.data()), payload.size());
        const std::size_t end = text.find('=');
        if (end == std::string::npos)
            throw std::invalid_argument("no price in it");
        return {text.substr(0, end), std::stoi(text.substr(end + 1))};
    }
};
template <> struct tickwheel::durable_codec<std::int32_t> {
    static std::vector<std::byte> encode(std::int32_t from) {
        std::vector<std::byte> bytes(sizeof from);
        std::memcpy(bytes.data(), &from, sizeof from);
        return bytes;
    }
    static std::optional<std::int32_t> decode(std::span<const std::byte> payload) {
        std::int32_t value = 0;
        if (payload.size() != sizeof value)
            return std::nullopt;
        std::memcpy(&value, payload.data(), sizeof value);
        return value;
    }
};

namespace {

constexpr tickwheel::durable_kind<order> unpaid{"unpaid"};
constexpr tickwheel::durable_kind<std::int32_t> number{"number"};

using tickwheel::durable;
using tickwheel::durable_entry;
using tickwheel::durable_existing;
using tickwheel::durable_fire;
using tickwheel::durable_job;
using tickwheel::durable_state;
using tickwheel::durable_task;

class Durable : public testing::Test {
  protected:
    tickwheel::virtual_runtime rt;
    durable jobs{rt, "sqlite::memory:", {.single_thread = true}};
    std::vector<std::string> fired;

    // Handles a kind by noting the keys of its jobs.
    void note(std::string_view kind) {
        jobs.handle(kind, [this](durable_fire &fire) { fired.emplace_back(fire.key()); });
    }
    std::vector<std::string> keys(const tickwheel::durable_filter &filter = {}) {
        std::vector<std::string> all;
        jobs.list(filter, [&](const durable_entry &entry) { all.emplace_back(entry.key()); });
        return all;
    }
};

TEST_F(Durable, AFireTellsWhatItIsFor) {
    const tickwheel::durable_time due = jobs.now() + 1min;
    int fires = 0;
    jobs.handle("mail", [&](durable_fire &fire) {
        ++fires;
        EXPECT_EQ(fire.kind(), "mail");
        EXPECT_EQ(fire.key(), "anna");
        EXPECT_EQ(fire.payload(), std::string_view("a\0b", 3));
        EXPECT_EQ(fire.bytes().size(), 3U);
        EXPECT_EQ(fire.bytes()[2], std::byte('b'));
        EXPECT_EQ(fire.due(), due);
        EXPECT_EQ(fire.attempt(), 1U);
        EXPECT_EQ(fire.overruns(), 0U);
        EXPECT_GT(fire.token(), 0);
        EXPECT_GT(fire.lease(), 1s);
        return fire.done();
    });
    jobs.put({.kind = "mail", .key = "anna", .payload = std::string_view("a\0b", 3), .at = due});
    rt.advance(2min);
    EXPECT_EQ(fires, 1);
}

TEST_F(Durable, APayloadIsTextOrBytes) {
    const std::string text = "text";
    const std::byte bytes[] = {std::byte(0), std::byte(255)};
    const durable_job all[] = {{.kind = "k", .key = "1", .payload = text},
                               {.kind = "k", .key = "2", .payload = std::span<const std::byte>(bytes)},
                               {.kind = "k", .key = "3", .payload = "literal"},
                               {.kind = "k", .key = "4"}};
    jobs.put(all);
    std::vector<std::string> seen;
    jobs.list({}, [&](const durable_entry &entry) { seen.emplace_back(entry.payload()); });
    EXPECT_EQ(seen, (std::vector<std::string>{"text", std::string("\0\xFF", 2), "literal", ""}));
}

TEST_F(Durable, AgainIsNoFailure) {
    std::vector<std::uint32_t> attempts;
    jobs.handle("k", [&](durable_fire &fire) {
        attempts.push_back(fire.attempt());
        return attempts.size() < 3 ? fire.again(10s) : fire.done();
    });
    jobs.put({.kind = "k", .key = "x"});
    rt.advance(15s);
    EXPECT_EQ(attempts.size(), 2U);
    rt.advance(10s);
    EXPECT_EQ(attempts, (std::vector<std::uint32_t>{1, 1, 1}));
    EXPECT_EQ(jobs.stats().again, 2U);
}

TEST_F(Durable, LimitsBoundTheFiresOfAKind) {
    int fires = 0;
    jobs.handle("k", [&](durable_fire &) { ++fires; }, {.running = 1, .rate = 2, .per = 1min});
    for (const char *const key : {"1", "2", "3"})
        jobs.put({.kind = "k", .key = key});
    rt.advance(59s);
    EXPECT_EQ(fires, 2);
    rt.advance(2s);
    EXPECT_EQ(fires, 3);
}

TEST_F(Durable, AFailedJobStaysUntilItIsRequeued) {
    bool is_down = true;
    jobs.handle(
        "k",
        [&](durable_fire &fire) { return is_down ? fire.failed("the mail server is down") : fire.done(); },
        {.attempts = 2, .backoff = 5s});
    jobs.put({.kind = "k", .key = "x"});
    rt.advance(1s);
    EXPECT_EQ(keys({.states = {durable_state::pending}}).size(), 1U);
    rt.advance(10s);
    int visits = 0;
    EXPECT_TRUE(jobs.get("k", "x", [&](const durable_entry &entry) {
        ++visits;
        EXPECT_EQ(entry.state(), durable_state::failed);
        EXPECT_EQ(entry.attempts(), 2U);
        EXPECT_EQ(entry.error(), "the mail server is down");
    }));
    EXPECT_EQ(visits, 1);
    is_down = false;
    EXPECT_FALSE(jobs.requeue("k", "y"));
    EXPECT_TRUE(jobs.requeue("k", "x"));
    rt.advance(1s);
    EXPECT_EQ(jobs.count(), 0U);
    EXPECT_EQ(jobs.requeue("k"), 0U);
    EXPECT_EQ(jobs.requeue(), 0U);
}

TEST_F(Durable, AnExceptionIsAFailureWithItsReason) {
    jobs.handle("std", [](durable_fire &) { throw std::runtime_error("no paper"); }, {.attempts = 1});
    jobs.handle("other", [](durable_fire &) { throw 17; }, {.attempts = 1});
    jobs.handle("negative", [](durable_fire &fire) { return fire.again(-1s); }, {.attempts = 1});
    for (const char *kind : {"std", "other", "negative"})
        jobs.put({.kind = kind, .key = "x"});
    rt.advance(1s);
    std::vector<std::string> why;
    jobs.list({.states = {durable_state::failed}},
              [&](const durable_entry &entry) { why.emplace_back(entry.error()); });
    ASSERT_EQ(why.size(), 3U);
    EXPECT_NE(why[0].find("the delay is negative"), std::string::npos) << why[0];
    EXPECT_EQ(why[1], "the handler has thrown something unknown");
    EXPECT_EQ(why[2], "no paper");
}

TEST_F(Durable, APayloadHasAType) {
    std::vector<std::string> seen;
    jobs.handle(unpaid, [&](const order &late, durable_fire &fire) {
        seen.push_back(late.id + " " + std::to_string(late.cents) + " " + std::string(fire.key()));
        return fire.attempt() == 1 ? fire.failed("once more") : fire.done();
    });
    jobs.handle(number, [&](std::int32_t value, durable_fire &) { seen.push_back(std::to_string(value)); });
    jobs.put(unpaid, {"17", 250}, {.key = "a", .after = 1min});
    EXPECT_TRUE(jobs.add(number, 42, {.key = "b", .after = 2min}));
    EXPECT_FALSE(jobs.add(number, 43, {.key = "b"}));
    jobs.get("unpaid", "a",
             [](const durable_entry &entry) { EXPECT_EQ(unpaid.decode(entry.bytes()).cents, 250); });
    rt.advance(3min);
    EXPECT_EQ(seen, (std::vector<std::string>{"17 250 a", "17 250 a", "42"}));
    EXPECT_EQ(error_of([&] { jobs.put(number, 1, {.kind = "other", .key = "x"}); }),
              std::errc::invalid_argument);
    EXPECT_EQ(error_of([&] { jobs.put(number, 1, {.key = "x", .payload = "other"}); }),
              std::errc::invalid_argument);
}

TEST_F(Durable, APayloadThatTheCodecRefusesIsAFailureWithoutACall) {
    jobs.handle(unpaid, [](const order &, durable_fire &) { FAIL(); }, {.attempts = 1});
    jobs.handle(number, [](std::int32_t, durable_fire &) { FAIL(); }, {.attempts = 1});
    jobs.put({.kind = "unpaid", .key = "x", .payload = "17"});
    jobs.put({.kind = "number", .key = "x", .payload = "17"});
    rt.advance(1s);
    std::vector<std::string> why;
    jobs.list({.states = {durable_state::failed}},
              [&](const durable_entry &entry) { why.emplace_back(entry.error()); });
    EXPECT_EQ(why, (std::vector<std::string>{
                       "the payload is not one of the kind number: its codec returned nothing",
                       "the payload is not one of the kind unpaid: no price in it"}));
}

TEST_F(Durable, ABatchIsAnyRange) {
    std::vector<std::string> seen;
    jobs.handle(unpaid, [&](const order &late, durable_fire &) { seen.push_back(late.id); });
    const std::list<order> orders = {{"1", 100}, {"2", 200}, {"3", 300}};
    jobs.put(unpaid, orders, [](const order &each) -> durable_job {
        return {.key = each.id, .after = std::chrono::seconds(each.cents)};
    });
    jobs.put(std::list<durable_job>{{.kind = "other", .key = "x"}, {.kind = "other", .key = "y"}});
    EXPECT_EQ(jobs.count({.kind = "other"}), 2U);
    EXPECT_TRUE(error_of([&] {
                    jobs.put(unpaid, orders, [](const order &each) -> durable_job {
                        return {.key = each.id == "3" ? std::string_view() : std::string_view(each.id),
                                .after = 1s};
                    });
                }) == std::errc::invalid_argument);
    rt.advance(150s);
    EXPECT_EQ(seen, (std::vector<std::string>{"1"}));
    rt.advance(3min);
    EXPECT_EQ(seen, (std::vector<std::string>{"1", "2", "3"}));
}

TEST_F(Durable, ACoroutineAnswersAtItsEnd) {
    std::vector<std::string> seen;
    jobs.handle("k", [&](durable_fire &fire) -> durable_task {
        seen.push_back("begin " + std::string(fire.key()));
        const bool slept = co_await rt.sleep_for(10s);
        seen.push_back((slept ? "end " : "stopped ") + std::string(fire.key()));
        if (fire.key() == "throws")
            throw std::runtime_error("no paper");
        co_return fire.key() == "again" && fire.token() == 1 ? fire.again(1h) : fire.done();
    });
    jobs.put({.kind = "k", .key = "again"});
    rt.advance(1s);
    jobs.put({.kind = "k", .key = "throws"});
    rt.advance(1s);
    EXPECT_EQ(seen, (std::vector<std::string>{"begin again", "begin throws"}));
    EXPECT_EQ(jobs.stats().running, 2U);
    rt.advance(10s);
    EXPECT_EQ(jobs.stats().running, 0U);
    EXPECT_EQ(jobs.stats().again, 1U);
    jobs.get("k", "throws", [](const durable_entry &entry) { EXPECT_EQ(entry.error(), "no paper"); });
    jobs.cancel("k", "throws");
    rt.advance(2h);
    EXPECT_EQ(seen.size(), 6U);
    EXPECT_EQ(jobs.count(), 0U);
}

TEST_F(Durable, ACoroutineNeedNotSuspendAndMayFailToBegin) {
    jobs.handle("at once", [&](durable_fire &fire) -> durable_task { co_return fire.failed("so it is"); });
    jobs.handle("never", [](durable_fire &) -> durable_task { throw std::runtime_error("no frame"); });
    jobs.put({.kind = "at once", .key = "x"});
    jobs.put({.kind = "never", .key = "x"});
    rt.advance(100ms);
    std::vector<std::string> why;
    jobs.list({}, [&](const durable_entry &entry) { why.emplace_back(entry.error()); });
    EXPECT_EQ(why, (std::vector<std::string>{"so it is", "no frame"}));
    EXPECT_EQ(jobs.stats().running, 0U);
}

TEST_F(Durable, ACoroutineKeepsItsValue) {
    std::vector<std::string> seen;
    jobs.handle(unpaid, [&](const order &late, durable_fire &fire) -> durable_task {
        co_await rt.sleep_for(10s);
        seen.push_back(late.id);
        co_return fire.done();
    });
    const std::string long_id(100, 'x');
    jobs.put(unpaid, {long_id, 250}, {.key = "17"});
    jobs.put({.kind = "unpaid", .key = "18"});
    rt.advance(11s);
    EXPECT_EQ(seen, (std::vector<std::string>{long_id}));
    EXPECT_EQ(jobs.stats().running, 0U);
    EXPECT_GE(jobs.stats().retried, 1U);
}

TEST(DurableLife, CoroutinesOnOneThreadAreDestroyedWithTheirConnection) {
    tickwheel::virtual_runtime rt;
    durable keeper("sqlite::memory:coroutines");
    int gone = 0;
    {
        durable jobs(rt, "sqlite::memory:coroutines", {.single_thread = true});
        jobs.handle("k", [&](durable_fire &fire) -> durable_task {
            const farewell end(gone);
            co_await rt.sleep_for(1h);
            co_return fire.done();
        });
        jobs.put({.kind = "k", .key = "x"});
        rt.advance(1s);
        EXPECT_EQ(gone, 0);
    }
    EXPECT_EQ(gone, 1);
    EXPECT_EQ(keeper.count({.states = {durable_state::pending}}), 1U);
}

TEST_F(Durable, PeriodicJobsFireAgainAndAgain) {
    note("k");
    jobs.put({.kind = "k", .key = "period", .after = 1h, .every = 1h});
    jobs.put({.kind = "k", .key = "cron", .cron = "0 0 * * *", .zone = "Europe/Berlin"});
    rt.advance(24h + 30min);
    EXPECT_EQ(std::count(fired.begin(), fired.end(), "period"), 24);
    EXPECT_EQ(std::count(fired.begin(), fired.end(), "cron"), 1);
    jobs.get("k", "period", [](const durable_entry &entry) {
        EXPECT_EQ(entry.every(), 1h);
        EXPECT_EQ(entry.cron(), "");
    });
    jobs.get("k", "cron", [](const durable_entry &entry) {
        EXPECT_EQ(entry.cron(), "0 0 * * *");
        EXPECT_EQ(entry.zone(), "Europe/Berlin");
        EXPECT_EQ(entry.holder(), "");
    });
}

TEST_F(Durable, AJobIsReplacedOrKeptOrRemoved) {
    note("k");
    EXPECT_TRUE(jobs.add({.kind = "k", .key = "x", .payload = "1", .after = 1min}));
    jobs.put({.kind = "k", .key = "x", .payload = "2", .after = 1min});
    jobs.put({.kind = "k", .key = "x", .payload = "3", .after = 1min}, durable_existing::keep);
    EXPECT_FALSE(jobs.add({.kind = "k", .key = "x", .payload = "4", .after = 1min}));
    jobs.get("k", "x", [](const durable_entry &entry) { EXPECT_EQ(entry.payload(), "2"); });
    EXPECT_TRUE(jobs.cancel("k", "x"));
    EXPECT_FALSE(jobs.cancel("k", "x"));
    rt.advance(2min);
    EXPECT_TRUE(fired.empty());
    EXPECT_FALSE(jobs.get("k", "x", [](const durable_entry &) { FAIL(); }));
}

TEST_F(Durable, AJobWaitsForAGroup) {
    note("k");
    const durable_job all[] = {{.kind = "k", .key = "last", .waits_for = "g"},
                               {.kind = "k", .key = "first", .group = "g"},
                               {.kind = "k", .key = "second", .after = 1min, .group = "g", .within = 30s}};
    jobs.put(all);
    rt.advance(10s);
    EXPECT_EQ(keys({.group = "g"}), std::vector<std::string>{"second"});
    EXPECT_EQ(keys({.states = {durable_state::waiting}}), std::vector<std::string>{"last"});
    jobs.get("k", "last", [](const durable_entry &entry) {
        EXPECT_EQ(entry.waits_for(), "g");
        EXPECT_EQ(entry.group(), "");
    });
    rt.advance(25s);
    EXPECT_EQ(fired, (std::vector<std::string>{"first", "second", "last"}));
}

TEST_F(Durable, AListIsFilteredAndCanBeEnded) {
    for (const char *key : {"a", "b", "c", "d"})
        jobs.put({.kind = "k", .key = key, .after = 1h});
    jobs.put({.kind = "l", .key = "e", .after = 1h});
    EXPECT_EQ(keys({.kind = "k", .after = "a", .limit = 2}), (std::vector<std::string>{"b", "c"}));
    EXPECT_EQ(jobs.count({.kind = "k"}), 4U);
    EXPECT_EQ(jobs.count({.states = {durable_state::held, durable_state::started}}), 0U);
    int visits = 0;
    EXPECT_FALSE(jobs.list({}, [&](const durable_entry &) { return ++visits < 3; }));
    EXPECT_EQ(visits, 3);
    EXPECT_TRUE(jobs.list({}, [](const durable_entry &) { return true; }));
}

TEST_F(Durable, AListByReadyTimeIsReadInPages) {
    const tickwheel::durable_time now = jobs.now();
    jobs.put(std::list<durable_job>{{.kind = "b", .key = "1", .at = now + 1min},
                                    {.kind = "a", .key = "2", .at = now + 2min},
                                    {.kind = "b", .key = "3", .at = now + 2min},
                                    {.kind = "a", .key = "4", .at = now + 3min}});
    using strings = std::vector<std::string>;
    EXPECT_EQ(keys({.ready_before = now + 2min}), (strings{"1"}));
    EXPECT_EQ(keys({.ready_before = tickwheel::durable_time::max()}), (strings{"1", "2", "3", "4"}));
    EXPECT_EQ(keys({.after = "2",
                    .limit = 2,
                    .after_kind = "a",
                    .ready_before = tickwheel::durable_time::max(),
                    .ready_from = now + 2min}),
              (strings{"3", "4"}));
    EXPECT_EQ(keys({.after = "2", .after_kind = "a"}), (strings{"4", "1", "3"}));
    EXPECT_EQ(jobs.count({.ready_before = tickwheel::durable_time()}), 0U);
}

TEST_F(Durable, ManyJobsAreRemovedAndRequeued) {
    jobs.handle("bad", [](durable_fire &fire) { return fire.failed("no paper"); }, {.attempts = 1});
    for (const char *key : {"1", "2", "3"})
        jobs.put({.kind = "bad", .key = key});
    jobs.put({.kind = "other", .key = "x", .after = 1h});
    rt.advance(1s);
    EXPECT_EQ(jobs.requeue_many({.kind = "other"}), 0U);
    EXPECT_EQ(jobs.requeue_many({.kind = "bad", .limit = 2}), 2U);
    EXPECT_EQ(jobs.count({.states = {durable_state::failed}}), 1U);
    EXPECT_EQ(jobs.cancel_many({.states = {durable_state::failed}}), 1U);
    EXPECT_EQ(jobs.cancel_many({.kind = "bad"}), 2U);
    EXPECT_EQ(jobs.count(), 1U);
    EXPECT_EQ(error_of([&] { jobs.cancel_many({.kind = std::string_view("x\0y", 3)}); }),
              std::errc::invalid_argument);
    EXPECT_EQ(jobs.cancel_many({}), 1U);
}

TEST_F(Durable, ProcessesTellWhatTheyHandleAndHold) {
    rt.advance(1s);  // virtual time begins at 0, which stands for no time
    note("k");
    jobs.put({.kind = "k",
              .key = "x",
              .after = 1s,
              .every = 1h,
              .missed = tickwheel::durable_missed::skip,
              .grace = 2s});
    rt.advance(100ms);
    std::int64_t id = 0;
    const tickwheel::durable_time now = jobs.now();
    EXPECT_TRUE(jobs.members([&](const tickwheel::durable_member &member) {
        id = member.id();
        EXPECT_FALSE(member.name().empty());
        EXPECT_TRUE(member.joined().has_value());
        EXPECT_GT(member.lease_end(), now);
        EXPECT_FALSE(member.dead());
        EXPECT_EQ(member.held(), 1U);
        EXPECT_EQ(member.started(), 0U);
        EXPECT_TRUE(member.knows_kinds());
        ASSERT_EQ(member.kinds().size(), 1U);
        EXPECT_EQ(member.kinds()[0], "k");
        EXPECT_EQ(member.clock_offset(), std::chrono::nanoseconds(member.native().clock_offset_ns));
    }));
    EXPECT_TRUE(jobs.get("k", "x", [&](const durable_entry &entry) {
        EXPECT_EQ(entry.holder_id(), id);
        EXPECT_EQ(entry.missed(), tickwheel::durable_missed::skip);
        EXPECT_EQ(entry.grace(), 2s);
    }));
    EXPECT_FALSE(jobs.members([](const tickwheel::durable_member &) { return false; }));
    EXPECT_THROW(jobs.members([](const tickwheel::durable_member &) { throw std::out_of_range("visitor"); }),
                 std::out_of_range);
}

TEST_F(Durable, JobsAreCountedByKindStateAndTime) {
    const tickwheel::durable_time now = jobs.now();
    note("held");
    jobs.put(std::list<durable_job>{{.kind = "a", .key = "1", .at = now + 1min},
                                    {.kind = "a", .key = "2", .at = now + 1h},
                                    {.kind = "held", .key = "x", .at = now + 1s}});
    rt.advance(100ms);
    const tickwheel::durable_time times[] = {now + 2min};
    std::vector<std::string> kinds;
    EXPECT_TRUE(jobs.tallies(times, 0, [&](const tickwheel::durable_tally &tally) {
        kinds.emplace_back(tally.kind());
        ASSERT_EQ(tally.pending().size(), 2U);
        const bool is_a = tally.kind() == "a";
        EXPECT_EQ(tally.pending()[0], is_a ? 1U : 0U);
        EXPECT_EQ(tally.pending()[1], is_a ? 1U : 0U);
        EXPECT_EQ(tally.first_ready(), is_a ? std::optional(now + 1min) : std::nullopt);
        EXPECT_EQ(tally.held(), is_a ? 0U : 1U);
        EXPECT_EQ(tally.started() + tally.failed() + tally.given_up(), 0U);
    }));
    EXPECT_EQ(kinds, (std::vector<std::string>{"a", "held"}));
    EXPECT_TRUE(jobs.tallies({}, 1, [](const tickwheel::durable_tally &tally) {
        EXPECT_EQ(tally.pending()[0], tally.kind() == "a" ? 1U : 0U);  // counts no further than 1
    }));
}

TEST_F(Durable, AProcessExplainsItself) {
    note("k");
    jobs.put({.kind = "k", .key = "x", .after = 2h});
    EXPECT_NE(jobs.why("k", "x").find("It is not due: it fires in 2 h"), std::string::npos)
        << jobs.why("k", "x");
    EXPECT_NE(jobs.why("k", "y").find("There is no job of this name"), std::string::npos);
    EXPECT_EQ(error_of([&] { static_cast<void>(jobs.why("k", "")); }), std::errc::invalid_argument);
    jobs.put({.kind = "k", .key = "y"});
    rt.advance(1s);
    const std::string metrics = jobs.metrics("a"), without = jobs.metrics();
    EXPECT_NE(metrics.find("\ntickwheel_durable_done_total{name=\"a\"} 1\n"), std::string::npos) << metrics;
    EXPECT_NE(without.find("\ntickwheel_durable_done_total 1\n"), std::string::npos) << without;
    jobs.put({.kind = "k", .key = "soon", .after = 1s});
    EXPECT_NE(jobs.dump().find("soon"), std::string::npos) << jobs.dump();
}

TEST_F(Durable, AnExceptionOfAVisitorComesThrough) {
    jobs.put({.kind = "k", .key = "x", .after = 1h});
    const auto thrower = [](const durable_entry &) { throw std::out_of_range("visitor"); };
    EXPECT_THROW(jobs.list({}, thrower), std::out_of_range);
    EXPECT_THROW(jobs.get("k", "x", thrower), std::out_of_range);
}

TEST_F(Durable, BadInputIsRefusedAndExplained) {
    try {
        jobs.put({.kind = "k", .key = "x", .cron = "61 * * * *"});
        FAIL();
    } catch (const std::system_error &error) {
        EXPECT_NE(std::string(error.what()).find("minutes"), std::string::npos) << error.what();
    }
    const auto refused = [this](const durable_job &job) {
        return error_of([&] { jobs.put(job); }) == std::errc::invalid_argument;
    };
    EXPECT_TRUE(refused({.kind = "", .key = "x"}));
    EXPECT_TRUE(refused({.kind = "k", .key = std::string_view("x\0y", 3)}));
    EXPECT_TRUE(refused({.kind = "k", .key = "x", .after = -1s}));
    EXPECT_TRUE(refused({.kind = "k", .key = "x", .after = 1s, .at = jobs.now()}));
    EXPECT_TRUE(refused({.kind = "k", .key = "x", .cron = "* * * * *", .zone = "Nowhere"}));
    note("k");
    EXPECT_EQ(error_of([this] { note("k"); }), std::errc::file_exists);
    EXPECT_EQ(jobs.count(), 0U);
}

TEST(DurableOpening, ThrowsWhatIsWrong) {
    EXPECT_EQ(error_of([] { durable("nonsense:"); }), std::errc::operation_not_supported);
    EXPECT_EQ(error_of([] { durable("sqlite::memory:", {.schema = "No!"}); }), std::errc::invalid_argument);
    EXPECT_EQ(error_of([] {
                  tickwheel::virtual_runtime rt;
                  durable(rt, "sqlite::memory:", {.lease = 1ms, .single_thread = true});
              }),
              std::errc::invalid_argument);
}

TEST(DurableOpening, WithoutARuntimeHandlesNothing) {
    durable jobs("sqlite::memory:");
    EXPECT_EQ(error_of([&] { jobs.handle("k", [](durable_fire &) {}); }), std::errc::operation_not_permitted);
    jobs.put({.kind = "k", .key = "x"});
    EXPECT_EQ(jobs.count(), 1U);
}

TEST(DurableLife, AHandlerIsDestroyedWithItsConnection) {
    tickwheel::virtual_runtime rt;
    int gone = 0;
    {
        durable jobs(rt, "sqlite::memory:", {.single_thread = true});
        jobs.handle("k", [end = farewell(gone)](durable_fire &) {});
        EXPECT_THROW(jobs.handle("k", [end = farewell(gone)](durable_fire &) {}), std::system_error);
        EXPECT_EQ(gone, 1);
    }
    EXPECT_EQ(gone, 2);
}

// A database in a file of its own, in memory if possible: commits there do not wait for a disk.
class DurableSqlite : public testing::Test {
  protected:
    DurableSqlite() { std::filesystem::create_directory(folder_); }
    ~DurableSqlite() override { std::filesystem::remove_all(folder_); }

    const std::filesystem::path folder_ =
        std::filesystem::path(::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") /
        ("tickwheel-cpp-durable-" + std::to_string(::getpid()));
    const std::string address = "sqlite:" + (folder_ / "jobs.db").string();
    tickwheel::runtime rt;
};

TEST_F(DurableSqlite, HandlersRunOnWorkersOfTheProgram) {
    tickwheel::workers pool(rt, {.threads = 1});
    gate fired;
    durable jobs(rt, address, {.workers = pool.native()});
    jobs.handle("k", [&](durable_fire &) { fired.open(); });
    jobs.put({.kind = "k", .key = "x"});
    EXPECT_TRUE(fired.wait());
    EXPECT_TRUE(eventually([&] { return jobs.count() == 0; }));
    pool.wait();  // the handler has begun, but its run may not have ended
    EXPECT_GE(pool.stats().runs, 1U);
}

// Some hundred coroutines at a time, with one thread for handlers. The destructor waits for the last of them.
TEST_F(DurableSqlite, CoroutinesHoldNoWorker) {
    constexpr int count = 300;
    tickwheel::workers pool(rt, {.threads = 2});
    std::atomic<int> begun{0}, ended{0};
    durable keeper(address);
    {
        durable jobs(rt, address, {.threads = 1});
        jobs.handle(number, [&](std::int32_t value, durable_fire &fire) -> durable_task {
            ++begun;
            co_await pool.sleep_for(500ms + std::chrono::milliseconds(value));
            ++ended;
            co_return fire.done();
        });
        std::vector<std::int32_t> numbers(count);
        std::vector<std::string> keys(count);
        for (int i = 0; i < count; ++i)
            keys[static_cast<std::size_t>(numbers[static_cast<std::size_t>(i)] = i)] = std::to_string(i);
        jobs.put(number, numbers,
                 [&](std::int32_t i) -> durable_job { return {.key = keys[static_cast<std::size_t>(i)]}; });
        EXPECT_TRUE(eventually([&] { return begun == count; }));
        EXPECT_LT(ended, count);
    }
    EXPECT_EQ(ended, count);
    EXPECT_EQ(keeper.count(), 0U);
}

TEST_F(DurableSqlite, AJobIsPutInTheCallersTransaction) {
    durable jobs(address, {.schema = "shop"});
    sqlite3 *db = nullptr;
    ASSERT_EQ(sqlite3_open((folder_ / "jobs.db").c_str(), &db), SQLITE_OK);
    const auto run = [db](const char *sql) {
        EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    };
    tickwheel::durable_sqlite own(db, "shop");
    run("begin immediate");
    own.put(unpaid, {"17", 250}, {.key = "17", .after = 1h});
    EXPECT_FALSE(own.add({.kind = "unpaid", .key = "17"}));
    EXPECT_TRUE(own.add(number, 1, {.key = "1", .after = 1h}));
    EXPECT_FALSE(own.cancel("number", "2"));
    EXPECT_EQ(jobs.count(), 0U);
    run("commit");
    EXPECT_TRUE(jobs.get("unpaid", "17", [](const durable_entry &entry) {
        EXPECT_EQ(unpaid.decode(entry.bytes()).cents, 250);
    }));
    run("begin immediate");
    EXPECT_TRUE(own.cancel("number", "1"));
    run("rollback");
    EXPECT_EQ(jobs.count(), 2U);
    EXPECT_EQ(error_of([&] { own.put({.kind = "", .key = "x"}); }), std::errc::invalid_argument);
    sqlite3_close(db);
}

TEST_F(DurableSqlite, EventsAreTold) {
    gate connected;
    durable jobs(rt, address, {.on_event = [&](tickwheel::durable_event event, std::string_view) {
                     if (event == tickwheel::durable_event::connected)
                         connected.open();
                 }});
    jobs.handle("k", [](durable_fire &) {});
    EXPECT_TRUE(connected.wait());
}

}  // namespace
