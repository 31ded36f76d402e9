// Being told. A store that tells nobody skips these.
#include "store_test.hpp"

namespace tickwheel::durable::tests {
namespace {

constexpr std::int64_t patience = 10 * second, while_silent = 200 * ms;

// A connection that listens, and another that does things.
struct audience {
    connection to, ear;
    tw_store_member who = to.join();

    audience() {
        if (!ear.listens())
            skip();
    }

    // Forgets what was told so far.
    void forget() {
        while (ear.told(while_silent))
            ;
    }
};

FIXTURE(begin_test, nullptr);

TEST(listeners_are_told_of_a_put) {
    audience it;
    it.to.put("mail", "17");
    const std::optional<std::int64_t> ready = it.ear.told(patience);
    assert_true(ready.has_value());
    assert_true(*ready >= 0 && *ready <= it.to.get("mail", "17")->ready);
}

TEST(listeners_are_told_of_the_first_that_is_ready) {
    audience it;
    it.to.put_many({job_of("mail", "late", 20 * second), job_of("mail", "soon", 5 * second),
                    job_of("mail", "later", 30 * second)});
    const std::optional<std::int64_t> ready = it.ear.told(patience);
    assert_true(ready.has_value());
    assert_true(*ready <= it.to.get("mail", "soon")->ready);
}

TEST(listeners_are_told_of_each_put) {
    audience it;
    for (int i = 0; i < 5; ++i) {
        it.to.put("mail", std::to_string(i));
        assert_true(it.ear.told(patience).has_value());
    }
}

TEST(listeners_are_not_told_of_far_jobs) {
    audience it;
    it.forget();
    it.to.put("mail", "17", 60 * minute);
    it.to.put_many({job_of("mail", "18", 61 * minute), job_of("mail", "19", 24 * 60 * minute)});
    assert_false(it.ear.told(while_silent).has_value());
}

TEST(listeners_are_not_told_of_what_was_kept) {
    audience it;
    it.to.put("mail", "17", 60 * minute);
    it.forget();
    it.to.put_keep("mail", "17");
    assert_false(it.ear.told(while_silent).has_value());
}

TEST(listeners_are_not_told_of_their_own_puts) {
    audience it;
    it.forget();
    it.ear.put("mail", "17");
    assert_false(it.ear.told(while_silent).has_value());
}

TEST(listeners_are_told_of_others_after_their_own_puts) {
    audience it;
    it.ear.put("mail", "17");
    it.to.put("mail", "18");
    it.ear.put("mail", "19");
    assert_true(it.ear.told(patience).has_value());
}

TEST(listeners_are_told_once) {
    audience it;
    it.to.put("mail", "17");
    assert_true(it.ear.told(patience).has_value());
    assert_false(it.ear.told(while_silent).has_value());
}

TEST(listeners_are_told_of_a_requeue) {
    audience it;
    it.to.put("mail", "17");
    it.to.settle(it.who, outcome_of(it.to.claim(it.who, {"mail"}).at(0), TW_STORE_FAIL));
    it.forget();
    it.to.requeue();
    assert_true(it.ear.told(patience).has_value());
}

TEST(listeners_are_told_of_a_leave) {
    audience it;
    it.to.put("mail", "17");
    it.to.claim(it.who, {"mail"});
    it.forget();
    it.to.leave(it.who);
    assert_true(it.ear.told(patience).has_value());
}

TEST(listeners_are_told_of_a_release) {
    audience it;
    it.to.put("mail", "17");
    const seen held = it.to.claim(it.who, {"mail"}).at(0);
    it.forget();
    it.to.settle(it.who, outcome_of(held, TW_STORE_RELEASE));
    assert_true(it.ear.told(patience).has_value());
}

TEST(listeners_are_told_of_a_burial) {
    audience it;
    it.to.put("mail", "17");
    it.to.claim(it.who, {"mail"});
    it.to.end_lease(it.who);
    it.forget();
    assert_int_equal(it.to.bury(), 1);
    assert_true(it.ear.told(patience).has_value());
}

TEST(all_listeners_are_told) {
    audience it;
    connection second_ear;
    assert_true(second_ear.listens());
    it.to.put("mail", "17");
    assert_true(it.ear.told(patience).has_value());
    assert_true(second_ear.told(patience).has_value());
}

TEST(to_listen_twice_is_to_listen_once) {
    audience it;
    assert_int_equal(store().listen(it.ear.raw()), store().listen(it.ear.raw()));
    it.to.put("mail", "17");
    assert_true(it.ear.told(patience).has_value());
}

TEST(a_listener_may_do_other_things) {
    audience it;
    const tw_store_member listener = it.ear.join();
    for (int i = 0; i < 5; ++i) {
        it.to.put("mail", "17");
        const std::vector<seen> claimed = it.ear.claim(listener, {"mail"});
        assert_int_equal(claimed.size(), 1);
        assert_int_equal(it.ear.settle(listener, outcome_of(claimed[0], TW_STORE_END)), 1);
    }
    assert_true(it.ear.told(patience).has_value());
}

}  // namespace

}  // namespace tickwheel::durable::tests
