// Notifications. A store that sends none skips these tests.
#include "store_test.hpp"

namespace tickwheel::durable::tests {
namespace {

// How long a test waits for a notification, and for how long none may come. Real time, because the databases
// need it.
constexpr std::int64_t patience = 10 * second, while_silent = 100 * ms;

// A connection that listens, while `to` changes jobs.
connection ear(nullptr);

int begin_listening(void **state) {
    begin_test(state);
    ear.open();
    return 0;
}

int end_listening(void **state) {
    ear.close();
    return end_test(state);
}

void forget_what_was_told() {
    while (ear.notification(while_silent))
        ;
}

#define LISTENING_TEST(name) TEST_IF(ear.listens(), name)

FIXTURE(begin_listening, end_listening);

LISTENING_TEST(listeners_are_told_of_the_first_that_is_ready) {
    to.put_many({job_of("mail", "late", 20 * second), job_of("mail", "soon", 5 * second),
                 job_of("mail", "later", 30 * second)});
    const std::optional<std::int64_t> ready = ear.notification(patience);
    assert_true(ready.has_value());
    assert_true(*ready >= 0 && *ready <= to.get("mail", "soon")->ready);
}

LISTENING_TEST(listeners_are_told_of_each_put_once) {
    for (int i = 0; i < 5; ++i) {
        to.put("mail", std::to_string(i));
        assert_true(ear.notification(patience).has_value());
    }
    assert_false(ear.notification(while_silent).has_value());
}

LISTENING_TEST(listeners_are_not_told_of_far_jobs_of_kept_ones_or_of_their_own) {
    to.put("mail", "17", 60 * minute);
    forget_what_was_told();
    to.put("mail", "18", 60 * minute);
    to.put_many({job_of("mail", "19", 61 * minute), job_of("mail", "20", 24 * 60 * minute)});
    to.put_keep("mail", "17");
    ear.put("mail", "21");
    assert_false(ear.notification(while_silent).has_value());
}

LISTENING_TEST(listeners_are_told_of_others_after_their_own_puts) {
    ear.put("mail", "17");
    to.put("mail", "18");
    ear.put("mail", "19");
    assert_true(ear.notification(patience).has_value());
}

LISTENING_TEST(listeners_are_told_of_all_that_makes_a_held_job_ready) {
    const std::function<void(const seen &)> ways[] = {
        [](const seen &held) {
            to.settle(who, outcome_of(held, TW_STORE_FAIL));
            forget_what_was_told();
            to.requeue();
        },
        [](const seen &held) { to.settle(who, outcome_of(held, TW_STORE_RELEASE)); },
        [](const seen &) {
            to.leave(who);
            who = to.join();
        },
        [](const seen &) {
            to.end_lease(who);
            forget_what_was_told();
            assert_int_equal(to.bury(), 1);
        },
    };
    to.put("mail", "17");
    for (const auto &make_ready : ways) {
        const seen held = to.claim(who, {"mail"}).at(0);
        forget_what_was_told();
        make_ready(held);
        assert_true(ear.notification(patience).has_value());
    }
}

LISTENING_TEST(all_listeners_are_told) {
    connection second_ear;
    assert_true(second_ear.listens());
    to.put("mail", "17");
    assert_true(ear.notification(patience).has_value());
    assert_true(second_ear.notification(patience).has_value());
}

LISTENING_TEST(to_listen_twice_is_to_listen_once) {
    assert_int_equal(store().listen(ear.raw()), store().listen(ear.raw()));
    to.put("mail", "17");
    assert_true(ear.notification(patience).has_value());
    assert_false(ear.notification(while_silent).has_value());
}

LISTENING_TEST(a_listener_may_do_other_things) {
    const tw_store_member listener = ear.join();
    for (int i = 0; i < 5; ++i) {
        to.put("mail", "17");
        const std::vector<seen> claimed = ear.claim(listener, {"mail"});
        assert_int_equal(claimed.size(), 1);
        assert_int_equal(ear.settle(listener, outcome_of(claimed[0], TW_STORE_END)), 1);
    }
    assert_true(ear.notification(patience).has_value());
}

}  // namespace

}  // namespace tickwheel::durable::tests
