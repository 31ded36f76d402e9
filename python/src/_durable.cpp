// The extension module tickwheel._durable: tickwheel/durable.h with objects of Python. tickwheel/durable.py
// has the interface for programs, and is the only user.
//
// Threads: no thread holds the GIL while it waits for the database. Handlers and events run on threads of the
// library, which take the GIL for the call. Everything in `connection` and `fire` is protected by the GIL.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <tickwheel/durable.h>

namespace {

struct handler {
    struct connection *of;
    PyObject *callable;
};

struct connection {
    PyObject base;
    tw_durable *jobs;
    tw_runtime *timers;
    bool is_virtual, is_closing;
    pid_t process;
    std::atomic<int> users;  // calls in progress; `close` waits for them
    PyObject *on_event;      // null: none
    PyTypeObject *type_of_fires;
    std::deque<handler> handlers;
};

struct fire {
    PyObject base;
    tw_durable_fire *native;  // null once it has an answer
    connection *of;
    PyObject *kind, *key, *payload, *due_ns, *overruns, *attempt, *token;
};

// How many handlers and events this thread is in. A close there would wait for itself.
thread_local int depth_of_user_code = 0;

connection *connection_at(PyObject *self) { return reinterpret_cast<connection *>(self); }
fire *fire_at(PyObject *self) { return reinterpret_cast<fire *>(self); }

template <class Function> void *slot(Function *function) { return reinterpret_cast<void *>(function); }

// --- errors ------------------------------------------------------------------------------------

PyObject *raise(std::int64_t error, const char *why) {
    if (error == -ENOMEM)
        return PyErr_NoMemory();
    if (error == -EINVAL) {
        PyErr_SetString(PyExc_ValueError, why);
        return nullptr;
    }
    PyObject *made = PyObject_CallFunction(PyExc_OSError, "is", static_cast<int>(-error), why);
    if (made != nullptr)
        PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(made)), made);
    Py_XDECREF(made);
    return nullptr;
}

// Calls ask(jobs) without the GIL. Returns its result; with an exception if that is an error, except
// `expected`.
template <class Ask> std::int64_t without_gil(connection *self, Ask ask, int expected = 0) {
    if (self->jobs == nullptr || self->is_closing) {
        PyErr_SetString(PyExc_ValueError, "the connection is closed");
        return -EBADF;
    }
    ++self->users;
    PyThreadState *const state = PyEval_SaveThread();
    const std::int64_t result = ask(self->jobs);
    PyEval_RestoreThread(state);
    if (result < 0 && result != expected)
        raise(result, tw_durable_explain(static_cast<int>(result)));
    if (--self->users == 0)
        self->users.notify_all();
    return result;
}

PyObject *none_unless_raised() {
    if (PyErr_Occurred() != nullptr)
        return nullptr;
    Py_RETURN_NONE;
}

PyObject *number_unless_raised(std::int64_t number) {
    return PyErr_Occurred() != nullptr ? nullptr : PyLong_FromLongLong(number);
}

// --- fires -------------------------------------------------------------------------------------

// Reads an answer: None, a delay in nanoseconds, the reason of a failure, or `...` for later. Returns -1 with
// an exception.
int read_answer(tw_durable_fire *native, PyObject *said) {
    if (said == Py_None)
        return TW_DURABLE_DONE;
    if (said == Py_Ellipsis)
        return TW_DURABLE_LATER;
    if (PyUnicode_Check(said)) {
        const char *const why = PyUnicode_AsUTF8(said);
        return why != nullptr ? static_cast<int>(tw_durable_failed(native, why)) : -1;
    }
    const long long delay = PyLong_AsLongLong(said);
    return delay == -1 && PyErr_Occurred() != nullptr ? -1
                                                      : static_cast<int>(tw_durable_again(native, delay));
}

