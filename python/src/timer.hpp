// A timer of Python: a node of the wheel inside a Python object, and the wheel that owns the node.
//
// The GIL is the only lock. Every function here holds it, so the wheel is TW_UNLOCKED, and the answer of a
// cancel is exact: no fire is under way that the caller cannot see.
//
// References: a pending timer is referenced by its wheel, a timer always references its wheel. The garbage
// collector sees both, so a wheel that is forgotten with its timers is collected.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "tickwheel.h"

namespace {

// --- time ------------------------------------------------------------------------------------

// A tick is a microsecond: finer ticks would cost each timer more moves on the wheel before it fires.
constexpr int64_t tick_ns = 1000;
constexpr int64_t never = INT64_MAX / tick_ns * tick_ns;  // not reached; a whole number of ticks

int64_t monotonic() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

double seconds_of(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

// The tick that a deadline rounds up to, and the tick of a reading.
tw_tick tick_of(int64_t ns) { return static_cast<tw_tick>(ns / tick_ns + (ns % tick_ns != 0)); }
tw_tick reached_at(int64_t ns) { return static_cast<tw_tick>(ns / tick_ns); }

bool comes(tw_tick tick) { return tick < reached_at(never); }

// Converts to the nearest nanosecond, because 0.067 is a little more than 67 ms. A time that is too long
// never comes. Not for NaN.
int64_t nanoseconds_of(double seconds) {
    const double ns = seconds * 1e9;
    return ns >= static_cast<double>(never) ? never : ns <= 0 ? 0 : static_cast<int64_t>(llrint(ns));
}

int64_t later_by(int64_t now, int64_t ns) { return ns >= never - now ? never : now + ns; }

// Reads a number of seconds. Returns false with an exception.
bool read_seconds(PyObject *number, double &seconds) {
    if (PyFloat_CheckExact(number)) {
        seconds = PyFloat_AS_DOUBLE(number);
    } else {
        seconds = PyFloat_AsDouble(number);
        if (seconds == -1 && PyErr_Occurred())
            return false;
    }
    if (seconds != seconds) {
        PyErr_SetString(PyExc_ValueError, "a number of seconds is needed, not NaN");
        return false;
    }
    return true;
}

// --- tables of types ---------------------------------------------------------------------------

template <class Function> void *slot(Function *function) { return reinterpret_cast<void *>(function); }

template <class Function> PyCFunction method(Function *function) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

// --- objects ---------------------------------------------------------------------------------

struct timer;

// What TimerWheel and the event loop share.
struct owner {
    PyObject base;
    tw wheel;
    PyTypeObject *type_of_timers;
    bool closed;
};

struct timer {
    PyVarObject base;  // its size is the number of arguments
    tw_node node;
    owner *wheel;
    PyObject *weak_references;
    PyObject *callback;  // null: a handle that was cancelled
    PyObject *context;   // of a handle; null for a Timer
    PyObject *trace;     // in debug mode, where a handle was made
    PyObject *text;      // in debug mode, what a handle was before it was cancelled
    int64_t due_ns;
    int64_t period_ns;  // 0: once
    double when;        // of a handle: the due time as the caller gave it
    bool cancelled;     // of a handle
    bool runs;          // a cancel leaves the callback and its arguments to the call that uses them
    PyObject *arguments[1];
};

timer *timer_of(tw_node *node) {
    return reinterpret_cast<timer *>(reinterpret_cast<char *>(node) - offsetof(timer, node));
}

timer *timer_at(PyObject *self) { return reinterpret_cast<timer *>(self); }
PyObject *object_of(timer *each) { return &each->base.ob_base; }

// The wheel needs a function for each node, but hands out fires instead of calling it.
void unused(tw_node *, void *) {}

timer *make_timer(owner *wheel, PyObject *callback, PyObject *const *arguments, Py_ssize_t count) {
    timer *made = PyObject_GC_NewVar(timer, wheel->type_of_timers, count);
    if (made == nullptr)
        return nullptr;
    tw_node_init(&made->node, unused, nullptr);
    made->wheel = reinterpret_cast<owner *>(Py_NewRef(&wheel->base));
    made->weak_references = nullptr;
    made->callback = Py_NewRef(callback);
    made->context = made->trace = made->text = nullptr;
    made->period_ns = 0;
    made->cancelled = made->runs = false;
    for (Py_ssize_t n = 0; n < count; ++n)
        made->arguments[n] = Py_NewRef(arguments[n]);
    PyObject_GC_Track(made);
    return made;
}

int traverse_timer(PyObject *self, visitproc visit, void *arg) {
    timer *each = timer_at(self);
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(reinterpret_cast<PyObject *>(each->wheel));
    Py_VISIT(each->callback);
    Py_VISIT(each->context);
    Py_VISIT(each->trace);
    for (Py_ssize_t n = 0; n < Py_SIZE(self); ++n)
        Py_VISIT(each->arguments[n]);
    return 0;
}

void drop_callback(timer *each) {
    Py_CLEAR(each->callback);
    for (Py_ssize_t n = 0; n < Py_SIZE(object_of(each)); ++n)
        Py_CLEAR(each->arguments[n]);
}

int clear_timer(PyObject *self) {
    timer *each = timer_at(self);
    drop_callback(each);
    Py_CLEAR(each->context);
    Py_CLEAR(each->trace);
    return 0;
}

// A pending timer has a reference, so this one is idle.
void free_timer(PyObject *self) {
    timer *each = timer_at(self);
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    // A timer may be an argument of the next one, and so on: the trashcan bounds the depth of the stack.
    Py_TRASHCAN_BEGIN(self, free_timer);
    if (each->weak_references != nullptr)
        PyObject_ClearWeakRefs(self);
    clear_timer(self);
    Py_CLEAR(each->text);
    Py_DECREF(&each->wheel->base);
    PyObject_GC_Del(self);
    Py_DECREF(type);
    Py_TRASHCAN_END;
}

// Calls the callback of a timer. The caller holds a reference to the timer.
PyObject *call(timer *each) {
    each->runs = true;
    PyObject *result = PyObject_Vectorcall(each->callback, each->arguments,
                                           static_cast<size_t>(Py_SIZE(object_of(each))), nullptr);
    each->runs = false;
    return result;
}

// Whether the exception that a callback left with ends the call that drives the timers.
bool ends_driving() {
    return PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) || PyErr_ExceptionMatches(PyExc_SystemExit);
}

// Takes a timer off the wheel. Returns true if that prevented a fire.
bool take_off(timer *each) {
    if (tw_cancel(&each->wheel->wheel, &each->node) != 1)
        return false;
    Py_DECREF(object_of(each));  // the wheel's reference; the caller has another one
    return true;
}

bool is_pending(timer *each) { return tw_pending(&each->wheel->wheel, &each->node) == 1; }

// repr() is seldom called, so the owner describes its timers in Python.
PyObject *describe(PyObject *self) {
    timer *each = timer_at(self);
    if (each->text != nullptr)
        return Py_NewRef(each->text);
    return PyObject_CallMethod(&each->wheel->base, "_describe", "O", self);
}

PyObject *callback_of(PyObject *self, void *) {
    timer *each = timer_at(self);
    return Py_NewRef(each->callback != nullptr ? each->callback : Py_None);
}

PyObject *arguments_of(PyObject *self, void *) {
    timer *each = timer_at(self);
    if (each->callback == nullptr)
        Py_RETURN_NONE;
    const Py_ssize_t count = Py_SIZE(self);
    PyObject *result = PyTuple_New(count);
    for (Py_ssize_t n = 0; result != nullptr && n < count; ++n)
        PyTuple_SET_ITEM(result, n, Py_NewRef(each->arguments[n]));
    return result;
}

// --- the owner -------------------------------------------------------------------------------

// Visits all pending timers; nothing changes on the wheel meanwhile.
template <class Visit> int visit_pending(owner *wheel, Visit visit) {
    tw_walk walk = {};
    while (tw_node *node = tw_walk_next(&wheel->wheel, &walk)) {
        if (const int result = visit(timer_of(node)); result != 0) {
            tw_walk_end(&wheel->wheel, &walk);
            return result;
        }
    }
    return 0;
}

int traverse_owner(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    return visit_pending(reinterpret_cast<owner *>(self),
                         [=](timer *each) { return visit(object_of(each), arg); });
}

// From now on nothing is armed. The wheel gives up its references, which may run destructors.
int drop_timers(owner *wheel) {
    wheel->closed = true;
    tw_cancel_all(
        &wheel->wheel, [](tw_node *node, void *) { Py_DECREF(object_of(timer_of(node))); }, nullptr);
    return 0;
}

int clear_owner(PyObject *self) { return drop_timers(reinterpret_cast<owner *>(self)); }

size_t count_of(owner *wheel) { return tw_count(&wheel->wheel); }

// The tick at which the wheel next needs to be driven, or earlier; TW_NEVER if nothing is pending.
tw_tick next_tick(owner *wheel) {
    const tw_node *first = tw_first(&wheel->wheel, 32);
    return first != nullptr ? tw_expiry(&wheel->wheel, first) : tw_next(&wheel->wheel);
}

int compare_due(const void *left, const void *right) {
    const int64_t a = (*static_cast<timer *const *>(left))->due_ns,
                  b = (*static_cast<timer *const *>(right))->due_ns;
    return (a > b) - (a < b);
}

// Returns a list of the pending timers in the order in which they are due.
PyObject *list_pending(PyObject *self, PyObject *) {
    owner *wheel = reinterpret_cast<owner *>(self);
    const size_t count = count_of(wheel);
    timer **found = PyMem_New(timer *, count == 0 ? 1 : count);
    if (found == nullptr)
        return PyErr_NoMemory();
    size_t size = 0;
    visit_pending(wheel, [&](timer *each) {
        found[size++] = each;
        return size == count ? 1 : 0;
    });
    qsort(found, size, sizeof *found, compare_due);
    for (size_t n = 0; n < size; ++n)
        Py_INCREF(object_of(found[n]));  // before the list is made, which may collect garbage
    PyObject *list = PyList_New(static_cast<Py_ssize_t>(size));
    for (size_t n = 0; n < size; ++n) {
        if (list != nullptr)
            PyList_SET_ITEM(list, static_cast<Py_ssize_t>(n), object_of(found[n]));
        else
            Py_DECREF(object_of(found[n]));
    }
    PyMem_Free(found);
    return list;
}

}  // namespace
