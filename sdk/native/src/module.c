/* The module `walltime_native`. It has no policy: walltime/native.py decides whether it is used. */

#include "core.h"

#ifdef Py_GIL_DISABLED
#error "the core needs the GIL"
#endif

/* What must be equal in walltime/native.py. */
#define INTERFACE 2

/* bind(Transaction, running, SKIPPED, CONTINUED) */
static PyObject *
bind(PyObject *module, PyObject *args)
{
    PyObject *transaction, *running, *of_skipped, *of_continued;
    if (!PyArg_ParseTuple(args, "OOUU", &transaction, &running, &of_skipped, &of_continued))
        return NULL;
    if (bind_slots(transaction) || bind_callables(running))
        return NULL;
    Py_XSETREF(skipped, Py_NewRef(of_skipped));
    Py_XSETREF(continued, Py_NewRef(of_continued));
    Py_RETURN_NONE;
}

static PyObject *
clock_now(PyObject *module, PyObject *nothing)
{
    return PyLong_FromLongLong(clock_ns());
}

static const char *const names[FORMS] = {"count", "counts", "child"};
static PyObject *python_forms[FORMS];

PyObject *
in_python(enum form form, PyObject *const *args, Py_ssize_t nargs)
{
    if (python_forms[form] != NULL)
        return PyObject_Vectorcall(python_forms[form], args, nargs, NULL);
    PyErr_SetString(PyExc_RuntimeError, "the Python form is unknown");
    return NULL;
}

/* faster(function): the function of the same name here, which calls that one where it is not the plain case. */
static PyObject *
faster(PyObject *module, PyObject *function)
{
    PyObject *name = PyObject_GetAttrString(function, "__name__");
    if (name == NULL)
        return NULL;
    for (int i = 0; i < FORMS; i++)
        if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, names[i]) == 0) {
            Py_DECREF(name);
            Py_XSETREF(python_forms[i], Py_NewRef(function));
            return PyObject_GetAttrString(module, names[i]);
        }
    PyErr_Format(PyExc_ValueError, "there is no %U here", name);
    Py_DECREF(name);
    return NULL;
}

static PyMethodDef methods[] = {
    {"faster", faster, METH_O, NULL},
    {"bind", bind, METH_VARARGS, NULL},
    {"clock", clock_now, METH_NOARGS, NULL},
    {"by_line", by_line, METH_O, NULL},
    {"sums", sums, METH_O, NULL},
    {"times_by_text", times_by_text, METH_O, NULL},
    {"count", (PyCFunction)(void (*)(void))encode_count, METH_FASTCALL, NULL},
    {"counts", (PyCFunction)(void (*)(void))encode_counts, METH_FASTCALL, NULL},
    {"child", (PyCFunction)(void (*)(void))encode_child, METH_FASTCALL, NULL},
    {NULL},
};

/* Runs in each interpreter. What is kept in static variables belongs to the first one, and to its first life. */
static int
exec_module(PyObject *module)
{
    static int is_used;
    if (is_used || PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_RuntimeError, "the core runs in the main interpreter only, and once");
        return -1;
    }
    is_used = 1;
    if (PyType_Ready(&Callable_Type) < 0 || PyModule_AddIntConstant(module, "INTERFACE", INTERFACE) < 0)
        return -1;
    return PyModule_AddObjectRef(module, "Callable", (PyObject *)&Callable_Type);
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, exec_module}, {0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "walltime_native", .m_methods = methods, .m_slots = module_slots};

PyMODINIT_FUNC
PyInit_walltime_native(void)
{
    return PyModuleDef_Init(&definition);
}
