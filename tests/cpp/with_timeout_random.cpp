// Nested deadlines, sleeping work, stops and destruction in random order, beside an oracle that says what
// each coroutine returns and when. TW_SEED=... repeats a run.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <stop_token>
#include <string>
#include <vector>

#include "support.hpp"
#include "tasks.hpp"

namespace {

using std::chrono::milliseconds;
using tickwheel::virtual_runtime;

constexpr int depth = 3;
constexpr int longest = 60;  // so short that many things meet on one tick

// How one coroutine ended. `level` is that of the deadline that was up, the outermost being 0.
struct ending {
    enum how { worked, stopped, failed, timed_out } how;
    int level;
    int at;
    bool operator==(const ending &) const = default;
};
std::ostream &operator<<(std::ostream &out, const ending &e) {
    return out << "how " << e.how << ", level " << e.level << ", at " << e.at;
}

// What a coroutine is to do, in milliseconds from the beginning.
struct plan {
    std::array<int, depth> limits;
    int work;
    bool throws;    // at the end of its work
    int stop;       // a stop is requested then; never, if after `longest`
    int destroyed;  // likewise

    // A stop or the destruction comes when the tick's timers have fired. Of deadlines on one tick the
    // outermost was armed first, and all of them before the work's own sleep.
    std::optional<ending> expected() const {
        const auto limit = std::min_element(limits.begin(), limits.end());
        const int end = std::min({*limit, work, stop});
        if (destroyed < end || (destroyed == end && stop == end && *limit > end && work > end))
            return std::nullopt;
        if (*limit == end)
            return throws ? ending{ending::failed, 0, end}
                          : ending{ending::timed_out, static_cast<int>(limit - limits.begin()), end};
        return ending{throws ? ending::failed : work == end ? ending::worked : ending::stopped, 0, end};
    }
};

class world {
  public:
    explicit world(unsigned seed) : random_(seed) {}

    void play() {
        std::vector<std::unique_ptr<life>> lives;
        for (int i = 0; i < 50; ++i) {
            lives.push_back(std::make_unique<life>(make_plan()));
            lives.back()->frame.emplace(run(*lives.back()));
        }
        for (int now = 0; now <= 2 * longest; ++now) {
            rt_.advance(now == 0 ? 0ms : 1ms);
            std::shuffle(lives.begin(), lives.end(), random_);
            for (const auto &each : lives)
                if (each->what.stop == now)
                    each->source.request_stop();
            for (const auto &each : lives)
                if (each->what.destroyed == now)
                    each->frame.reset();
        }
        for (const auto &each : lives) {
            EXPECT_EQ(each->ended, each->what.expected()) << describe(each->what);
            EXPECT_EQ(each->begun, 1);
            each->frame.reset();
            EXPECT_EQ(each->gone, 2) << describe(each->what);  // the outer frame, and the innermost work
        }
        EXPECT_EQ(tw_runtime_count(rt_.native()), 0U);
    }

  private:
    struct life {
        explicit life(const plan &of) : what(of) {}
        const plan what;
        std::stop_source source;
        std::optional<ending> ended;
        int begun = 0, gone = 0;
        std::optional<job> frame;  // destroyed first
    };

    int now() const { return static_cast<int>(rt_.now().time_since_epoch() / 1ms); }
    int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
    plan make_plan() {
        plan p{};
        for (int &limit : p.limits)
            limit = 1 + pick(longest);
        p.work = 1 + pick(longest);
        p.throws = pick(4) == 0;
        p.stop = pick(2) == 0 ? pick(longest) : 3 * longest;
        p.destroyed = pick(3) == 0 ? pick(longest) : 3 * longest;
        return p;
    }
    static std::string describe(const plan &p) {
        std::ostringstream text;
        for (const int limit : p.limits)
            text << "limit " << limit << ", ";
        text << "work " << p.work << (p.throws ? " throws" : "") << ", stop " << p.stop << ", destroyed "
             << p.destroyed;
        return text.str();
    }

    lazy<bool> work(life &of, std::stop_token stop) {
        const farewell local(of.gone);
        ++of.begun;
        const bool slept = co_await rt_.sleep_for(milliseconds(of.what.work), stop);
        if (of.what.throws)
            throw std::system_error(std::make_error_code(std::errc::io_error));
        co_return slept;
    }

    // The inner deadlines as coroutines of their own. Returns the level that was up, or `depth`.
    lazy<int> level(life &of, int number, std::stop_token stop, bool &slept) {
        const milliseconds limit(of.what.limits.at(static_cast<std::size_t>(number)));
        if (number == depth - 1) {
            const auto result = co_await rt_.with_timeout(
                limit, [&](std::stop_token inner) { return work(of, inner); }, stop);
            slept = result.value_or(false);
            co_return result ? depth : number;
        }
        const auto up = co_await rt_.with_timeout(
            limit, [&](std::stop_token inner) { return level(of, number + 1, inner, slept); }, stop);
        co_return up.value_or(number);
    }

    job run(life &of) {
        const farewell local(of.gone);
        bool slept = false;
        try {
            const int up = co_await level(of, 0, of.source.get_token(), slept);
            of.ended = up < depth ? ending{ending::timed_out, up, now()}
                                  : ending{slept ? ending::worked : ending::stopped, 0, now()};
        } catch (const std::system_error &) {
            of.ended = ending{ending::failed, 0, now()};
        }
    }

    virtual_runtime rt_;
    std::minstd_rand random_;
};

TEST(WithTimeoutRandom, EndsAsTheOracleSays) {
    const char *const given = std::getenv("TW_SEED");
    const unsigned seed = given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 0)) : 1;
    for (unsigned i = 0; i < 200 && !testing::Test::HasFailure(); ++i) {
        SCOPED_TRACE("TW_SEED=" + std::to_string(seed + i));
        world(seed + i).play();
    }
}

}  // namespace
