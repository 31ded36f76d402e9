// The extension module tickwheel._tickwheel. wheel.hpp has TimerWheel and its Timer, loop.hpp the timers of
// the asyncio event loop; timer.hpp is what both use.
#include "loop.hpp"
#include "wheel.hpp"

namespace {

struct types {
    PyTypeObject *timer, *handle;
};

extern PyModuleDef definition;

// Makes an owner that is not open yet.
owner *new_owner(PyTypeObject *type, PyTypeObject *types::*of_timers) {
    PyObject *module = PyType_GetModuleByDef(type, &definition);
    if (module == nullptr)
        return nullptr;
    owner *made = reinterpret_cast<owner *>(type->tp_alloc(type, 0));
    if (made == nullptr)
        return nullptr;
    // The module, which the type keeps, keeps this type.
    made->type_of_timers = static_cast<types *>(PyModule_GetState(module))->*of_timers;
    made->closed = true;
    tw_init(&made->wheel, 0, TW_UNLOCKED);
    return made;
}

PyObject *new_wheel(PyTypeObject *type, PyObject *, PyObject *) {
    timer_wheel *wheel = static_cast<timer_wheel *>(new_owner(type, &types::timer));
    if (wheel == nullptr)
        return nullptr;
    wheel->descriptor = -1;
    wheel->set_for = TW_NEVER;
    init_waiting(wheel);
    return &wheel->base;
}

PyObject *new_loop(PyTypeObject *type, PyObject *, PyObject *) {
    loop_timers *loop = static_cast<loop_timers *>(new_owner(type, &types::handle));
    if (loop == nullptr)
        return nullptr;
    tw_init(&loop->wheel, reached_at(monotonic()), TW_UNLOCKED);
    loop->closed = false;
    return &loop->base;
}

PyTypeObject *make_type(PyObject *module, PyType_Spec &spec, const char *name) {
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, nullptr);
    if (type != nullptr && PyModule_AddObjectRef(module, name, type) != 0)
        Py_CLEAR(type);
    return reinterpret_cast<PyTypeObject *>(type);
}

int fill_module(PyObject *module) {
    types *made = static_cast<types *>(PyModule_GetState(module));
    made->timer = make_type(module, spec_of_timer, "Timer");
    made->handle = make_type(module, spec_of_handle, "TimerHandle");
    PyTypeObject *wheel = make_type(module, spec_of_wheel, "Wheel");
    PyTypeObject *loop = make_type(module, spec_of_loop, "LoopTimers");
    const bool done =
        made->timer != nullptr && made->handle != nullptr && wheel != nullptr && loop != nullptr;
    Py_XDECREF(wheel);  // the module has them
    Py_XDECREF(loop);
    return done ? PyModule_AddIntConstant(module, "VERSION", tw_version()) : -1;
}

int traverse_module(PyObject *module, visitproc visit, void *arg) {
    const types *made = static_cast<types *>(PyModule_GetState(module));
    Py_VISIT(made->timer);
    Py_VISIT(made->handle);
    return 0;
}

int clear_module(PyObject *module) {
    types *made = static_cast<types *>(PyModule_GetState(module));
    Py_CLEAR(made->timer);
    Py_CLEAR(made->handle);
    return 0;
}

PyModuleDef_Slot slots_of_module[] = {{Py_mod_exec, slot(fill_module)}, {}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "tickwheel._tickwheel", nullptr,      sizeof(types), nullptr,
                          slots_of_module,       traverse_module,        clear_module, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__tickwheel() { return PyModuleDef_Init(&definition); }