fire *make_fire(connection *of, tw_durable_fire *native) {
    fire *made = PyObject_New(fire, of->type_of_fires);
    if (made == nullptr)
        return nullptr;
    made->native = native;
    made->of = of;
    Py_INCREF(&of->base);
    made->kind = PyUnicode_DecodeUTF8(native->kind, static_cast<Py_ssize_t>(strlen(native->kind)), "replace");
    made->key = PyUnicode_DecodeUTF8(native->key, static_cast<Py_ssize_t>(strlen(native->key)), "replace");
    made->payload = PyBytes_FromStringAndSize(static_cast<const char *>(native->payload),
                                              static_cast<Py_ssize_t>(native->size));
    made->due_ns = PyLong_FromLongLong(native->due_ns);
    made->overruns = PyLong_FromUnsignedLongLong(native->overruns);
    made->attempt = PyLong_FromUnsignedLong(native->attempt);
    made->token = PyLong_FromLongLong(native->token);
    if (PyErr_Occurred() != nullptr)
        Py_CLEAR(made);
    return made;
}

void free_fire(PyObject *self) {
    fire *const each = fire_at(self);
    for (PyObject *part : {each->kind, each->key, each->payload, each->due_ns, each->overruns, each->attempt,
                           each->token, &each->of->base})
        Py_XDECREF(part);
    PyTypeObject *const type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

// The answer that stands for the exception that is set.
tw_durable_answer answer_to_exception(tw_durable_fire *native) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *const text = value != nullptr ? PyObject_Str(value) : nullptr;
    const char *const why = text != nullptr ? PyUnicode_AsUTF8(text) : nullptr;
    const tw_durable_answer answer = tw_durable_failed(native, why);
    PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return answer;
}

tw_durable_answer call_handler(tw_durable_fire *native, void *arg) {
    const handler &to = *static_cast<handler *>(arg);
    const PyGILState_STATE state = PyGILState_Ensure();
    fire *const shown = make_fire(to.of, native);
    ++depth_of_user_code;
    PyObject *const said = shown != nullptr ? PyObject_CallOneArg(to.callable, &shown->base) : nullptr;
    --depth_of_user_code;
    int answer = said != nullptr ? read_answer(native, said) : -1;
    if (answer < 0)
        answer = answer_to_exception(native);
    if (answer != TW_DURABLE_LATER && shown != nullptr)
        shown->native = nullptr;
    Py_XDECREF(said);
    Py_XDECREF(shown);
    PyGILState_Release(state);
    return static_cast<tw_durable_answer>(answer);
}

PyObject *answer_fire(PyObject *self, PyObject *said) {
    fire *const each = fire_at(self);
    if (each->native == nullptr || each->of->jobs == nullptr) {
        PyErr_SetString(PyExc_RuntimeError, "the fire has an answer already, or its connection is closed");
        return nullptr;
    }
    const int answer = read_answer(each->native, said);
    if (answer < 0)
        return nullptr;
    tw_durable *const jobs = each->of->jobs;
    tw_durable_fire *const native = std::exchange(each->native, nullptr);
    PyThreadState *const state = PyEval_SaveThread();
    const int error = tw_durable_answer_later(jobs, native, static_cast<tw_durable_answer>(answer));
    PyEval_RestoreThread(state);
    if (error != 0)
        return raise(error, tw_durable_explain(error));
    Py_RETURN_NONE;
}

PyObject *lease_of_fire(PyObject *self, PyObject *) {
    const fire *const each = fire_at(self);
    const bool is_open = each->native != nullptr && each->of->jobs != nullptr;
    return PyLong_FromLongLong(is_open ? tw_durable_lease(each->native) : 0);
}

