// The log of a process of these tests: one line of JSON for each event. One write appends each line, so that
// a kill -9 leaves only whole lines.
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace processes {

// Reads the machine's true clock. Some processes run under libfaketime, which replaces clock_gettime.
inline std::int64_t true_clock(clockid_t clock) {
    static const auto read = [] {
        void *const libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
        void *const found = libc != nullptr ? dlsym(libc, "clock_gettime") : nullptr;
        return found != nullptr ? reinterpret_cast<int (*)(clockid_t, timespec *)>(found) : clock_gettime;
    }();
    timespec now{};
    read(clock, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

// The time of an event, by both clocks.
struct moment {
    std::int64_t boot = true_clock(CLOCK_BOOTTIME), real = true_clock(CLOCK_REALTIME);
};

class log {
  public:
    explicit log(const char *path) : file_(open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
        if (file_ < 0) {
            std::perror(path);
            std::exit(2);
        }
    }
    log(const log &) = delete;
    log &operator=(const log &) = delete;
    ~log() { close(file_); }

    // `fields` formats the inside of a JSON object.
    __attribute__((format(printf, 4, 5))) void write(const char *what, const moment &at, const char *fields,
                                                     ...) const {
        char line[1024];
        int size = std::snprintf(line, sizeof line, R"({"what":"%s","boot":%lld,"real":%lld)", what,
                                 static_cast<long long>(at.boot), static_cast<long long>(at.real));
        line[size++] = ',';
        va_list values;
        va_start(values, fields);
        const auto room = sizeof line - static_cast<std::size_t>(size) - 2;
        const int more = std::vsnprintf(line + size, room, fields, values);
        va_end(values);
        size += more < static_cast<int>(room) ? more : static_cast<int>(room) - 1;
        line[size++] = '}';
        line[size++] = '\n';
        if (::write(file_, line, static_cast<std::size_t>(size)) != size)
            std::abort();
    }

  private:
    int file_;
};

}  // namespace processes
