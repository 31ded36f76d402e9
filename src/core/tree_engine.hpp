// The engine for small parts: a tree without slots.
//
// The nodes of one tick form a ring, in the order of arming. The head of the ring, its first node, stands in
// a binary tree. The tree is a heap by tick: no node is earlier than the one above it, so the earliest is at
// the top. On the way down, the bits of a tick select the side, the lowest bit first. So the tree never has
// more levels than a tick has bits, and needs no balancing; and the tick alone leads from the top to a node,
// so nodes need no pointer to the one above.
#pragma once

#include "bounds.hpp"
#include "cancel_all_calls.hpp"
#include "errors.hpp"
#include "features.hpp"
#include "ring.hpp"
#include "tick.hpp"
#include "wheel_state.hpp"

namespace tickwheel::core {
namespace {

struct test_access;  // defined by unit tests, which break invariants to see them reported

class tree_checker;

// Invariants. tree_checker.hpp checks what a snapshot can show.
//
//   T1  cursor <= now, which is at most `farthest` ahead of the cursor. No key in the tree is
//       before the cursor.
//   T2  The key of a node is its tick, or the cursor at the time of placing if that was later.
//   T3  The lowest d bits of the key of a node d levels down are the sides of the way there. The
//       node is later than the node above it. No two nodes in a tree have the same key.
//   T4  A ring has all nodes of one key, in the order of arming (P3). A node behind the head has
//       itself as child[0].
class tree_engine : public wheel_state {
  public:
    std::size_t timers() const { return count; }

    void init() {}

    // Moves `now` and the cursor to t. REQUIRES: there is nothing to do up to t
    void go_to(tick t) { now = cursor_ = t; }

    // --- placing -------------------------------------------------------------------------------

    // Places a node by its tick, behind all others of that tick. The node goes down past all earlier ones,
    // and takes the place of the first later one. The displaced node takes the place of the next node on its
    // own way down, and so on: no comparison is needed there, because each of these nodes is later than the
    // one above it.
    TW_ONE_COPY void place(tw_node &node) {
        node.key = before_seen_from(now, node.expiry, cursor_) ? cursor_ : node.expiry;
        make_empty(node.link);
        tw_node **at = &top_;
        tick bit = 1;
        for (; *at != nullptr && is_earlier(**at, node); bit <<= 1)
            at = child_towards(**at, node, bit);
        tw_node *later = *at;
        if (later != nullptr && later->key == node.key) {
            append(later->link, node.link);
            node.child[0] = &node;
            return;
        }
        *at = &node;
        tw_node *placed = &node;
        for (; later != nullptr; bit <<= 1) {
            tw_node *const left = later->child[0];
            tw_node *const right = later->child[1];
            placed->child[0] = left;
            placed->child[1] = right;
            at = child_towards(*placed, *later, bit);
            placed = later;
            later = *at;
            *at = placed;
        }
        placed->child[0] = placed->child[1] = nullptr;
    }

    // Takes a node out. The next node of its ring takes its place; if there is none, the earlier of the two
    // nodes below does, whose place must then be filled from below in the same way, and so on.
    TW_ONE_COPY void take(tw_node &node) {
        tw_node *up = &node_of(behind(node.link));
        unlink(node.link);
        tw_node *left = node.child[0];
        if (left == &node)
            return;  // the node stood behind a head (T4)
        tw_node *right = node.child[1];
        tw_node **at = place_of(node);
        if (up != &node) {
            *at = up;
            up->child[0] = left;
            up->child[1] = right;
            return;
        }
        for (;;) {
            const unsigned side = is_right_first(left, right) ? 1 : 0;
            up = side != 0 ? right : left;
            *at = up;
            if (up == nullptr)
                return;
            at = &up->child[side];
            tw_node *const below_left = up->child[0];
            tw_node *const below_right = up->child[1];
            up->child[0] = left;
            up->child[1] = right;
            left = below_left;
            right = below_right;
        }
    }

    static void check_in_walk([[maybe_unused]] const tw_node &node) {}  // take compares the links of a ring

    // --- advancing -----------------------------------------------------------------------------

    // True if the wheel can advance to this tick. Time never runs backwards, and if ticks wrap, the oldest
    // tick with work left must stay less than half of the range behind.
    bool can_go_to(tick t) const {
        return !before(t, now) && !(wraps && count != 0 && t - cursor_ > farthest);
    }

