// Claims.
#include <algorithm>
#include <array>

#include "store_test.hpp"

namespace tickwheel::durable::tests {
namespace {

// Puts jobs that are due in the order of their keys, a few milliseconds apart.
void put_row(const char *kind, std::initializer_list<const char *> keys) {
    const std::int64_t first = to.now() - second;
    std::int64_t due = first;
    for (const char *const key : keys) {
        tw_durable_job job = job_of(kind, key, due += ms);
        job.absolute = 1;
        to.put(job);
    }
}

FIXTURE(begin_test, end_test);

TEST(a_claimed_job_is_held_until_it_is_ready) {
    to.put("mail", "17", minute / 2);
    const std::vector<seen> claimed = to.claim(who, {"mail"}, minute);
    assert_int_equal(claimed.size(), 1);
    assert_int_equal(claimed[0].state, TW_DURABLE_HELD);
    assert_true(claimed[0].token > 0);
    const seen found = to.get("mail", "17").value();
    assert_int_equal(found.state, TW_DURABLE_HELD);
    assert_int_equal(found.token, claimed[0].token);
    assert_string_equal(found.holder.value_or("").c_str(), "the holder");
    assert_int_equal(found.holder_id, who.id);
}

TEST(a_claim_starts_what_is_ready) {
    to.put("mail", "17");
    assert_int_equal(to.claim(who, {"mail"}).at(0).state, TW_DURABLE_STARTED);
    assert_int_equal(to.state_of("mail", "17"), TW_DURABLE_STARTED);
    assert_int_equal(to.remove("mail", "17"), 0);
}

TEST(a_claim_tells_all_of_a_job) {
    tw_durable_job job = job_of("mail", "17");
    job.payload = "body";
    job.size = 4;
    job.period_ns = minute;
    job.missed = TW_DURABLE_SKIP;
    job.grace_ns = 5 * second;
    to.put(job);
    const seen held = to.claim(who, {"mail"}).at(0);
    assert_string_equal(held.kind.c_str(), "mail");
    assert_string_equal(held.key.c_str(), "17");
    assert_string_equal(held.payload.c_str(), "body");
    assert_int_equal(held.job.period_ns, minute);
    assert_int_equal(held.job.missed, TW_DURABLE_SKIP);
    assert_int_equal(held.job.grace_ns, 5 * second);
    assert_int_equal(held.job.due_ns, held.ready);
    assert_int_equal(held.attempts, 0);
}

TEST(a_claim_is_in_the_order_of_ready_times) {
    put_row("mail", {"c", "a", "b", "z", "m"});
    assert_true((keys_of(to.claim(who, {"mail"})) == std::vector<std::string>{"c", "a", "b", "z", "m"}));
}

TEST(a_claim_of_several_kinds_is_in_one_order) {
    put_row("mail", {"1", "3", "5"});
    put_row("bill", {"2", "4", "6"});
    const std::vector<seen> claimed = to.claim(who, {"mail", "bill", "none"});
    assert_int_equal(claimed.size(), 6);
    assert_true(std::is_sorted(claimed.begin(), claimed.end(),
                               [](const seen &one, const seen &other) { return one.ready < other.ready; }));
}

TEST(a_limit_takes_the_first_of_each_kind) {
    put_row("mail", {"m1", "m2", "m3"});
    put_row("bill", {"b1", "b2", "b3"});
    const auto claimed = keys_of(to.claim(who, {"mail", "bill"}, 0, 4));
    assert_int_equal(claimed.size(), 4);
    const auto has = [&](const char *key) { return std::count(claimed.begin(), claimed.end(), key) != 0; };
    assert_true(!has("m2") || has("m1"));
    assert_true(!has("m3") || has("m2"));
    assert_true(!has("b2") || has("b1"));
    assert_true(!has("b3") || has("b2"));
    assert_int_equal(to.claim(who, {"mail", "bill"}).size(), 2);
}

TEST(a_claim_of_nothing_still_looks) {
    to.put("mail", "17", minute);
    const std::int64_t ready = to.get("mail", "17")->ready;
    assert_true(to.claim(who, {"mail"}, 2 * minute, 0).empty());
    assert_int_equal(to.look().next_ns, ready);
    assert_true(to.claim(who, {}).empty());
    assert_int_equal(to.look().next_ns, TW_NO_DEADLINE);
}

TEST(only_kinds_that_are_named_are_claimed) {
    to.put("mail", "17");
    to.put("bill", "17");
    to.put("mai", "17");
    const std::vector<seen> claimed = to.claim(who, {"bill"});
    assert_int_equal(claimed.size(), 1);
    assert_string_equal(claimed[0].kind.c_str(), "bill");
    assert_int_equal(to.look().next_ns, TW_NO_DEADLINE);
}

TEST(a_kind_that_is_named_twice_is_claimed_once) {
    tw_durable_job one = job_of("mail", "1", to.now()), other = job_of("mail", "2", to.now());
    one.absolute = other.absolute = 1;
    other.due_ns = one.due_ns;
    to.put_many({one, other});
    assert_int_equal(to.claim(who, {"mail", "mail"}).size(), 2);
}

TEST(the_horizon_bounds_a_claim) {
    to.put("mail", "near", 10 * second);
    to.put("mail", "far", 10 * minute);
    const std::int64_t far = to.get("mail", "far")->ready;
    assert_true(to.claim(who, {"mail"}).empty());
    assert_true((keys_of(to.claim(who, {"mail"}, minute)) == std::vector<std::string>{"near"}));
    assert_int_equal(to.look().next_ns, far);
}

TEST(a_claim_looks_for_what_comes_next) {
    const std::int64_t before = to.now();
    put_row("mail", {"1", "2"});
    to.claim(who, {"mail"}, 0, 1);  // reaches its limit, so `next_ns` is only a lower bound
    assert_true(to.look().next_ns <= to.get("mail", "2")->ready);
    to.claim(who, {"mail"}, 0, 1);
    to.put("mail", "3", minute);
    to.claim(who, {"mail"}, 0, 1);
    assert_int_equal(to.look().next_ns, to.get("mail", "3")->ready);
    assert_true(to.look().now_ns >= before && to.look().now_ns <= to.now());
    assert_int_equal(to.look().now_ns % us, 0);
    assert_false(to.has_dead());
}

TEST(a_claim_of_no_jobs_only_looks) {
    const tw_store_member other = to.join("another", second);
    to.put("mail", "17");
    to.put("mail", "18", minute);
    assert_true(to.claim(who, {"mail"}, 20 * minute, 0).empty());
    assert_int_equal(to.state_of("mail", "17"), TW_DURABLE_PENDING);
    assert_int_equal(to.look().next_ns, to.get("mail", "17")->ready);
    assert_int_equal(to.claim(other, {"mail"}).size(), 1);
    to.claim(who, {"mail"}, 20 * minute, 0);
    assert_int_equal(to.look().next_ns, to.get("mail", "18")->ready);
    assert_true(to.look().lease_end_ns <= to.now() + second);
    to.end_lease(who);
    assert_int_equal(to.try_claim(who, {"mail"}, 20 * minute, 0), -ESTALE);
}

TEST(a_look_leaves_out_what_is_ready_at_its_end) {
    const std::int64_t now = to.now() / us * us;
    tw_durable_job job = job_of("mail", "17");
    job.absolute = 1;
    job.due_ns = now + 10 * second;
    to.put(job);
    const char *const kind = "mail";
    tw_store_claim claim{};
    claim.member = who;
    claim.kinds = &kind;
    claim.kinds_count = 1;
    for (const auto &[from, until, found] : std::vector<std::array<std::int64_t, 3>>{
             {0, 0, 1}, {0, 10, 0}, {0, 11, 1}, {10, 0, 1}, {10, 11, 1}, {11, 0, 0}, {5, 9, 0}}) {
        tw_store_look look{};
        claim.from_ns = from != 0 ? now + from * second : 0;
        claim.until_ns = until != 0 ? now + until * second : 0;
        assert_int_equal(store().claim(to.raw(), &claim, nullptr, nullptr, &look), 0);
        assert_true(look.next_ns == (found != 0 ? now + 10 * second : TW_NO_DEADLINE));
    }
}

TEST(a_claim_finds_all_that_is_ready_from_its_start_on) {
    put_row("mail", {"1", "2", "3"});
    const std::int64_t start = to.get("mail", "2")->ready;
    std::vector<seen> claimed;
    assert_int_equal(to.try_claim(who, {"mail"}, 0, 1000, &claimed, start), 0);
    const std::vector<std::string> keys = keys_of(claimed);
    assert_true(keys.size() >= 2 && keys[keys.size() - 2] == "2" && keys.back() == "3");
    to.put("mail", "4", minute);
    to.try_claim(who, {"mail"}, 0, 0, nullptr, to.now());
    assert_int_equal(to.look().next_ns, to.get("mail", "4")->ready);
}

TEST(nothing_is_claimed_twice) {
    connection other;
    const tw_store_member rival = other.join();
    to.put("mail", "17");
    assert_int_equal(to.claim(who, {"mail"}).size(), 1);
    assert_true(to.claim(who, {"mail"}).empty());
    assert_true(other.claim(rival, {"mail"}).empty());
}

TEST(a_failed_job_is_not_claimed) {
    to.put("mail", "17");
    to.settle(who, outcome_of(to.claim(who, {"mail"}).at(0), TW_STORE_FAIL));
    assert_true(to.claim(who, {"mail"}, minute).empty());
    assert_int_equal(to.look().next_ns, TW_NO_DEADLINE);
}

// --- tokens ----------------------------------------------------------------------------------

TEST(a_token_rises_with_each_claim_whatever_becomes_of_the_job_in_between) {
    const std::function<void(const seen &)> ends[] = {
        [&](const seen &held) { to.settle(who, outcome_of(held, TW_STORE_RELEASE)); },
        [&](const seen &held) { to.settle(who, outcome_of(held, TW_STORE_END)); },
        [&](const seen &) { to.remove("mail", "17"); },
        [&](const seen &) { /* the next put replaces it */ },
    };
    std::int64_t last = 0;
    for (const auto &end : ends)
        for (int i = 0; i < 2; ++i) {
            to.put_keep("mail", "17");
            if (to.state_of("mail", "17") != TW_DURABLE_PENDING)
                to.put("mail", "17");
            const seen held = to.claim(who, {"mail"}).at(0);
            assert_true(held.token > last);
            last = held.token;
            end(held);
        }
}

}  // namespace

}  // namespace tickwheel::durable::tests