PyMemberDef members_of_fire[] = {
    {"kind", T_OBJECT_EX, offsetof(fire, kind), READONLY, nullptr},
    {"key", T_OBJECT_EX, offsetof(fire, key), READONLY, nullptr},
    {"payload", T_OBJECT_EX, offsetof(fire, payload), READONLY, nullptr},
    {"due_ns", T_OBJECT_EX, offsetof(fire, due_ns), READONLY, nullptr},
    {"overruns", T_OBJECT_EX, offsetof(fire, overruns), READONLY, nullptr},
    {"attempt", T_OBJECT_EX, offsetof(fire, attempt), READONLY, nullptr},
    {"token", T_OBJECT_EX, offsetof(fire, token), READONLY, nullptr},
    {},
};
PyMethodDef methods_of_fire[] = {
    {"answer", answer_fire, METH_O, nullptr}, {"lease_ns", lease_of_fire, METH_NOARGS, nullptr}, {}};
PyType_Slot slots_of_fire[] = {
    {Py_tp_dealloc, slot(free_fire)}, {Py_tp_members, members_of_fire}, {Py_tp_methods, methods_of_fire}, {}};
PyType_Spec spec_of_fire = {"tickwheel._durable.Fire", sizeof(fire), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots_of_fire};

// --- opening and closing -----------------------------------------------------------------------

void pass_event(tw_durable_event event, const char *why, void *arg) {
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject *const on_event = static_cast<connection *>(arg)->on_event;
    ++depth_of_user_code;
    PyObject *const result = PyObject_CallFunction(on_event, "is", static_cast<int>(event), why);
    --depth_of_user_code;
    if (result == nullptr)
        PyErr_WriteUnraisable(on_event);
    Py_XDECREF(result);
    PyGILState_Release(state);
}

extern PyModuleDef definition;

PyObject *new_connection(PyTypeObject *type, PyObject *, PyObject *) {
    PyObject *const module = PyType_GetModuleByDef(type, &definition);
    if (module == nullptr)
        return nullptr;
    connection *const made = connection_at(type->tp_alloc(type, 0));
    if (made == nullptr)
        return nullptr;
    new (&made->users) std::atomic<int>(0);
    new (&made->handlers) std::deque<handler>();
    made->type_of_fires =
        *static_cast<PyTypeObject **>(PyModule_GetState(module));  // which the type's module keeps
    return &made->base;
}

// Connection(address, runs, virtual, on_event, schema, name, lease_ns, poll_ns, horizon_ns, hold, backlog,
// timeout_ns, threads, must_exist, confirmed_only)
int open_connection(PyObject *self, PyObject *arguments, PyObject *) {
    connection *const made = connection_at(self);
    const char *address;
    int runs, is_virtual;
    PyObject *on_event;
    tw_durable_options options = {};
    long long lease, poll, horizon, timeout;
    unsigned hold, backlog;
    if (!PyArg_ParseTuple(arguments, "sppOzzLLLIILIpp", &address, &runs, &is_virtual, &on_event,
                          &options.schema, &options.name, &lease, &poll, &horizon, &hold, &backlog, &timeout,
                          &options.threads, &options.must_exist, &options.confirmed_only))
        return -1;
    options.lease_ns = lease;
    options.poll_ns = poll;
    options.horizon_ns = horizon;
    options.hold = hold;
    options.backlog = backlog;
    options.timeout_ns = timeout;
    options.single_thread = is_virtual;
    made->is_virtual = is_virtual != 0;
    made->process = getpid();
    if (on_event != Py_None) {
        made->on_event = Py_NewRef(on_event);
        options.on_event = pass_event;
        options.on_event_arg = made;
    }
    tw_runtime_options virtual_time = {};
    virtual_time.driver = "manual";
    int error = 0;
    PyThreadState *const state = PyEval_SaveThread();
    if (runs != 0 || is_virtual != 0)
        error = tw_runtime_new(&made->timers, is_virtual != 0 ? &virtual_time : nullptr);
    if (error == 0 && made->timers != nullptr && is_virtual == 0)
        error = tw_runtime_start(made->timers);
    const char *why = tw_explain(error);
    if (error == 0) {
        error = tw_durable_open(&made->jobs, made->timers, address, &options);
        why = tw_durable_explain(error);
    }
    PyEval_RestoreThread(state);
    return error != 0 ? raise(error, why), -1 : 0;
}

