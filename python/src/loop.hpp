// The timers of an asyncio event loop: a base class of tickwheel.asyncio.EventLoop, and its handles. The loop
// runs a handle in its next round, as it runs all others; so a due handle only moves to the loop's queue
// here.
#pragma once

#include "timer.hpp"

namespace {

struct due_handle {
    timer *handle;
    size_t place;  // among those that the wheel gave out
};

struct loop_timers : owner {
    bool debug;
    due_handle *due;  // room for the handles that are due in one round
    size_t room;
};

loop_timers *loop_of(PyObject *self) { return reinterpret_cast<loop_timers *>(self); }

// --- arming ------------------------------------------------------------------------------------

// The arguments of call_later and call_at.
struct request {
    PyObject *time, *callback, *context;
    PyObject *const *arguments;
    Py_ssize_t count;
};

bool is_named(PyObject *name, const char *text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; }

// Reads (time, callback, *arguments, context=None); time and callback may be named, too.
bool read_request(request &read, const char *time_name, PyObject *const *arguments, Py_ssize_t count,
                  PyObject *names) {
    PyObject *context = Py_None;
    read.time = count > 0 ? arguments[0] : nullptr;
    read.callback = count > 1 ? arguments[1] : nullptr;
    read.arguments = arguments + 2;
    read.count = count > 2 ? count - 2 : 0;
    for (Py_ssize_t n = 0; names != nullptr && n < PyTuple_GET_SIZE(names); ++n) {
        PyObject *name = PyTuple_GET_ITEM(names, n);
        PyObject **place = is_named(name, "context")    ? &context
                           : is_named(name, time_name)  ? &read.time
                           : is_named(name, "callback") ? &read.callback
                                                        : nullptr;
        if (place == nullptr || (place != &context && *place != nullptr)) {
            PyErr_Format(PyExc_TypeError, "unexpected argument %R", name);
            return false;
        }
        *place = arguments[count + n];
    }
    if (read.time == nullptr || read.callback == nullptr) {
        PyErr_Format(PyExc_TypeError, "%s and callback are needed", time_name);
        return false;
    }
    read.context = context == Py_None ? nullptr : context;
    return true;
}

PyObject *arm_handle(loop_timers *loop, double when, const request &read, const char *method) {
    PyObject *trace = nullptr;
    if (loop->debug) {
        trace = PyObject_CallMethod(&loop->base, "_inspect", "Os", read.callback, method);
        if (trace == nullptr)
            return nullptr;
    }
    PyObject *context = read.context != nullptr ? Py_NewRef(read.context) : PyContext_CopyCurrent();
    timer *made = context == nullptr ? nullptr : make_timer(loop, read.callback, read.arguments, read.count);
    if (made == nullptr) {
        Py_XDECREF(context);
        Py_XDECREF(trace);
        return nullptr;
    }
    made->context = context;
    made->trace = trace;
    made->when = when;
    made->due_ns = nanoseconds_of(when);
    // Checked last: to read the time and to make the timer may run code that closes the loop.
    if (loop->closed) {
        PyErr_SetString(PyExc_RuntimeError, "Event loop is closed");
        Py_DECREF(object_of(made));
        return nullptr;
    }
    tw_arm_at(&loop->wheel, &made->node, tick_of(made->due_ns));
    return Py_NewRef(object_of(made));  // this reference is the wheel's
}

PyObject *loop_call_later(PyObject *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    request read;
    double delay;
    if (!read_request(read, "delay", arguments, count, names) || !read_seconds(read.time, delay))
        return nullptr;
    return arm_handle(loop_of(self), seconds_of(monotonic()) + delay, read, "call_later");
}

PyObject *loop_call_at(PyObject *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    request read;
    double when;
    if (!read_request(read, "when", arguments, count, names) || !read_seconds(read.time, when))
        return nullptr;
    return arm_handle(loop_of(self), when, read, "call_at");
}

// --- a round of the loop -------------------------------------------------------------------------

constexpr int64_t longest_wait_ns = 24 * 3600 * INT64_C(1000000000);

// The seconds until the loop must look at its timers; None if there are none. At most a day, as asyncio does:
// a selector refuses times that are too long for poll().
PyObject *until_due(PyObject *self, PyObject *) {
    const tw_tick next = next_tick(loop_of(self));
    if (!comes(next))
        Py_RETURN_NONE;
    const int64_t left = static_cast<int64_t>(next) * tick_ns - monotonic();
    return PyFloat_FromDouble(seconds_of(left < 0 ? 0 : left > longest_wait_ns ? longest_wait_ns : left));
}

bool make_room(loop_timers *loop, size_t size) {
    if (size < loop->room)
        return true;
    const size_t room = loop->room == 0 ? 64 : loop->room * 2;
    due_handle *due = loop->due;
    PyMem_Resize(due, due_handle, room);
    if (due == nullptr)
        return false;
    loop->due = due;
    loop->room = room;
    return true;
}

int compare_when(const void *left, const void *right) {
    const due_handle &a = *static_cast<const due_handle *>(left),
                     &b = *static_cast<const due_handle *>(right);
    if (a.handle->when != b.handle->when)
        return a.handle->when < b.handle->when ? -1 : 1;
    return a.place < b.place ? -1 : 1;
}

// Passes the handles that are due to `append`, in the order of their times. The wheel has the order of arming
// within a tick, and among the handles that were late when they were armed; so this sorts if it must.
PyObject *collect_due(PyObject *self, PyObject *append) {
    loop_timers *loop = loop_of(self);
    const tw_tick now = reached_at(monotonic());
    size_t size = 0;
    bool sorted = true;
    tw_fire fire;
    while (make_room(loop, size) && tw_take(&loop->wheel, now, &fire) == 1) {
        timer *each = timer_of(fire.node);
        sorted = sorted && (size == 0 || loop->due[size - 1].handle->when <= each->when);
        loop->due[size] = {each, size};
        ++size;
    }
    if (!sorted)
        qsort(loop->due, size, sizeof *loop->due, compare_when);
    bool done = true;
    for (size_t n = 0; n < size; ++n) {
        PyObject *handle = object_of(loop->due[n].handle);
        PyObject *result = done ? PyObject_CallOneArg(append, handle) : nullptr;
        done = result != nullptr;
        Py_XDECREF(result);
        Py_DECREF(handle);
    }
    if (!done)
        return nullptr;
    Py_RETURN_NONE;
}

PyObject *drop_handles(PyObject *self, PyObject *) {
    drop_timers(loop_of(self));
    Py_RETURN_NONE;
}

PyObject *debug_of(PyObject *self, void *) { return PyBool_FromLong(loop_of(self)->debug); }

int set_debug(PyObject *self, PyObject *value, void *) {
    const int truth = value == nullptr ? 0 : PyObject_IsTrue(value);
    loop_of(self)->debug = truth > 0;
    return truth < 0 ? -1 : 0;
}

void free_loop(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    PyMem_Free(loop_of(self)->due);
    type->tp_free(self);
    Py_DECREF(type);
}

// --- TimerHandle -------------------------------------------------------------------------------

PyObject *cancel_handle(PyObject *self, PyObject *) {
    timer *handle = timer_at(self);
    if (handle->cancelled)
        Py_RETURN_NONE;
    handle->cancelled = true;
    if (static_cast<loop_timers *>(handle->wheel)->debug) {  // where messages may name the handle later
        PyObject *text = describe(self);
        if (text == nullptr)
            return nullptr;
        handle->text = text;
    }
    take_off(handle);
    if (!handle->runs)
        drop_callback(handle);
    Py_RETURN_NONE;
}

PyObject *is_cancelled(PyObject *self, PyObject *) { return PyBool_FromLong(timer_at(self)->cancelled); }

PyObject *when_of_handle(PyObject *self, PyObject *) { return PyFloat_FromDouble(timer_at(self)->when); }

PyObject *context_of(PyObject *self, PyObject *) {
    PyObject *context = timer_at(self)->context;
    return Py_NewRef(context != nullptr ? context : Py_None);
}

// Runs the callback in its context. Exceptions go to the loop's handler, except for those that end the loop.
PyObject *run_handle(PyObject *self, PyObject *) {
    timer *handle = timer_at(self);
    if (handle->callback == nullptr)
        Py_RETURN_NONE;
    PyObject *result = nullptr;
    if (PyContext_Enter(handle->context) == 0) {
        result = call(handle);
        if (PyContext_Exit(handle->context) != 0)
            Py_CLEAR(result);
    }
    if (result == nullptr && !ends_driving()) {
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        PyErr_NormalizeException(&type, &value, &trace);
        if (trace != nullptr)
            PyException_SetTraceback(value, trace);
        result = PyObject_CallMethod(&handle->wheel->base, "_failed", "OO", self, value);
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(trace);
    }
    if (handle->cancelled)
        drop_callback(handle);
    if (result == nullptr)
        return nullptr;
    Py_DECREF(result);
    Py_RETURN_NONE;
}

// --- the types -----------------------------------------------------------------------------------

PyObject *new_loop(PyTypeObject *type, PyObject *, PyObject *);  // in _tickwheel.cpp, which knows the types

PyMethodDef methods_of_loop[] = {
    {"call_later", method(loop_call_later), METH_FASTCALL | METH_KEYWORDS,
     "call_later(delay, callback, *args, context=None): calls callback(*args) `delay` seconds from now."},
    {"call_at", method(loop_call_at), METH_FASTCALL | METH_KEYWORDS,
     "call_at(when, callback, *args, context=None): calls callback(*args) when time() reads `when`."},
    {"pending_timers", list_pending, METH_NOARGS,
     "A list of the handles of pending timers, in the order in which they are due."},
    {"_until_due", until_due, METH_NOARGS, nullptr},
    {"_collect_due", collect_due, METH_O, nullptr},
    {"_drop_timers", drop_handles, METH_NOARGS, nullptr},
    {}};

PyGetSetDef attributes_of_loop[] = {{"_debug", debug_of, set_debug, nullptr, nullptr}, {}};

PyType_Slot slots_of_loop[] = {{Py_tp_new, slot(new_loop)},
                               {Py_tp_dealloc, slot(free_loop)},
                               {Py_tp_traverse, slot(traverse_owner)},
                               {Py_tp_clear, slot(clear_owner)},
                               {Py_tp_methods, methods_of_loop},
                               {Py_tp_getset, attributes_of_loop},
                               {}};
PyType_Spec spec_of_loop = {"tickwheel._tickwheel.LoopTimers", sizeof(loop_timers), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots_of_loop};

PyMethodDef methods_of_handle[] = {
    {"cancel", cancel_handle, METH_NOARGS, "Cancels the call."},
    {"cancelled", is_cancelled, METH_NOARGS, "Whether cancel() was called."},
    {"when", when_of_handle, METH_NOARGS, "The reading of the loop's time() at which the call is due."},
    {"get_context", context_of, METH_NOARGS, "The context that the callback runs in."},
    {"_run", run_handle, METH_NOARGS, nullptr},
    {}};

// asyncio itself reads the names with an underscore.
PyGetSetDef attributes_of_handle[] = {
    {"callback", callback_of, nullptr, "The callback; None once cancelled.", nullptr},
    {"args", arguments_of, nullptr, "The arguments; None once cancelled.", nullptr},
    {"_callback", callback_of, nullptr, nullptr, nullptr},
    {"_args", arguments_of, nullptr, nullptr, nullptr},
    {}};

PyMemberDef members_of_handle[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(timer, weak_references), READONLY, nullptr},
    {"_cancelled", T_BOOL, offsetof(timer, cancelled), READONLY, nullptr},
    {"_source_traceback", T_OBJECT, offsetof(timer, trace), READONLY, nullptr},
    {}};

PyType_Slot slots_of_handle[] = {{Py_tp_dealloc, slot(free_timer)},  {Py_tp_traverse, slot(traverse_timer)},
                                 {Py_tp_clear, slot(clear_timer)},   {Py_tp_repr, slot(describe)},
                                 {Py_tp_methods, methods_of_handle}, {Py_tp_getset, attributes_of_handle},
                                 {Py_tp_members, members_of_handle}, {}};
PyType_Spec spec_of_handle = {"tickwheel.asyncio.TimerHandle", offsetof(timer, arguments), sizeof(PyObject *),
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                              slots_of_handle};

}  // namespace
