// Walks a whole tree and reports each broken invariant; see tree_engine.hpp. For tests, and for programs that
// suspect memory corruption.
#pragma once

#include "api_guard.hpp"
#include "broken.hpp"
#include "tree_engine.hpp"

namespace tickwheel::core {
namespace {

class tree_checker : private broken_invariants {
  public:
    tree_checker(const tree_engine &w, const tw *owner, tw_report *report, void *arg)
        : broken_invariants(report, arg), w_(w), owner_(owner) {}

    int run() {
        expect(is_tick(w_.now), "now is a tick");
        expect(!before(w_.now, w_.cursor_), "the cursor is not ahead of now");
        expect(w_.top_ == nullptr || !is_earlier(w_.top_->key, w_.cursor_), "no key is before the cursor",
               w_.top_);
        check_tree(w_.top_);
        for (const cancel_all_call *each = w_.first_cancel_all(); each != nullptr; each = each->next)
            check_tree(each->top);
        expect(found_ == w_.count, "count is the number of pending nodes");
        return count();
    }

  private:
    // A tree has at most as many levels as a tick has bits. A node on one more level would be 2^bits - 1
    // ticks later than the top, because each node above it is earlier and has one bit less in common with it;
    // no two ticks are that far apart.
    static constexpr unsigned most_levels = 8 * sizeof(tick);

    bool is_earlier(tick one, tick other) const { return before_seen_from(w_.now, one, other); }

    // Walks a tree from one side to the other: down on side 0; at each end back up to the last node that it
    // left on side 0, and down on that node's side 1.
    void check_tree(const tw_node *top) {
        unsigned depth = 0;
        tick way = 0;  // bit d: the side on which path_[d] was left
        const tw_node *node = top;
        for (;;) {
            while (node != nullptr &&
                   check_head(*node, depth == 0 ? nullptr : path_[depth - 1], depth, way)) {
                path_[depth++] = node;
                node = node->child[0];
            }
            while (depth != 0 && (way >> (depth - 1) & 1) != 0)
                way &= ~(tick{1} << --depth);
            if (depth == 0)
                return;
            way |= tick{1} << (depth - 1);
            node = path_[depth - 1]->child[1];
        }
    }

    // Checks the nodes of a ring. Returns false if the walk must not go on to the nodes below its head.
    bool check_head(const tw_node &head, const tw_node *above, unsigned depth, tick way) {
        if (depth == most_levels || found_ > w_.count) {
            expect(false, "the tree has an end", &head);
            return false;
        }
        const tick lowest = (tick{1} << depth) - 1;
        expect(((head.key ^ way) & lowest) == 0, "a node stands where the bits of its key lead", &head);
        expect(above == nullptr || is_earlier(above->key, head.key), "a node is later than the one above it",
               &head);
        check_node(head, head);
        const tw_link *last = &head.link;
        for (const tw_link *link = last->next; link != &head.link; link = link->next) {
            if (link == nullptr || link->prev != last) {
                expect(false, "the links of a ring agree",
                       link == nullptr ? &node_of(*last) : &node_of(*link));
                return false;
            }
            last = link;
            check_node(node_of(*link), head);
            expect(node_of(*link).child[0] == &node_of(*link), "the head of a ring alone stands in the tree",
                   &node_of(*link));
        }
        expect(head.link.prev == last, "the links of a ring agree", &head);
        return true;
    }

    void check_node(const tw_node &node, const tw_node &head) {
        ++found_;
        expect(node.state == TW_PENDING, "a node in a ring is pending", &node);
        expect(names(node, owner_), "a pending node names its wheel", &node);
        expect(node.fn != nullptr, "a pending node has a callback", &node);
        expect(is_tick(node.expiry), "a pending node has a tick", &node);
        expect(node.key == head.key, "the nodes of a ring have one key", &node);
        expect(is_tick(node.key) && (wraps || node.key >= node.expiry),
               "a key is a tick, that of the node or a later one", &node);
    }

    const tree_engine &w_;
    const tw *owner_;
    std::size_t found_ = 0;
    const tw_node *path_[most_levels] = {};  // from the top down
};

inline int check(const tree_engine &w, const tw *owner, tw_report *report, void *arg) {
    return tree_checker(w, owner, report, arg).run();
}

}  // namespace
}  // namespace tickwheel::core
