/* `Transaction.record` of a running transaction: the same tuple in the same list as the Python form makes. */

#include "core.h"
#include <structmember.h>

struct slots slots;
static PyObject *str_locate, *str_make_room;

static int
offset_of(PyObject *type, const char *name, Py_ssize_t *offset)
{
    PyObject *descriptor = PyObject_GetAttrString(type, name);
    if (descriptor == NULL)
        return -1;
    if (!Py_IS_TYPE(descriptor, &PyMemberDescr_Type) || ((PyMemberDescrObject *)descriptor)->d_member->type != T_OBJECT_EX) {
        PyErr_Format(PyExc_TypeError, "%s is no slot", name);
        Py_DECREF(descriptor);
        return -1;
    }
    *offset = ((PyMemberDescrObject *)descriptor)->d_member->offset;
    Py_DECREF(descriptor);
    return 0;
}

int
bind_slots(PyObject *transaction)
{
    if (!PyType_Check(transaction)) {
        PyErr_SetString(PyExc_TypeError, "bind takes a class");
        return -1;
    }
    if (offset_of(transaction, "nested_ns", &slots.nested_ns) || offset_of(transaction, "calls", &slots.calls) ||
        offset_of(transaction, "duration_ns", &slots.duration_ns) ||
        offset_of(transaction, "locate_ns", &slots.locate_ns) || offset_of(transaction, "look_at", &slots.look_at) ||
        offset_of(transaction, "thread", &slots.thread) || offset_of(transaction, "statement", &slots.statement) ||
        offset_of(transaction, "in_call", &slots.in_call) ||
        offset_of(transaction, "sql_comment", &slots.sql_comment))
        return -1;
    if (str_make_room == NULL) {
        str_locate = PyUnicode_InternFromString("locate");
        str_make_room = PyUnicode_InternFromString("make_room");
        if (str_locate == NULL || str_make_room == NULL)
            return -1;
    }
    Py_INCREF(transaction);
    Py_XSETREF(slots.transaction, (PyTypeObject *)transaction);
    return 0;
}

/*
 * Made before the clock is read: only this allocation can start a garbage collection, whose finalizers may make calls.
 * Untracked until it is filled: nobody can find it half empty.
 */
PyObject *
empty_call(void)
{
    PyObject *call = PyTuple_New(8);
    if (call != NULL)
        PyObject_GC_UnTrack(call);
    return call;
}

int
record_call(PyObject *transaction, PyObject *call, PyObject *line, PyObject *subject, PyObject *started_ns,
            PyObject *ended_ns, PyObject *outer_ns, PyObject *failure, PyObject *requested, PyObject *matched)
{
    i64 started, ended, outer, nested, duration, locate, look_at;
    PyObject *calls = SLOT(transaction, calls);
    if (!as_ns(SLOT(transaction, duration_ns), &duration) || duration || !as_ns(started_ns, &started) ||
        !as_ns(ended_ns, &ended) || !as_ns(outer_ns, &outer) || !as_ns(SLOT(transaction, nested_ns), &nested) ||
        !as_ns(SLOT(transaction, locate_ns), &locate) || !as_ns(SLOT(transaction, look_at), &look_at) ||
        calls == NULL || !PyList_CheckExact(calls)) {
        Py_DECREF(call);
        return 0;
    }
    i64 elapsed = ended - started;
    PyObject *own_ns = PyLong_FromLongLong(outer + elapsed - nested);
    PyObject *nested_ns = own_ns == NULL ? NULL : PyLong_FromLongLong(outer + elapsed);
    if (nested_ns == NULL) {
        Py_XDECREF(own_ns);
        Py_DECREF(call);
        return -1;
    }
    PyObject *items[8] = {line, subject, started_ns, ended_ns, NULL, failure, requested, matched};
    for (int i = 0; i < 8; i++)
        PyTuple_SET_ITEM(call, i, i == 4 ? own_ns : Py_NewRef(items[i]));
    if (!PyUnicode_CheckExact(subject) && !PyBytes_CheckExact(subject) && subject != Py_None)
        PyObject_GC_Track(call);
    int failed = PyList_Append(calls, call);
    Py_DECREF(call);
    if (failed) {
        Py_DECREF(nested_ns);
        return -1;
    }
    PyObject *before = SLOT(transaction, nested_ns);
    SLOT(transaction, nested_ns) = nested_ns;
    Py_XDECREF(before);
    Py_ssize_t count = PyList_GET_SIZE(calls);
    if (failure != Py_None || elapsed >= locate) {
        PyObject *done = PyObject_CallMethodObjArgs(transaction, str_locate, line, started_ns, NULL);
        if (done == NULL)
            return -1;
        Py_DECREF(done);
    }
    if (count >= look_at) {
        PyObject *done = PyObject_CallMethodNoArgs(transaction, str_make_room);
        if (done == NULL)
            return -1;
        Py_DECREF(done);
    }
    return 1;
}
