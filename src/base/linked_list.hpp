// A doubly linked list whose links are members of its elements, `next` and `previous`; the newest
// element is first. The caller holds the lock that guards the list.
#pragma once

namespace tickwheel::base {

template <class T> void link_first(T *&first, T &it) {
    it.previous = nullptr;
    it.next = first;
    if (first != nullptr)
        first->previous = &it;
    first = &it;
}

// Does nothing to an element that is in no list and has null links.
template <class T> void unlink(T *&first, T &it) {
    if (first == &it)
        first = it.next;
    if (it.previous != nullptr)
        it.previous->next = it.next;
    if (it.next != nullptr)
        it.next->previous = it.previous;
}

}  // namespace tickwheel::base
