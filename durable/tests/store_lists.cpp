// Listing and counting.
#include <algorithm>

#include "store_test.hpp"

namespace tickwheel::durable::tests {
namespace {

tw_durable_filter of_kind(const char *kind, const char *after = nullptr, std::size_t limit = 0) {
    tw_durable_filter filter{};
    filter.kind = kind;
    filter.after = after;
    filter.limit = limit;
    return filter;
}

tw_durable_filter of_states(unsigned states, const char *kind = nullptr) {
    tw_durable_filter filter{};
    filter.kind = kind;
    filter.states = states;
    return filter;
}

FIXTURE(begin_test, end_test);

TEST(an_empty_database_lists_nothing) {
    assert_true(to.list().empty());
    assert_int_equal(to.count(), 0);
    assert_false(to.get("mail", "17").has_value());
}

TEST(a_list_is_in_the_order_of_bytes) {
    const std::vector<std::string> sorted = {"\t",
                                             " ",
                                             "A",
                                             "B",
                                             "Z",
                                             "_",
                                             "a",
                                             "a b",
                                             "aa",
                                             "b",
                                             "z",
                                             "\xc3\x84",
                                             "\xe2\x82\xac",
                                             "\xef\xbf\xbd",
                                             "\xf0\x9f\x95\xb0"};
    for (auto at = sorted.rbegin(); at != sorted.rend(); ++at)
        to.put("mail", *at);
    const std::vector<std::string> listed = keys_of(to.list());
    assert_true(listed == sorted);
}

TEST(a_list_goes_by_kind_first_and_may_be_of_one_kind_from_any_key) {
    to.put("b", "1");
    to.put("a", "2");
    to.put("B", "3");
    to.put("a", "1");
    to.put("aa", "0");
    const std::vector<std::string> listed = keys_of(to.list());
    assert_true((listed == std::vector<std::string>{"3", "1", "2", "0", "1"}));
    assert_true((keys_of(to.list(of_kind("aa"))) == std::vector<std::string>{"0"}));
    assert_int_equal(to.count(of_kind("aa")), 1);
    assert_int_equal(to.count(of_kind("c")), 0);
    assert_true((keys_of(to.list(of_kind("a", "11"))) == std::vector<std::string>{"2"}));
    assert_true(to.list(of_kind("a", "2")).empty());
}

TEST(a_list_is_read_in_pages) {
    for (int i = 0; i < 10; ++i)
        to.put("mail", std::to_string(i));
    to.put("next", "0");
    std::string after;
    std::vector<std::string> read;
    for (;;) {
        const auto page = keys_of(to.list(of_kind("mail", after.empty() ? nullptr : after.c_str(), 3)));
        assert_true(page.size() <= 3);
        if (page.empty())
            break;
        read.insert(read.end(), page.begin(), page.end());
        after = page.back();
    }
    assert_int_equal(read.size(), 10);
    assert_true(std::is_sorted(read.begin(), read.end()));
}

TEST(a_limit_bounds_lists_and_counts) {
    for (int i = 0; i < 5; ++i)
        to.put(i % 2 == 0 ? "a" : "b", std::to_string(i));
    tw_durable_filter filter{};
    filter.limit = 4;
    assert_int_equal(to.list(filter).size(), 4);
    assert_int_equal(to.count(filter), 4);
    assert_int_equal(to.count(), 5);
}

TEST(a_list_is_of_some_states) {
    to.put("mail", "failed");
    to.settle(who, outcome_of(to.claim(who, {"mail"}).at(0), TW_STORE_FAIL));
    to.put("mail", "started");
    to.put("mail", "held", 5 * second);
    assert_int_equal(to.claim(who, {"mail"}, minute).size(), 2);
    to.put("mail", "pending");
    for (const unsigned which :
         {TW_DURABLE_PENDING, TW_DURABLE_HELD, TW_DURABLE_STARTED, TW_DURABLE_FAILED}) {
        const std::vector<seen> listed = to.list(of_states(which));
        assert_int_equal(listed.size(), 1);
        assert_int_equal(listed[0].state, which);
        assert_int_equal(to.count(of_states(which, "mail")), 1);
        const bool is_held = which == TW_DURABLE_HELD || which == TW_DURABLE_STARTED;
        assert_string_equal(listed[0].holder.value_or("").c_str(), is_held ? "the holder" : "");
        assert_int_equal(listed[0].holder_id, is_held ? who.id : 0);
    }
    assert_int_equal(to.count(of_states(TW_DURABLE_HELD | TW_DURABLE_FAILED)), 2);
    assert_int_equal(to.count(), 4);
}

TEST(a_visitor_ends_a_list) {
    to.put("mail", "1");
    to.put("mail", "2");
    int visits = 0;
    const auto stop = [](const tw_durable_entry *, void *arg) {
        ++*static_cast<int *>(arg);
        return 42;
    };
    const tw_durable_filter all{};
    assert_int_equal(store().list(to.raw(), &all, nullptr, stop, &visits), 42);
    assert_int_equal(visits, 1);
    assert_int_equal(to.put("mail", "3"), 0);
}

TEST(a_long_list_is_complete) {
    constexpr int many = 1000;
    std::vector<std::string> keys;
    std::vector<tw_durable_job> jobs;
    for (int i = 0; i < many; ++i)
        keys.push_back(std::to_string(i));
    for (const std::string &each : keys)
        jobs.push_back(job_of("mail", each.c_str()));
    to.put_many(jobs);
    std::sort(keys.begin(), keys.end());
    const std::vector<std::string> listed = keys_of(to.list());
    assert_true(listed == keys);
}

TEST(another_connection_sees_what_was_put) {
    connection other;
    to.put("mail", "17");
    assert_int_equal(other.state_of("mail", "17"), TW_DURABLE_PENDING);
    other.remove("mail", "17");
    assert_int_equal(to.count(), 0);
}

}  // namespace

}  // namespace tickwheel::durable::tests