// In the child of a fork the library leaves the database to the parent.
int close_natively(connection *self) {
    self->is_closing = true;
    tw_durable *const jobs = self->jobs;
    const bool is_ours = self->process == getpid();
    PyThreadState *const state = PyEval_SaveThread();
    for (int users = self->users; users != 0 && is_ours; users = self->users)
        self->users.wait(users);
    const int error = tw_durable_close(jobs);
    if (is_ours)
        tw_runtime_free(self->timers);
    PyEval_RestoreThread(state);
    self->jobs = nullptr;
    self->timers = nullptr;
    for (const handler &each : self->handlers)
        Py_DECREF(each.callable);
    self->handlers.clear();
    return error;
}

PyObject *close_connection(PyObject *self, PyObject *) {
    connection *const of = connection_at(self);
    if (depth_of_user_code > 0)
        return raise(-EBUSY, "a handler or an event must not close a connection");
    const int error = of->is_closing ? 0 : close_natively(of);
    return error != 0 ? raise(error, tw_durable_explain(error)) : Py_NewRef(Py_None);
}

void free_connection(PyObject *self) {
    connection *const of = connection_at(self);
    if (of->jobs != nullptr || of->timers != nullptr)
        close_natively(of);
    Py_XDECREF(of->on_event);
    of->handlers.~deque();
    PyTypeObject *const type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

// --- calls -------------------------------------------------------------------------------------

// register(kind, callable, attempts, backoff_ns, backoff_max_ns, running, rate, per_ns)
PyObject *register_handler(PyObject *self, PyObject *arguments) {
    connection *const of = connection_at(self);
    const char *kind;
    PyObject *callable;
    unsigned attempts, running, rate;
    long long backoff, longest, per;
    if (!PyArg_ParseTuple(arguments, "sOILLIIL", &kind, &callable, &attempts, &backoff, &longest, &running,
                          &rate, &per))
        return nullptr;
    const tw_durable_handling how = {attempts, backoff, longest, running, rate, per};
    handler &added = of->handlers.emplace_back(handler{of, Py_NewRef(callable)});
    const std::int64_t error = without_gil(
        of, [&](tw_durable *jobs) { return tw_durable_register(jobs, kind, call_handler, &added, &how); });
    if (error != 0) {
        Py_CLEAR(of->handlers.back().callable);
        of->handlers.pop_back();
    }
    return none_unless_raised();
}

bool read_job(PyObject *from, tw_durable_job &job) {
    Py_ssize_t size;
    const char *payload;
    long long due, period, grace, within;
    int missed;
    if (!PyArg_ParseTuple(from, "ssy#LpLzziLzzL", &job.kind, &job.key, &payload, &size, &due, &job.absolute,
                          &period, &job.cron, &job.zone, &missed, &grace, &job.group, &job.waits_for,
                          &within))
        return false;
    job.payload = payload;
    job.size = static_cast<std::size_t>(size);
    job.due_ns = due;
    job.period_ns = period;
    job.missed = static_cast<tw_durable_missed>(missed);
    job.grace_ns = grace;
    job.within_ns = within;
    return true;
}

// put(a tuple of jobs, existing) returns False if the one job to add exists.
PyObject *put(PyObject *self, PyObject *arguments) {
    PyObject *from;
    int existing;
    if (!PyArg_ParseTuple(arguments, "O!i", &PyTuple_Type, &from, &existing))
        return nullptr;
    std::vector<tw_durable_job> jobs(static_cast<std::size_t>(PyTuple_GET_SIZE(from)));
    for (std::size_t i = 0; i < jobs.size(); ++i)
        if (!read_job(PyTuple_GET_ITEM(from, static_cast<Py_ssize_t>(i)), jobs[i]))
            return nullptr;
    const auto how = static_cast<tw_durable_existing>(existing);
    const std::int64_t result = without_gil(
        connection_at(self),
        [&](tw_durable *to) {
            return jobs.size() == 1 ? tw_durable_put(to, jobs.data(), how)
                                    : tw_durable_put_many(to, jobs.data(), jobs.size(), how);
        },
        -EEXIST);
    return PyErr_Occurred() != nullptr ? nullptr : PyBool_FromLong(result == 0);
}

// cancel(kind, key) returns None if there is no such job.
PyObject *cancel(PyObject *self, PyObject *arguments) {
    const char *kind, *key;
    if (!PyArg_ParseTuple(arguments, "ss", &kind, &key))
        return nullptr;
    const std::int64_t result = without_gil(
        connection_at(self), [&](tw_durable *jobs) { return tw_durable_cancel(jobs, kind, key); }, -ENOENT);
    return result < 0 ? none_unless_raised() : PyBool_FromLong(result != 0);
}

PyObject *requeue(PyObject *self, PyObject *arguments) {
    const char *kind, *key;
    if (!PyArg_ParseTuple(arguments, "zz", &kind, &key))
        return nullptr;
    const std::int64_t result = without_gil(
        connection_at(self), [&](tw_durable *jobs) { return tw_durable_requeue(jobs, kind, key); }, -ENOENT);
    return number_unless_raised(result == -ENOENT ? 0 : result);
}

PyObject *fire_now(PyObject *self, PyObject *arguments) {
    const char *kind, *key;
    if (!PyArg_ParseTuple(arguments, "ss", &kind, &key))
        return nullptr;
    const std::int64_t result = without_gil(
        connection_at(self), [&](tw_durable *jobs) { return tw_durable_fire_now(jobs, kind, key); });
    return result < 0 ? nullptr : PyBool_FromLong(result != 0);
}

struct row {
    std::string kind, key, payload, cron, zone, holder, error, group, waits_for;
    bool is_held, has_error;
    tw_durable_entry entry;

    explicit row(const tw_durable_entry &from)
        : kind(from.job.kind), key(from.job.key),
          payload(static_cast<const char *>(from.job.payload), from.job.size), cron(text(from.job.cron)),
          zone(text(from.job.zone)), holder(text(from.holder)), error(text(from.error)),
          group(text(from.job.group)), waits_for(text(from.job.waits_for)), is_held(from.holder != nullptr),
          has_error(from.error != nullptr), entry(from) {}

    static const char *text(const char *from) { return from != nullptr ? from : ""; }
    const char *unless_empty(const std::string &from) const { return from.empty() ? nullptr : from.c_str(); }

    PyObject *tuple() const {
        return Py_BuildValue(
            "ssy#LLLzziILzLzzz", kind.c_str(), key.c_str(), payload.data(),
            static_cast<Py_ssize_t>(payload.size()), static_cast<long long>(entry.job.due_ns),
            static_cast<long long>(entry.ready_ns), static_cast<long long>(entry.job.period_ns),
            unless_empty(cron), unless_empty(zone), static_cast<int>(entry.state),
            static_cast<unsigned>(entry.attempts), static_cast<long long>(entry.token),
            is_held ? holder.c_str() : nullptr, static_cast<long long>(entry.holder_id),
            has_error ? error.c_str() : nullptr, unless_empty(group), unless_empty(waits_for));
    }
};

// A visitor that copies what it sees, without the GIL: into Copies, a vector.
template <class Copies, class Seen> int copy(const Seen *seen, void *into) noexcept {
    try {
        static_cast<Copies *>(into)->emplace_back(*seen);
        return 0;
    } catch (const std::bad_alloc &) {
        return -ENOMEM;
    }
}

template <class Copy> PyObject *list_of(const std::vector<Copy> &rows) {
    PyObject *const list = PyList_New(static_cast<Py_ssize_t>(rows.size()));
    for (std::size_t i = 0; list != nullptr && i < rows.size(); ++i) {
        PyObject *const tuple = rows[i].tuple();
        if (tuple == nullptr) {
            Py_DECREF(list);
            return nullptr;
        }
        PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), tuple);
    }
    return list;
}