    // The common case, a tick with nothing to do: moves to t and returns true.
    TW_INLINE_IF_SMALL bool pass_quietly(tick t) {
        const bool is_quiet = top_ != nullptr ? before_seen_from(now, t, top_->key) : is_tick(t);
        if (!is_quiet || advancing)
            return false;
        go_to(t);
        return true;
    }

    // Sets `now` to t. REQUIRES: can_go_to(t)
    void begin_advance(tick t) {
        TW_ASSERT(can_go_to(t));
        now = t;
    }

    // Returns the next step towards `now`, and moves the cursor there.
    TW_INLINE_IF_SMALL next_step look() {
        if (!is_due_by(now)) {
            cursor_ = now;
            return next_step::none;
        }
        cursor_ = top_->key;
        return next_step::fire;
    }

    // The due node. REQUIRES: look() has just found it
    tw_node &due_node() { return *top_; }

    // Placed nodes never move. The compiler removes the calls of these functions, but needs their
    // declarations.

    // NOLINTNEXTLINE(readability-convert-member-functions-to-static): those of the other engine are not
    std::uint32_t move_some([[maybe_unused]] std::uint32_t most) const { return 0; }  // GCOVR_EXCL_LINE
    // NOLINTNEXTLINE(readability-convert-member-functions-to-static)
    std::uint32_t begin_share() const { return 1; }
    // NOLINTNEXTLINE(readability-convert-member-functions-to-static)
    std::uint32_t look_ahead([[maybe_unused]] std::uint32_t most) const { return 0; }
    void end_share() const {}
    void begin_idle() const {}

    // --- the next tick -------------------------------------------------------------------------

    // The earliest tick that needs attention; `never` if nothing is pending.
    tick next() const {
        return top_ == nullptr ? never : as_answer(before(now, top_->key) ? top_->key : now);
    }

    // A node that fires first; null if nothing is pending.
    tw_node *first([[maybe_unused]] std::uint32_t looks) const { return top_; }

    // The cheapest tick in [first, last] for a node that may fire at any of them: the earliest tick at which
    // a node fires anyway, if it is in the range; otherwise the roundest, which other nodes choose, too.
    tick cheapest(tick first, tick last) const {
        if (top_ != nullptr && !before(top_->key, first) && !before(last, top_->key))
            return top_->key;
        return roundest(first, last);
    }

    // --- cancel_all ------------------------------------------------------------------------------

    // Moves all nodes to a tree of the call's own.
    void begin_cancel_all(cancel_all_call &own) {
        under_way_.add(own);
        own.top = top_;
        top_ = nullptr;
    }

    // The earliest node that the oldest call with nodes has not handed out yet; null if there is none.
    tw_node *next_leaving() {
        tw_node *found = nullptr;
        for (cancel_all_call *each = under_way_.first(); each != nullptr; each = each->next)
            if (each->top != nullptr)
                found = each->top;
        return found;
    }

    void end_cancel_all(const cancel_all_call &own) { under_way_.remove(own); }

    const cancel_all_call *first_cancel_all() const { return under_way_.first(); }

  private:
    friend class tree_checker;
    friend struct test_access;

    bool is_earlier(const tw_node &one, const tw_node &other) const {
        return before_seen_from(now, one.key, other.key);
    }

    // The pointer that leads from `from` towards `node`.
    static tw_node **child_towards(tw_node &from, const tw_node &node, tick bit) {
        tw_node **const left = from.child;
        return (node.key & bit) != 0 ? left + 1 : left;
    }

    // True if the right node must go up, because it is the only one or the earlier one.
    bool is_right_first(const tw_node *left, const tw_node *right) const {
        return left == nullptr || (right != nullptr && is_earlier(*right, *left));
    }

    // The pointer that leads to a head, in the tree of the wheel or of a cancel_all.
    tw_node **place_of(const tw_node &head) {
        cancel_all_call *next = is_small ? nullptr : under_way_.first();
        tw_node **at = &top_;
        tick way = head.key;
        while (*at != &head) {
            if (!is_small && *at == nullptr) {  // the head is not in this tree
                at = &next->top;
                next = next->next;
                way = head.key;
            } else {
                at = &(*at)->child[way & 1];
                way >>= 1;
            }
        }
        return at;
    }

    TW_INLINE_IF_SMALL bool is_due_by(tick t) const { return top_ != nullptr && !before(t, top_->key); }

    tick cursor_;
    tw_node *top_;  // the earliest; null: there is none
    cancel_all_calls under_way_;
};

}  // namespace
}  // namespace tickwheel::core
