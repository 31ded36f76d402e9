// The callbacks on_expire, on_evict and on_exception.
#include <tickwheel/ttl_map.hpp>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtimes.hpp"

namespace {

using map = tickwheel::ttl_map<int, std::string>;
using strings = std::vector<std::string>;

struct reporting : testing::Test {
    virtual_runtime rt;
    strings expired, evicted;

    map::options with(std::size_t max_size = 0) {
        return {.ttl = 10ms,
                .max_size = max_size,
                .on_expire = [this](int, const std::string &value) { expired.push_back(value); },
                .on_evict = [this](int, const std::string &value) { evicted.push_back(value); }};
    }
};

TEST_F(reporting, expiry_comes_in_the_order_of_deadlines) {
    map m(rt, with());
    m.set(1, "late", 20ms);
    m.set(2, "a");
    m.set(3, "b");
    rt.advance(20ms);
    EXPECT_EQ(expired, (strings{"a", "b", "late"}));
    EXPECT_EQ(m.stats().expired, 3U);
}

TEST_F(reporting, set_reports_an_expired_entry_that_it_replaces) {
    map m(rt, with());
    at_time first(rt, 10ms, [&] {
        m.set(1, "new");
        EXPECT_EQ(expired, strings{"old"});
    });
    m.set(1, "old");
    rt.leap(15ms);
    EXPECT_EQ(m.get(1), "new");
    EXPECT_EQ(expired, strings{"old"});
    EXPECT_EQ(m.stats().expired, 1U);
}

TEST_F(reporting, set_reports_an_expired_entry_that_it_pushes_out_as_expired) {
    map m(rt, with(1));
    at_time first(rt, 10ms, [&] { m.set(2, "new"); });
    m.set(1, "old");
    rt.leap(15ms);
    EXPECT_EQ(expired, strings{"old"});
    EXPECT_TRUE(evicted.empty());
    EXPECT_EQ(m.stats().evicted, 0U);
}

TEST(reports, on_expire_may_call_the_map) {
    virtual_runtime rt;
    std::optional<map> m;
    int rounds = 0;
    m.emplace(rt, map::options{.ttl = 10ms, .on_expire = [&](int key, std::string &value) {
                                   EXPECT_FALSE(m->contains(key));
                                   if (++rounds < 5)
                                       m->set(key, std::move(value));
                               }});
    m->set(1, "again");
    rt.advance(30ms);
    EXPECT_EQ(m->get(1), "again");
    rt.advance(1s);
    EXPECT_EQ(rounds, 5);
    EXPECT_EQ(m->size(), 0U);
}

TEST(reports, on_evict_may_call_the_map) {
    virtual_runtime rt;
    std::optional<map> m;
    strings spilt;
    m.emplace(rt, map::options{.ttl = 1s, .max_size = 2, .on_evict = [&](int key, std::string &value) {
                                   EXPECT_FALSE(m->contains(key));
                                   EXPECT_EQ(m->size(), 2U);
                                   spilt.push_back(value);
                               }});
    for (int i = 0; i < 4; ++i)
        m->set(i, std::to_string(i));
    EXPECT_EQ(spilt, (strings{"0", "1"}));
}

TEST(reports, what_callbacks_throw_goes_to_on_exception_and_the_map_goes_on) {
    virtual_runtime rt;
    strings heard;
    const auto fail = [](int, const std::string &value) { throw std::runtime_error(value); };
    map m(rt, {.ttl = 10ms,
               .max_size = 2,
               .on_expire = fail,
               .on_evict = fail,
               .on_exception = [&heard](std::exception_ptr error) {
                   try {
                       std::rethrow_exception(error);
                   } catch (const std::runtime_error &e) {
                       heard.push_back(e.what());
                   }
               }});
    m.set(1, "evicted");
    m.set(2, "a");
    m.set(3, "b");
    rt.advance(10ms);
    EXPECT_EQ(heard, (strings{"evicted", "a", "b"}));
    EXPECT_EQ(m.size(), 0U);
}

TEST(reports, without_on_exception_stderr_hears_of_it) {
    virtual_runtime rt;
    map m(rt, {.ttl = 10ms, .on_expire = [](int key, const std::string &value) {
                   if (key == 1)
                       throw std::runtime_error(value);
                   throw key;
               }});
    m.set(1, "no disk");
    m.set(2, "");
    testing::internal::CaptureStderr();
    rt.advance(10ms);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "tickwheel: a callback has thrown: no disk\n"
                                                      "tickwheel: a callback has thrown something unknown\n");
}

}  // namespace
