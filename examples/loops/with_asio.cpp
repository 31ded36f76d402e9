// Timers in a loop of Asio.
#include <tickwheel/loops/asio.hpp>

#include <asio/io_context.hpp>
#include <chrono>
#include <optional>

#include "story.h"

static asio::io_context *loop;
static std::optional<tickwheel::asio_attachment> timers;

// With the runtime gone, the loop has nothing left to wait for.
static void end() { timers.reset(); }

static void inside() { loop->run_for(std::chrono::milliseconds(30)); }

int main(int argc, char **argv) {  // NOLINT(bugprone-exception-escape)
    tw_runtime *rt = story_begin(argc, argv, end, inside);
    asio::io_context io;
    loop = &io;
    try {
        timers.emplace(io.get_executor(), rt, [](int error) { story_failed(error, nullptr); });
    } catch (const std::system_error &error) {
        story_refused(-error.code().value());
    }
    io.run();
    return story_end();
}
