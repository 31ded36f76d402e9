// The messages of a checking build: the error, then a line for each known fact. Any thread; nothing here uses
// stdio or the heap.
#include "report.hpp"

#include <dlfcn.h>
#include <elf.h>

#include <atomic>
#include <cstdlib>

#include <tickwheel/port.h>

#include "base/kept_errno.hpp"
#include "node_table.hpp"

namespace tickwheel::check {

namespace {

#ifdef __GLIBC__
__attribute__((tls_model("initial-exec")))
#endif
constinit thread_local const void *caller = nullptr;  // return address of this thread's outermost call

constinit std::atomic<tw_port_label_text *> text_of_label{nullptr};  // null until a runtime is made

// The text of a node's label; null if it has none or the text is unknown.
const char *label_of(const watched_node &watched) {
    const unsigned label = watched.seen.missed_and_label >> TW_MISSED_BITS;
    const auto text_of = text_of_label.load(std::memory_order_acquire);
    return label != 0 && text_of != nullptr ? text_of(wheel_of(watched.seen, watched.node), label) : nullptr;
}

}  // namespace

// The return address points after the call instruction.
const void *call_before(const void *address) {
    return address != nullptr ? static_cast<const char *>(address) - 1 : nullptr;
}

// Adds the address that addr2line takes, which in a relocatable program or library is relative to the load
// address.
void add_code(base::message &said, const char *what, const void *code) {
    Dl_info in = {};
    if (code == nullptr)
        return;
    said.add("  ");
    said.add(what);
    said.add(" ");
    if (dladdr(code, &in) != 0 && in.dli_fbase != nullptr) {
        if (in.dli_sname != nullptr) {
            said.add(in.dli_sname);
            said.add(" ");
        }
        const auto base = reinterpret_cast<std::uintptr_t>(in.dli_fbase);
        const bool is_fixed = reinterpret_cast<const Elf64_Ehdr *>(in.dli_fbase)->e_type == ET_EXEC;
        said.add("(");
        said.add(in.dli_fname);
        said.add(" 0x");
        said.add(reinterpret_cast<std::uintptr_t>(code) - (is_fixed ? 0 : base), 16);
        said.add(")");
    } else {
        said.add_address(code);
    }
    said.add("\n");
}

void add_what_is_known(base::message &said, const void *node) {
    const watched_node *const watched = find(static_cast<const tw_node *>(node));
    if (watched != nullptr) {
        if (const char *const label = label_of(*watched); label != nullptr) {
            said.add("  its label is \"");
            said.add(label);
            said.add("\"\n");
        }
        add_code(said, "its callback is", reinterpret_cast<const void *>(watched->seen.fn));
        add_code(said, "it was armed in", call_before(watched->armed_by));
        said.add("  and due at tick ");
        said.add(static_cast<std::uintptr_t>(watched->seen.expiry), 10);
        said.add("\n");
    }
    add_code(said, "this was found in the call from", call_before(caller));
}

static void add_facts(base::message &said, const char *wrong, const void *runtime, const tw_port_fact *facts,
                      std::size_t count) {
    said.add("tickwheel: runtime ");
    said.add_address(runtime);
    said.add(": ");
    said.add(wrong);
    said.add("\n");
    for (std::size_t i = 0; i < count; ++i)
        add_code(said, facts[i].what, call_before(facts[i].code));
    said.write();
}

}  // namespace tickwheel::check

using namespace tickwheel;
using namespace tickwheel::check;

// Replaces the function in tell.cpp.
void tw_port_tell(const char *broken, const void *node, unsigned state) {
    base::message said;
    said.add("tickwheel: ");
    if (node != nullptr)
        add_node(said, node, state);
    said.add(broken);
    said.add("\n");
    add_what_is_known(said, node);
    said.write();
    std::abort();
}

void tw_port_check_labels(tw_port_label_text *text_of) {
    text_of_label.store(text_of, std::memory_order_release);
}

const void *tw_port_check_enter(const void *address) {
    const void *const former = caller;
    if (former == nullptr)
        caller = address;
    return former;
}
void tw_port_check_leave(const void *const *former) { caller = *former; }
const void *tw_port_check_caller() { return caller; }

void tw_port_check_warn(const char *wrong, const void *runtime, const tw_port_fact *facts,
                        std::size_t count) {
    const base::kept_errno kept;
    base::message said;
    add_facts(said, wrong, runtime, facts, count);
}

void tw_port_check_stop(const char *wrong, const void *runtime, const tw_port_fact *facts,
                        std::size_t count) {
    base::message said;
    add_facts(said, wrong, runtime, facts, count);
    std::abort();
}