// get(kind, key) returns a list of at most one job.
PyObject *get(PyObject *self, PyObject *arguments) {
    const char *kind, *key;
    std::vector<row> rows;
    if (!PyArg_ParseTuple(arguments, "ss", &kind, &key))
        return nullptr;
    without_gil(
        connection_at(self),
        [&](tw_durable *jobs) { return tw_durable_get(jobs, kind, key, copy<std::vector<row>>, &rows); },
        -ENOENT);
    return PyErr_Occurred() != nullptr ? nullptr : list_of(rows);
}

bool read_filter(PyObject *arguments, tw_durable_filter &filter) {
    Py_ssize_t limit;
    long long before, from;
    if (!PyArg_ParseTuple(arguments, "zIznzLLz", &filter.kind, &filter.states, &filter.after, &limit,
                          &filter.after_kind, &before, &from, &filter.group))
        return false;
    filter.limit = static_cast<std::size_t>(limit);
    filter.ready_before_ns = before;
    filter.ready_from_ns = from;
    return true;
}

// list(kind, states, after, limit, after_kind, ready_before_ns, ready_from_ns, group), and the same for
// count, cancel_many and requeue_many
PyObject *list(PyObject *self, PyObject *arguments) {
    tw_durable_filter filter = {};
    std::vector<row> rows;
    if (!read_filter(arguments, filter))
        return nullptr;
    without_gil(connection_at(self), [&](tw_durable *jobs) {
        return tw_durable_list(jobs, &filter, copy<std::vector<row>>, &rows);
    });
    return PyErr_Occurred() != nullptr ? nullptr : list_of(rows);
}

