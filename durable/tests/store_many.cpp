// Many jobs, and many connections at a time.
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "store_test.hpp"

namespace tickwheel::durable::tests {
namespace {

// Puts `count` jobs of a kind, in batches.
void put_crowd(const char *kind, int count, std::int64_t delay) {
    constexpr int batch = 1000;
    for (int begun = 0; begun < count; begun += batch) {
        std::vector<std::string> keys;
        for (int i = begun; i < std::min(begun + batch, count); ++i)
            keys.push_back(std::to_string(i));
        std::vector<tw_durable_job> jobs;
        for (std::size_t i = 0; i < keys.size(); ++i)
            jobs.push_back(job_of(kind, keys[i].c_str(), delay + static_cast<std::int64_t>(i) * ms));
        to.put_many(jobs);
    }
}

// CMocka's checks end a test by a longjmp, which must not leave a thread. So threads record a failure here.
class race {
  public:
    explicit race(int jobs) : left(jobs) {}

    void claimed(const std::vector<seen> &jobs) {
        const std::lock_guard lock(mutex_);
        for (const seen &each : jobs) {
            if (!tokens_.emplace(each.token, each.key).second || !keys_.emplace(each.key, each.token).second)
                is_wrong = true;
        }
    }

    std::atomic<int> left;
    std::atomic<bool> is_wrong = false;

  private:
    std::mutex mutex_;
    std::map<std::int64_t, std::string> tokens_;
    std::map<std::string, std::int64_t> keys_;
};

int settle_all(connection &by, const tw_store_member &member, const std::vector<seen> &held) {
    std::vector<tw_store_outcome> outcomes;
    for (const seen &each : held)
        outcomes.push_back(outcome_of(each, TW_STORE_END));
    if (store().settle(by.raw(), &member, outcomes.data(), outcomes.size()) != 0)
        return -1;
    return static_cast<int>(
        std::count_if(outcomes.begin(), outcomes.end(), [](const auto &each) { return each.matched == 1; }));
}

// Claims and ends jobs until none is left.
void run_in(race &of, connection &by, const tw_store_member &member) {
    while (of.left > 0 && !of.is_wrong) {
        std::vector<seen> held;
        if (by.try_claim(member, {"mail", "bill"}, 0, 50, &held) != 0) {
            of.is_wrong = true;
            return;
        }
        of.claimed(held);
        const int settled = held.empty() ? 0 : settle_all(by, member, held);
        if (settled != static_cast<int>(held.size()))
            of.is_wrong = true;
        of.left -= settled;
    }
}

FIXTURE(begin_test, end_test);

TEST(racing_members_never_claim_the_same_job) {
    constexpr int of_each_kind = SLOW ? 500 : 2500, runners = 4;
    put_crowd("mail", of_each_kind, 0);
    std::vector<std::string> keys;
    std::vector<tw_durable_job> jobs;
    for (int i = 0; i < of_each_kind; ++i)
        keys.push_back("b" + std::to_string(i));
    for (const std::string &each : keys)
        jobs.push_back(job_of("bill", each.c_str()));
    to.put_many(jobs);

    race of(2 * of_each_kind);
    std::vector<std::unique_ptr<connection>> connections;
    std::vector<std::thread> threads;
    pass(2 * second);
    for (int i = 0; i < runners; ++i)
        connections.push_back(std::make_unique<connection>());
    for (const auto &each : connections) {
        const tw_store_member member = each->join();
        threads.emplace_back([&of, &each, member] { run_in(of, *each, member); });
    }
    for (std::thread &each : threads)
        each.join();
    assert_false(of.is_wrong);
    assert_int_equal(of.left, 0);
    assert_int_equal(to.count(), 0);
}

// Puts and removes jobs of its own, and some that all runners share.
void churn(race &of, connection &by, const std::string &own) {
    for (int i = 0; i < (SLOW ? 50 : 200) && !of.is_wrong; ++i) {
        const std::string mine = own + std::to_string(i), shared = "shared" + std::to_string(i % 7);
        const tw_durable_job jobs[] = {job_of("mail", mine.c_str()), job_of("mail", shared.c_str())};
        tw_store_put puts[2] = {};
        puts[0].job = &jobs[0];
        puts[1].job = &jobs[1];
        const int put = store().put(by.raw(), puts, 2, i % 2, nullptr);
        const int removed = store().remove(by.raw(), "mail", shared.c_str());
        if (put != 0 || puts[0].existed != 0 || (removed != 1 && removed != -ENOENT))
            of.is_wrong = true;
    }
}

TEST(racing_puts_and_removals_are_whole) {
    constexpr int runners = 4;
    race of(0);
    std::vector<std::unique_ptr<connection>> connections;
    std::vector<std::thread> threads;
    for (int i = 0; i < runners; ++i)
        connections.push_back(std::make_unique<connection>());
    for (int i = 0; i < runners; ++i)
        threads.emplace_back([&of, &by = *connections[static_cast<std::size_t>(i)], i] {
            churn(of, by, "runner" + std::to_string(i) + " ");
        });
    for (std::thread &each : threads)
        each.join();
    assert_false(of.is_wrong);
    for (int i = 0; i < 7; ++i)
        connections[0]->remove("mail", "shared" + std::to_string(i));
    assert_int_equal(connections[0]->count(), runners * (SLOW ? 50 : 200));
}

TEST(many_held_jobs_are_released_at_once) {
    constexpr int crowd = SLOW ? 1000 : 5000;
    put_crowd("mail", crowd, minute);
    assert_int_equal(to.claim(who, {"mail"}, 10 * minute, crowd).size(), crowd);
    tw_store_member again = who;
    std::vector<seen> held;
    assert_int_equal(to.resume(again, &held), 0);
    assert_int_equal(held.size(), crowd);
    assert_int_equal(to.leave(again), 0);
    tw_durable_filter pending{};
    pending.states = TW_DURABLE_PENDING;
    assert_int_equal(to.count(pending), crowd);
}

}  // namespace

}  // namespace tickwheel::durable::tests
