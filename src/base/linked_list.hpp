// A doubly linked list through the members `next` and `previous` of its elements; the newest element is
// first. The caller holds the lock that guards the list.
#pragma once

namespace tickwheel::base {

template <class T> void link_first(T *&first, T &element) {
    element.previous = nullptr;
    element.next = first;
    if (first != nullptr)
        first->previous = &element;
    first = &element;
}

// Does nothing if the element is in no list and its links are null.
template <class T> void unlink(T *&first, T &element) {
    if (first == &element)
        first = element.next;
    if (element.previous != nullptr)
        element.previous->next = element.next;
    if (element.next != nullptr)
        element.next->previous = element.previous;
}

}  // namespace tickwheel::base