// Passes a filter to a function of the library that returns a number of jobs.
template <std::int64_t (*function)(tw_durable *, const tw_durable_filter *)>
PyObject *number_of(PyObject *self, PyObject *arguments) {
    tw_durable_filter filter = {};
    if (!read_filter(arguments, filter))
        return nullptr;
    return number_unless_raised(
        without_gil(connection_at(self), [&](tw_durable *jobs) { return function(jobs, &filter); }));
}

PyObject *why(PyObject *self, PyObject *arguments) {
    const char *kind, *key;
    char text[4096];
    if (!PyArg_ParseTuple(arguments, "ss", &kind, &key))
        return nullptr;
    without_gil(
        connection_at(self),
        [&](tw_durable *jobs) { return tw_durable_why(jobs, kind, key, text, sizeof text); }, -ENOENT);
    return PyErr_Occurred() != nullptr
               ? nullptr
               : PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(strlen(text)), "replace");
}

// A Python tuple of some values. `make` returns a new reference, or null with an exception.
template <class Value, class Make> PyObject *tuple_of(const std::vector<Value> &values, Make make) {
    PyObject *const all = PyTuple_New(static_cast<Py_ssize_t>(values.size()));
    for (std::size_t i = 0; all != nullptr && i < values.size(); ++i) {
        PyObject *const made = make(values[i]);
        if (made == nullptr) {
            Py_DECREF(all);
            return nullptr;
        }
        PyTuple_SET_ITEM(all, static_cast<Py_ssize_t>(i), made);
    }
    return all;
}

struct member {
    std::string name;
    std::vector<std::string> kinds;
    tw_durable_member seen;

    explicit member(const tw_durable_member &from)
        : name(from.name), kinds(from.kinds, from.kinds + from.kinds_count), seen(from) {}

