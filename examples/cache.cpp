// A cache of pages in front of a slow backend, on virtual time.
//
// A page is rendered at its first request and then served for a minute, give or take a tenth, so
// that pages that came together do not expire together. The cache keeps three pages: a fourth one
// evicts the page that was requested least recently. If several requests ask for a page that is not cached,
// the backend renders it once, and all of them wait for it.
#include <tickwheel/tickwheel.hpp>
#include <tickwheel/ttl_map.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

using page_cache = tickwheel::ttl_map<std::string, std::string>;

tickwheel::virtual_runtime rt;  // NOLINT(cert-err58-cpp)

void say(const char *what, const std::string &about) {
    const auto now = std::chrono::duration<double>(rt.now().time_since_epoch());
    std::printf("%5.1f s  %s %s\n", now.count(), what, about.c_str());
}

std::string render(const std::string &path) {
    if (path == "/broken")
        throw std::runtime_error("no such template");
    say("rendered", path);
    return "<h1>" + path + "</h1>";
}

void request(page_cache &pages, const std::string &path) {
    try {
        pages.get_or_load(path, render);
        say("served  ", path);
    } catch (const std::runtime_error &e) {
        say("failed  ", path + ": " + e.what());
    }
}

page_cache::options settings() {
    page_cache::options o;
    o.ttl = 60s;
    o.jitter = 0.1;
    o.max_size = 3;
    o.seed = 1;  // the same times in every run; not for real programs
    o.on_expire = [](const std::string &path, const std::string &) { say("expired ", path); };
    o.on_evict = [](const std::string &path, const std::string &) { say("evicted ", path); };
    return o;
}

// Eight threads request one page at once. The backend answers when all threads have asked.
void crowd(page_cache &pages) {
    const std::uint64_t before = pages.stats().misses;
    const auto slowly = [&](const std::string &path) {
        while (pages.stats().misses < before + 8)
            std::this_thread::yield();
        return render(path);
    };
    std::atomic<int> served{0};
    std::vector<std::thread> visitors;
    visitors.reserve(8);
    for (int i = 0; i < 8; ++i)
        visitors.emplace_back([&] { served += pages.get_or_load("/news", slowly) == "<h1>/news</h1>"; });
    for (std::thread &each : visitors)
        each.join();
    say("served  ", "/news, to " + std::to_string(served) + " at once");
}

}  // namespace

int main() {  // NOLINT(bugprone-exception-escape)
    page_cache pages(rt, settings());
    request(pages, "/");
    rt.advance(10s);
    request(pages, "/about");
    request(pages, "/");  // from the cache, and now used later than /about
    request(pages, "/broken");
    request(pages, "/contact");
    rt.advance(5s);
    crowd(pages);  // the fourth page

    pages.erase("/contact");  // the page was edited
    request(pages, "/contact");
    rt.advance(2min);

    const tickwheel::ttl_map_stats seen = pages.stats();
    std::printf("%d hits, %d misses, %d rendered of which %d failed, %d expired, %d evicted, %d left\n",
                static_cast<int>(seen.hits), static_cast<int>(seen.misses), static_cast<int>(seen.loads),
                static_cast<int>(seen.load_failures), static_cast<int>(seen.expired),
                static_cast<int>(seen.evicted), static_cast<int>(seen.size));
}
