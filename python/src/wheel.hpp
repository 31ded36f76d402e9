// The class TimerWheel: timers that a thread, a loop or virtual time drives. tickwheel/__init__.py adds the
// thread.
#pragma once

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "timer.hpp"

namespace {

enum class driver : unsigned char { none, thread, loop, virtual_time };

struct timer_wheel : owner {
    driver driven_by;
    int descriptor;   // a timerfd: readable when a timer is due; -1: none
    tw_tick set_for;  // the tick that the descriptor is set for; TW_NEVER: none
    int64_t now_ns;   // of virtual time
    bool is_driven;   // dispatch or advance runs
    timer *running;   // its callback runs, on the thread `driving`; null: none does
    unsigned long driving;

    // cancel_wait and close wait here without the GIL until `returned` has changed. With the GIL they have
    // counted themselves in `waiting`, so the driving thread knows whether to lock.
    int waiting;
    unsigned long returned;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
};

timer_wheel *wheel_of(PyObject *self) { return reinterpret_cast<timer_wheel *>(self); }

bool is_open(owner *wheel) {
    if (wheel->closed)
        PyErr_SetString(PyExc_ValueError, "the timer wheel is closed");
    return !wheel->closed;
}

// For calls that only one driver has.
bool is_open_with(timer_wheel *wheel, driver expected) {
    if (!is_open(wheel))
        return false;
    if (wheel->driven_by != expected)
        PyErr_SetString(PyExc_ValueError, "this driver has no such call");
    return wheel->driven_by == expected;
}

int64_t now_of(const timer_wheel *wheel) {
    return wheel->driven_by == driver::virtual_time ? wheel->now_ns : monotonic();
}

// Makes the descriptor readable at a tick; TW_NEVER: it is not readable.
bool set_descriptor(timer_wheel *wheel, tw_tick tick) {
    const int64_t ns = static_cast<int64_t>(tick) * tick_ns;
    itimerspec at = {};
    if (comes(tick)) {
        at.it_value.tv_sec = static_cast<time_t>(ns / 1000000000);
        at.it_value.tv_nsec = static_cast<long>(ns % 1000000000) + (ns == 0);  // 0 would stop the timerfd
    }
    if (timerfd_settime(wheel->descriptor, TFD_TIMER_ABSTIME, &at, nullptr) != 0)
        return PyErr_SetFromErrno(PyExc_OSError), false;
    wheel->set_for = tick;
    return true;
}

// To be called when a timer is armed. While callbacks run, the driver sets the descriptor afterwards.
bool note_armed(timer_wheel *wheel, tw_tick tick) {
    if (tick >= wheel->set_for || wheel->descriptor < 0 || wheel->is_driven)
        return true;
    return set_descriptor(wheel, tick);
}

void init_waiting(timer_wheel *wheel) {
    wheel->waiting = 0;
    pthread_mutex_init(&wheel->mutex, nullptr);
    pthread_cond_init(&wheel->changed, nullptr);
}

// --- making and closing ------------------------------------------------------------------------

PyObject *new_wheel(PyTypeObject *type, PyObject *, PyObject *);  // in _tickwheel.cpp, which knows the types

int init_wheel(PyObject *self, PyObject *arguments, PyObject *) {
    timer_wheel *wheel = wheel_of(self);
    const char *name;
    if (!PyArg_ParseTuple(arguments, "s", &name))
        return -1;
    if (wheel->driven_by != driver::none) {
        PyErr_SetString(PyExc_RuntimeError, "the timer wheel is made already");
        return -1;
    }
    const bool of_thread = strcmp(name, "thread") == 0, of_loop = strcmp(name, "loop") == 0;
    const bool of_test = strcmp(name, "virtual") == 0;
    if (!of_thread && !of_loop && !of_test) {
        PyErr_Format(PyExc_ValueError, "the driver is \"thread\", \"loop\" or \"virtual\", not \"%s\"", name);
        return -1;
    }
    if (!of_test) {
        wheel->descriptor = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        if (wheel->descriptor < 0) {
            PyErr_SetFromErrno(PyExc_OSError);
            return -1;
        }
    }
    wheel->driven_by = of_thread ? driver::thread : of_loop ? driver::loop : driver::virtual_time;
    tw_init(&wheel->wheel, of_test ? 0 : reached_at(monotonic()), TW_UNLOCKED);
    wheel->closed = false;
    return 0;
}

void close_descriptor(timer_wheel *wheel) {
    if (wheel->descriptor >= 0)
        close(wheel->descriptor);
    wheel->descriptor = -1;
}

void free_wheel(PyObject *self) {
    timer_wheel *wheel = wheel_of(self);
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    close_descriptor(wheel);
    pthread_cond_destroy(&wheel->changed);
    pthread_mutex_destroy(&wheel->mutex);
    type->tp_free(self);
    Py_DECREF(type);
}

// Waits until the callback that runs on another thread returns. Ctrl-C ends the wait.
bool wait_for_callback(timer_wheel *wheel) {
    const unsigned long returned = wheel->returned;
    bool has_changed = false, interrupted = false;
    ++wheel->waiting;
    while (!has_changed && !interrupted) {
        PyThreadState *const this_thread = PyEval_SaveThread();
        timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 50000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_mutex_lock(&wheel->mutex);
        if (wheel->returned == returned)
            pthread_cond_timedwait(&wheel->changed, &wheel->mutex, &until);
        has_changed = wheel->returned != returned;
        pthread_mutex_unlock(&wheel->mutex);
        PyEval_RestoreThread(this_thread);
        interrupted = PyErr_CheckSignals() != 0;
    }
    --wheel->waiting;
    return !interrupted;
}

void note_returned(timer_wheel *wheel) {
    wheel->running = nullptr;
    if (wheel->waiting == 0)
        return;
    pthread_mutex_lock(&wheel->mutex);
    ++wheel->returned;
    pthread_cond_broadcast(&wheel->changed);
    pthread_mutex_unlock(&wheel->mutex);
}

bool runs_elsewhere(const timer_wheel *wheel) {
    return wheel->running != nullptr && wheel->driving != PyThread_get_thread_ident();
}

// Cancels all timers, and waits for a running callback. The thread, which this wakes, closes its descriptor.
PyObject *close_wheel(PyObject *self, PyObject *) {
    timer_wheel *wheel = wheel_of(self);
    drop_timers(wheel);
    if (wheel->driven_by == driver::loop)
        close_descriptor(wheel);
    else if (wheel->descriptor >= 0 && !set_descriptor(wheel, 0))
        return nullptr;
    if (runs_elsewhere(wheel) && !wait_for_callback(wheel))
        return nullptr;
    Py_RETURN_NONE;
}

// In the child of a fork: the other threads of the parent are gone, and the descriptor is the parent's, too.
PyObject *leave_to_parent(PyObject *self, PyObject *) {
    timer_wheel *wheel = wheel_of(self);
    init_waiting(wheel);
    if (wheel->driving != PyThread_get_thread_ident()) {
        wheel->running = nullptr;
        wheel->is_driven = false;
    }
    if (wheel->driven_by == driver::virtual_time)
        Py_RETURN_NONE;
    close_descriptor(wheel);
    drop_timers(wheel);
    Py_RETURN_NONE;
}

// --- arming ------------------------------------------------------------------------------------

bool read_duration(PyObject *number, int64_t &ns) {
    double seconds;
    if (!read_seconds(number, seconds))
        return false;
    if (seconds < 0) {
        PyErr_SetString(PyExc_ValueError, "the time is negative");
        return false;
    }
    ns = nanoseconds_of(seconds);
    return true;
}

// Arguments of the calls that arm: a time, a callback, and its arguments.
bool check_arming(PyObject *const *arguments, Py_ssize_t count) {
    if (count < 2) {
        PyErr_SetString(PyExc_TypeError, "a time and a callback are needed");
        return false;
    }
    if (!PyCallable_Check(arguments[1])) {
        PyErr_Format(PyExc_TypeError, "a callable is needed, not %R", arguments[1]);
        return false;
    }
    return true;
}

PyObject *arm(timer_wheel *wheel, PyObject *const *arguments, Py_ssize_t count, int64_t due_ns,
              int64_t period_ns) {
    timer *made = make_timer(wheel, arguments[1], arguments + 2, count - 2);
    if (made == nullptr)
        return nullptr;
    // Checked last: to read the arguments and to make the timer may run code that closes the wheel.
    if (!is_open(wheel)) {
        Py_DECREF(object_of(made));
        return nullptr;
    }
    made->due_ns = due_ns;
    made->period_ns = period_ns;
    const tw_tick tick = tick_of(due_ns);
    tw_arm_at(&wheel->wheel, &made->node, tick);
    Py_INCREF(object_of(made));  // the wheel's reference
    if (!note_armed(wheel, tick)) {
        take_off(made);
        Py_DECREF(object_of(made));
        return nullptr;
    }
    return object_of(made);
}

PyObject *call_later(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
    timer_wheel *wheel = wheel_of(self);
    int64_t delay;
    if (!check_arming(arguments, count) || !read_duration(arguments[0], delay))
        return nullptr;
    return arm(wheel, arguments, count, later_by(now_of(wheel), delay), 0);
}

PyObject *call_at(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
    timer_wheel *wheel = wheel_of(self);
    double when;
    if (!check_arming(arguments, count) || !read_seconds(arguments[0], when))
        return nullptr;
    return arm(wheel, arguments, count, nanoseconds_of(when), 0);
}

PyObject *every(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
    timer_wheel *wheel = wheel_of(self);
    int64_t period;
    if (!check_arming(arguments, count) || !read_duration(arguments[0], period))
        return nullptr;
    if (period < tick_ns) {
        PyErr_SetString(PyExc_ValueError, "the period is shorter than a microsecond");
        return nullptr;
    }
    return arm(wheel, arguments, count, later_by(now_of(wheel), period), period);
}

// --- firing ------------------------------------------------------------------------------------

// Arms a periodic timer for its next due time on its grid; a late fire stands for those that were missed.
void arm_next(timer_wheel *wheel, timer *each, int64_t now) {
    int64_t next = later_by(each->due_ns, each->period_ns);
    if (next <= now)
        next = later_by(now - (now - each->due_ns) % each->period_ns, each->period_ns);
    each->due_ns = next;
    tw_arm_at(&wheel->wheel, &each->node, tick_of(next));
    Py_INCREF(object_of(each));
}

// Makes one fire, which has the wheel's reference. Returns false if the callback ends the call that drives.
bool fire(timer_wheel *wheel, timer *each, int64_t now) {
    if (each->period_ns != 0)
        arm_next(wheel, each, now);
    wheel->running = each;
    PyObject *result = call(each);
    note_returned(wheel);
    bool goes_on = true;
    if (result != nullptr) {
        Py_DECREF(result);
    } else if (wheel->driven_by != driver::thread && ends_driving()) {
        goes_on = false;
    } else {
        PyErr_WriteUnraisable(each->callback);
    }
    Py_DECREF(object_of(each));
    return goes_on;
}

// Makes all fires that are due by a reading.
bool fire_until(timer_wheel *wheel, int64_t now) {
    tw_fire next;
    while (!wheel->closed && tw_take(&wheel->wheel, reached_at(now), &next) == 1)
        if (!fire(wheel, timer_of(next.node), now))
            return false;
    return true;
}

// Runs fire_due() while the wheel is marked as driven, so a callback or another thread cannot drive the
// wheel, too.
template <class FireDue> bool drive(timer_wheel *wheel, driver expected, FireDue fire_due) {
    if (!is_open_with(wheel, expected))
        return false;
    if (wheel->is_driven) {
        PyErr_SetString(PyExc_RuntimeError,
                        "the timers are being driven already, by a callback or another thread");
        return false;
    }
    Py_INCREF(&wheel->base);
    wheel->is_driven = true;
    wheel->driving = PyThread_get_thread_ident();
    bool done = fire_due();
    wheel->is_driven = false;
    if (wheel->descriptor >= 0 && !wheel->closed) {
        // An exception of fire_due() must not be set while set_descriptor() sets its own.
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        done = set_descriptor(wheel, next_tick(wheel)) && done;
        if (type != nullptr)
            PyErr_Restore(type, value, trace);
    }
    Py_DECREF(&wheel->base);
    return done;
}

PyObject *dispatch(PyObject *self, PyObject *) {
    timer_wheel *wheel = wheel_of(self);
    if (!drive(wheel, driver::loop, [=] { return fire_until(wheel, monotonic()); }))
        return nullptr;
    Py_RETURN_NONE;
}

// What the thread does until the wheel is closed. Takes the GIL once for all that is due.
PyObject *run_thread(PyObject *self, PyObject *) {
    timer_wheel *wheel = wheel_of(self);
    while (!wheel->closed) {
        pollfd readable = {wheel->descriptor, POLLIN, 0};
        PyThreadState *const this_thread = PyEval_SaveThread();
        poll(&readable, 1, -1);
        PyEval_RestoreThread(this_thread);
        if (!wheel->closed && !drive(wheel, driver::thread, [=] { return fire_until(wheel, monotonic()); }))
            return nullptr;
    }
    close_descriptor(wheel);
    Py_RETURN_NONE;
}

// Goes from one due time to the next, so that each callback sees the time that it is due at.
PyObject *advance(PyObject *self, PyObject *duration) {
    timer_wheel *wheel = wheel_of(self);
    int64_t ns;
    if (!read_duration(duration, ns))
        return nullptr;
    const bool done = drive(wheel, driver::virtual_time, [=] {
        const int64_t end = later_by(wheel->now_ns, ns);
        for (tw_tick next; !wheel->closed && comes(next = next_tick(wheel)) && next <= reached_at(end);) {
            const int64_t due = static_cast<int64_t>(next) * tick_ns;
            if (due > wheel->now_ns)
                wheel->now_ns = due;
            if (!fire_until(wheel, wheel->now_ns) || PyErr_CheckSignals() != 0)
                return false;
        }
        wheel->now_ns = end;
        return true;
    });
    if (!done)
        return nullptr;
    Py_RETURN_NONE;
}

// --- asking ------------------------------------------------------------------------------------

PyObject *descriptor_of(PyObject *self, PyObject *) {
    timer_wheel *wheel = wheel_of(self);
    if (!is_open_with(wheel, driver::loop))
        return nullptr;
    return PyLong_FromLong(wheel->descriptor);
}

PyObject *time_of(PyObject *self, PyObject *) {
    return PyFloat_FromDouble(seconds_of(now_of(wheel_of(self))));
}

Py_ssize_t length_of(PyObject *self) { return static_cast<Py_ssize_t>(count_of(wheel_of(self))); }

int always(PyObject *) { return 1; }

// --- Timer -------------------------------------------------------------------------------------

PyObject *cancel_timer(PyObject *self, PyObject *) { return PyBool_FromLong(take_off(timer_at(self))); }

PyObject *cancel_wait(PyObject *self, PyObject *) {
    timer *each = timer_at(self);
    timer_wheel *wheel = static_cast<timer_wheel *>(each->wheel);
    const bool prevented = take_off(each);
    if (wheel->running == each && runs_elsewhere(wheel) && !wait_for_callback(wheel))
        return nullptr;
    return PyBool_FromLong(prevented);
}

PyObject *move_timer(PyObject *self, PyObject *duration) {
    timer *each = timer_at(self);
    timer_wheel *wheel = static_cast<timer_wheel *>(each->wheel);
    int64_t delay;
    if (!read_duration(duration, delay))
        return nullptr;
    if (!is_pending(each))
        Py_RETURN_FALSE;
    each->due_ns = later_by(now_of(wheel), delay);
    const tw_tick tick = tick_of(each->due_ns);
    tw_move(&wheel->wheel, &each->node, tick);
    if (!note_armed(wheel, tick))
        return nullptr;
    Py_RETURN_TRUE;
}

PyObject *remaining(PyObject *self, PyObject *) {
    timer *each = timer_at(self);
    if (!is_pending(each))
        Py_RETURN_NONE;
    const int64_t left = each->due_ns - now_of(static_cast<timer_wheel *>(each->wheel));
    return PyFloat_FromDouble(seconds_of(left < 0 ? 0 : left));
}

PyObject *when_of_timer(PyObject *self, PyObject *) {
    timer *each = timer_at(self);
    if (!is_pending(each))
        Py_RETURN_NONE;
    return PyFloat_FromDouble(seconds_of(each->due_ns));
}

PyObject *timer_pends(PyObject *self, PyObject *) { return PyBool_FromLong(is_pending(timer_at(self))); }

PyMethodDef methods_of_wheel[] = {
    {"call_later", method(call_later), METH_FASTCALL,
     "call_later(delay, callback, *args): calls callback(*args) once, `delay` seconds from now."},
    {"call_at", method(call_at), METH_FASTCALL,
     "call_at(when, callback, *args): calls callback(*args) once, when time() reads `when`; at once if that "
     "has passed."},
    {"every", method(every), METH_FASTCALL,
     "every(period, callback, *args): calls callback(*args) every `period` seconds, without drift, until it "
     "is cancelled. A late call stands for those that were missed."},
    {"time", time_of, METH_NOARGS, "The present time in seconds: time.monotonic(), or virtual time."},
    {"pending", list_pending, METH_NOARGS,
     "A list of the pending timers, in the order in which they are due."},
    {"fileno", descriptor_of, METH_NOARGS,
     "With the driver \"loop\": a descriptor that is readable when timers are due."},
    {"dispatch", dispatch, METH_NOARGS, "With the driver \"loop\": calls the callbacks that are due."},
    {"advance", advance, METH_O,
     "advance(seconds): with the driver \"virtual\", moves time on, and calls the callbacks that become "
     "due."},
    {"_close", close_wheel, METH_NOARGS, nullptr},
    {"_leave_to_parent", leave_to_parent, METH_NOARGS, nullptr},
    {"_run_thread", run_thread, METH_NOARGS, nullptr},
    {}};

PyMemberDef members_of_wheel[] = {
    {"closed", T_BOOL, offsetof(owner, closed), READONLY, "Whether close() was called."}, {}};

PyType_Slot slots_of_wheel[] = {{Py_tp_new, slot(new_wheel)},      {Py_tp_init, slot(init_wheel)},
                                {Py_tp_dealloc, slot(free_wheel)}, {Py_tp_traverse, slot(traverse_owner)},
                                {Py_tp_clear, slot(clear_owner)},  {Py_sq_length, slot(length_of)},
                                {Py_nb_bool, slot(always)},        {Py_tp_methods, methods_of_wheel},
                                {Py_tp_members, members_of_wheel}, {}};
PyType_Spec spec_of_wheel = {"tickwheel._tickwheel.Wheel", sizeof(timer_wheel), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots_of_wheel};

PyMethodDef methods_of_timer[] = {
    {"cancel", cancel_timer, METH_NOARGS,
     "Ends the timer. Returns True if that prevented a call. Does not wait for a callback that runs."},
    {"cancel_wait", cancel_wait, METH_NOARGS,
     "As cancel; also waits until no other thread runs the callback. Do not hold a lock that the callback "
     "takes."},
    {"move", move_timer, METH_O,
     "move(delay): a pending timer is now due `delay` seconds from now. Returns False if it is not pending."},
    {"when", when_of_timer, METH_NOARGS,
     "The reading of time() at which the timer is due; None if it is not pending."},
    {"remaining", remaining, METH_NOARGS, "The seconds until the timer is due; None if it is not pending."},
    {"pending", timer_pends, METH_NOARGS, "Whether the timer will fire, or fire again."},
    {}};

PyGetSetDef attributes_of_timer[] = {
    {"callback", callback_of, nullptr, "The callback.", nullptr},
    {"args", arguments_of, nullptr, "The arguments of the callback.", nullptr},
    {}};

PyMemberDef members_of_timer[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(timer, weak_references), READONLY, nullptr}, {}};

PyType_Slot slots_of_timer[] = {{Py_tp_dealloc, slot(free_timer)}, {Py_tp_traverse, slot(traverse_timer)},
                                {Py_tp_clear, slot(clear_timer)},  {Py_tp_repr, slot(describe)},
                                {Py_tp_methods, methods_of_timer}, {Py_tp_getset, attributes_of_timer},
                                {Py_tp_members, members_of_timer}, {}};
PyType_Spec spec_of_timer = {"tickwheel.Timer", offsetof(timer, arguments), sizeof(PyObject *),
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             slots_of_timer};

}  // namespace