    PyObject *tuple() const {
        PyObject *const handled =
            seen.knows_kinds != 0
                ? tuple_of(kinds, [](const std::string &kind) { return PyUnicode_FromString(kind.c_str()); })
                : Py_NewRef(Py_None);
        return handled == nullptr
                   ? nullptr
                   : Py_BuildValue("LsLLNKKNL", static_cast<long long>(seen.id), name.c_str(),
                                   static_cast<long long>(seen.joined_ns),
                                   static_cast<long long>(seen.lease_end_ns), PyBool_FromLong(seen.dead),
                                   static_cast<unsigned long long>(seen.held),
                                   static_cast<unsigned long long>(seen.started), handled,
                                   static_cast<long long>(seen.clock_offset_ns));
    }
};

PyObject *members(PyObject *self, PyObject *) {
    std::vector<member> all;
    without_gil(connection_at(self),
                [&](tw_durable *jobs) { return tw_durable_members(jobs, copy<std::vector<member>>, &all); });
    return PyErr_Occurred() != nullptr ? nullptr : list_of(all);
}

struct tally {
    std::string kind;
    std::vector<std::uint64_t> pending;
    tw_durable_tally seen;

    PyObject *tuple() const {
        PyObject *const by_time = tuple_of(pending, PyLong_FromUnsignedLongLong);
        return by_time == nullptr
                   ? nullptr
                   : Py_BuildValue("sKKKKKLN", kind.c_str(), static_cast<unsigned long long>(seen.held),
                                   static_cast<unsigned long long>(seen.started),
                                   static_cast<unsigned long long>(seen.failed),
                                   static_cast<unsigned long long>(seen.given_up),
                                   static_cast<unsigned long long>(seen.waiting),
                                   static_cast<long long>(seen.first_ready_ns), by_time);
    }
};

// Copies tallies, whose arrays have one element for each time and one more.
struct tallies_so_far {
    std::vector<std::int64_t> times;
    std::vector<tally> all;

    void emplace_back(const tw_durable_tally &seen) {
        all.push_back({seen.kind, {seen.pending, seen.pending + times.size() + 1}, seen});
    }
};

// tallies(a tuple of times in nanoseconds, most)
PyObject *tallies(PyObject *self, PyObject *arguments) {
    PyObject *from;
    unsigned long long most;
    if (!PyArg_ParseTuple(arguments, "O!K", &PyTuple_Type, &from, &most))
        return nullptr;
    tallies_so_far found;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(from); ++i)
        found.times.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(from, i)));
    if (PyErr_Occurred() != nullptr)
        return nullptr;
    without_gil(connection_at(self), [&](tw_durable *jobs) {
        return tw_durable_tallies(jobs, found.times.data(), found.times.size(), most, copy<tallies_so_far>,
                                  &found);
    });
    return PyErr_Occurred() != nullptr ? nullptr : list_of(found.all);
}

PyObject *now(PyObject *self, PyObject *) {
    return number_unless_raised(without_gil(connection_at(self), tw_durable_now));
}

PyObject *stats(PyObject *self, PyObject *) {
    tw_durable_counts seen = {};
    if (without_gil(connection_at(self), [&](tw_durable *jobs) { return tw_durable_stats(jobs, &seen); }) !=
        0)
        return nullptr;
    return Py_BuildValue(
        "{sKsKsKsKsKsKsKsKsKsKsKsKsKsKsKsLsLsnsnsnsNsiszsLsL}", "claimed", seen.claimed, "started",
        seen.started, "unconfirmed", seen.unconfirmed, "done", seen.done, "again", seen.again, "retried",
        seen.retried, "failed", seen.failed, "skipped", seen.skipped, "taken_back", seen.taken_back,
        "unmatched", seen.unmatched, "connects", seen.connects, "errors", seen.errors, "lost_leases",
        seen.lost_leases, "released", seen.released, "late_count", seen.late_count, "late_sum_ns",
        static_cast<long long>(seen.late_sum_ns), "late_max_ns", static_cast<long long>(seen.late_max_ns),
        "held", static_cast<Py_ssize_t>(seen.held), "running", static_cast<Py_ssize_t>(seen.running),
        "unsettled", static_cast<Py_ssize_t>(seen.unsettled), "connected", PyBool_FromLong(seen.connected),
        "error", seen.error, "why", seen.why, "lease_ns", static_cast<long long>(seen.lease_ns),
        "clock_uncertainty_ns", static_cast<long long>(seen.clock_uncertainty_ns));
}

