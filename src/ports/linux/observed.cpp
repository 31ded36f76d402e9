// Explains the lock of this port to race detectors: Helgrind, DRD, and ThreadSanitizer if the program is
// built with it and the library is not.
//
// These tools do not recognise the lock. They would report a race for every timer: between the writes of a
// thread before it arms the timer and the reads of the callback, and between the writes of the callback and
// the reads of a thread that has waited for it.
//
// An observed lock tells the tool which holder came first; for a mutex the tool finds that out by itself. The
// tool still checks the program's own data, and treats as ordered only what the library orders. The library
// hides the words that it accesses atomically outside its locks from Valgrind's tools, which do not
// understand atomics.
//
// Without a tool, this costs a process one query for each lock that it initialises.
#include <cstddef>
#include <cstdint>

#include <tickwheel/port.h>

#if defined(__SANITIZE_THREAD__)
#define TW_SEEN_THROUGH
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TW_SEEN_THROUGH
#endif
#endif

// ThreadSanitizer defines these in a program that is built with it.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
__attribute__((weak)) void __tsan_acquire(void *);
__attribute__((weak)) void __tsan_release(void *);
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
}

namespace {

// --- Valgrind ------------------------------------------------------------------------------

// The numbers of Valgrind's requests (valgrind.h, helgrind.h, drd.h), which never change.
constexpr std::uintptr_t of_tool(char first, char second) {
    return std::uintptr_t{static_cast<unsigned char>(first)} << 24 |
           std::uintptr_t{static_cast<unsigned char>(second)} << 16;
}
enum request : std::uintptr_t {
    running_on_valgrind = 0x1001,
    happens_before = of_tool('H', 'G') + 0x121,  // DRD has these two as well
    happens_after = of_tool('H', 'G') + 0x122,
    hide_from_helgrind = of_tool('H', 'G') + 0x127,
    hide_from_drd = of_tool('D', 'R') + 2,
};

// Sends Valgrind a request by a sequence of instructions that has no effect on a real processor. Returns 0
// without Valgrind. A tool ignores requests that it does not know.
std::uintptr_t ask_valgrind(request what, std::uintptr_t first = 0, std::uintptr_t second = 0) {
    const volatile std::uintptr_t question[6] = {what, first, second, 0, 0, 0};
    std::uintptr_t answer = 0;
#if defined(__x86_64__)
    __asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
                     "xchgq %%rbx, %%rbx"
                     : "=d"(answer)
                     : "a"(question), "0"(answer)
                     : "cc", "memory");
#elif defined(__aarch64__)
    __asm__ volatile("mov x3, %1\n\tmov x4, %2\n\t"
                     "ror x12, x12, #3\n\tror x12, x12, #13\n\tror x12, x12, #51\n\tror x12, x12, #61\n\t"
                     "orr x10, x10, x10\n\tmov %0, x3"
                     : "=r"(answer)
                     : "r"(answer), "r"(question)
                     : "cc", "memory", "x3", "x4");
#else
    static_cast<void>(question);
#endif
    return answer;
}

std::uintptr_t address_of(const void *place) { return reinterpret_cast<std::uintptr_t>(place); }

// --- ThreadSanitizer -----------------------------------------------------------------------

// ThreadSanitizer understands the lock by itself if the library is built with it, too.
bool has_thread_sanitizer() {
#ifdef TW_SEEN_THROUGH
    return false;
#else
    return __tsan_acquire != nullptr && __tsan_release != nullptr;
#endif
}

}  // namespace

int tw_port_is_observed() { return has_thread_sanitizer() || ask_valgrind(running_on_valgrind) != 0 ? 1 : 0; }

void tw_port_lock_observed(std::uint32_t *word) {
    tw_port_lock(word);
    if (has_thread_sanitizer())
        __tsan_acquire(word);
    ask_valgrind(happens_after, address_of(word));
}

void tw_port_unlock_observed(std::uint32_t *word) {
    if (has_thread_sanitizer())
        __tsan_release(word);
    ask_valgrind(happens_before, address_of(word));
    tw_port_unlock(word);
}

void tw_port_hide(const void *from, std::size_t size) {
    ask_valgrind(hide_from_helgrind, address_of(from), size);
    ask_valgrind(hide_from_drd, address_of(from), size);
}
