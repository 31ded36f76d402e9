// See labels.hpp. The texts are published one after the other and never change, so a search needs no lock.
#include "labels.hpp"

#include "core/door.h"

namespace tickwheel::runtime {

namespace {

// The number of the first label whose text matches; 0 if there is none.
template <class Matches> unsigned find(const tw_runtime &rt, Matches matches) {
    const unsigned count = rt.label_count.load(std::memory_order_acquire);
    for (unsigned i = 1; i <= count; ++i)
        if (matches(label_text(rt, i)))
            return i;
    return 0;
}

// Most callers always pass the same pointer, so the first search compares no texts.
unsigned search(const tw_runtime &rt, const char *text) {
    const unsigned same = find(rt, [text](const char *each) { return each == text; });
    return same != 0 ? same : find(rt, [text](const char *each) { return std::strcmp(each, text) == 0; });
}

}  // namespace

unsigned label_number(tw_runtime &rt, const char *text) {
    if (text == nullptr)
        return 0;
    if (const unsigned known = search(rt, text); known != 0)
        return known;
    const base::mutex_hold hold(&rt.components_mutex);
    if (const unsigned meanwhile = search(rt, text); meanwhile != 0)
        return meanwhile;
    const unsigned count = rt.label_count.load(std::memory_order_relaxed);
    if (count == other_labels - 1)
        return other_labels;
    rt.label_texts[count + 1].store(text, std::memory_order_relaxed);
    rt.label_count.store(count + 1, std::memory_order_release);
    return count + 1;
}

const char *label_text(const tw_runtime &rt, unsigned number) {
    if (number == other_labels)
        return "(other labels)";
    return number == 0 ? nullptr : rt.label_texts[number].load(std::memory_order_relaxed);
}

// Checks the node first, so that a refused call uses up no number.
int label_node(tw_runtime &rt, tw_node *node, const char *text) {
    const int error = tw_core_label(node, 0);
    return error != 0 ? error : tw_core_label(node, label_number(rt, text));
}

std::uint64_t cancels(tw_runtime &rt, unsigned number) {
    std::uint64_t sum = 0;
    for_each_wheel(rt, [&](tw &wheel) { sum += tw_core_cancelled(&wheel, number); });
    return sum;
}

}  // namespace tickwheel::runtime