// advance(nanoseconds), on virtual time
PyObject *advance(PyObject *self, PyObject *by) {
    const long long ns = PyLong_AsLongLong(by);
    connection *const of = connection_at(self);
    if (ns == -1 && PyErr_Occurred() != nullptr)
        return nullptr;
    if (!of->is_virtual) {
        PyErr_SetString(PyExc_ValueError, "only virtual time can be advanced");
        return nullptr;
    }
    without_gil(of, [&](tw_durable *) { return tw_runtime_advance(of->timers, ns); });
    return none_unless_raised();
}

PyMethodDef methods_of_connection[] = {
    {"close", close_connection, METH_NOARGS, nullptr},
    {"register", register_handler, METH_VARARGS, nullptr},
    {"put", put, METH_VARARGS, nullptr},
    {"cancel", cancel, METH_VARARGS, nullptr},
    {"requeue", requeue, METH_VARARGS, nullptr},
    {"get", get, METH_VARARGS, nullptr},
    {"list", list, METH_VARARGS, nullptr},
    {"count", number_of<tw_durable_count>, METH_VARARGS, nullptr},
    {"cancel_many", number_of<tw_durable_cancel_many>, METH_VARARGS, nullptr},
    {"requeue_many", number_of<tw_durable_requeue_many>, METH_VARARGS, nullptr},
    {"fire_now", fire_now, METH_VARARGS, nullptr},
    {"why", why, METH_VARARGS, nullptr},
    {"members", members, METH_NOARGS, nullptr},
    {"tallies", tallies, METH_VARARGS, nullptr},
    {"now", now, METH_NOARGS, nullptr},
    {"stats", stats, METH_NOARGS, nullptr},
    {"advance", advance, METH_O, nullptr},
    {}};
PyType_Slot slots_of_connection[] = {{Py_tp_new, slot(new_connection)},
                                     {Py_tp_init, slot(open_connection)},
                                     {Py_tp_dealloc, slot(free_connection)},
                                     {Py_tp_methods, methods_of_connection},
                                     {}};
PyType_Spec spec_of_connection = {"tickwheel._durable.Connection", sizeof(connection), 0, Py_TPFLAGS_DEFAULT,
                                  slots_of_connection};

// --- the module --------------------------------------------------------------------------------

int fill_module(PyObject *module) {
    PyObject *const fires = PyType_FromModuleAndSpec(module, &spec_of_fire, nullptr);
    *static_cast<PyObject **>(PyModule_GetState(module)) = fires;
    PyObject *const connections =
        fires != nullptr ? PyType_FromModuleAndSpec(module, &spec_of_connection, nullptr) : nullptr;
    const int error = connections != nullptr ? PyModule_AddObjectRef(module, "Connection", connections) : -1;
    Py_XDECREF(connections);
    return error;
}

int traverse_module(PyObject *module, visitproc visit, void *arg) {
    Py_VISIT(*static_cast<PyObject **>(PyModule_GetState(module)));
    return 0;
}

int clear_module(PyObject *module) {
    Py_CLEAR(*static_cast<PyObject **>(PyModule_GetState(module)));
    return 0;
}

PyModuleDef_Slot slots_of_module[] = {{Py_mod_exec, slot(fill_module)}, {}};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "tickwheel._durable", nullptr, sizeof(PyObject *), nullptr, slots_of_module,
    traverse_module,       clear_module,         nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__durable() { return PyModuleDef_Init(&definition); }
