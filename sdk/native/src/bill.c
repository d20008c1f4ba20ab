/* Sums over finished calls, for the loops of core/bill.py. None: they have to run in Python. */

#include "core.h"

PyObject *skipped, *continued; /* texts that are compared by identity */

static const i64 LARGE = PY_LLONG_MAX / 65536; /* of fewer calls than that, the sums have 63 bits */

static int
is_small(PyObject *object, i64 *number)
{
    return as_i64(object, number) && *number <= LARGE && *number >= -LARGE;
}

/*
 * The calls of a list, as a tuple: a finalizer may change the list while something is allocated here. NULL when they are
 * not at most 65,535 tuples of 8, with an exception when there is no memory.
 */
static PyObject *
checked(PyObject *calls)
{
    if (!PyList_CheckExact(calls) || PyList_GET_SIZE(calls) >= 65536)
        return NULL;
    calls = PyList_AsTuple(calls);
    for (Py_ssize_t i = 0; calls != NULL && i < PyTuple_GET_SIZE(calls); i++) {
        PyObject *call = PyTuple_GET_ITEM(calls, i);
        if (!PyTuple_CheckExact(call) || PyTuple_GET_SIZE(call) != 8)
            Py_CLEAR(calls);
    }
    return calls;
}

static PyObject *
in_python_instead(PyObject *calls)
{
    Py_XDECREF(calls);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* The list of a key, borrowed from the dict, which gets an empty one; NULL with an exception. */
static PyObject *
list_of(PyObject *lists, PyObject *key)
{
    PyObject *list = PyDict_GetItemWithError(lists, key);
    if (list != NULL || PyErr_Occurred() || (list = PyList_New(0)) == NULL)
        return list;
    int failed = PyDict_SetItem(lists, key, list);
    Py_DECREF(list); /* the dict has it */
    return failed ? NULL : list;
}

PyObject *
by_line(PyObject *module, PyObject *calls)
{
    if ((calls = checked(calls)) == NULL)
        return in_python_instead(NULL);
    PyObject *lists = PyDict_New(), *keys = NULL, *pairs = NULL, *last = NULL, *list = NULL;
    if (lists == NULL)
        return in_python_instead(calls);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(calls); i++) {
        PyObject *call = PyTuple_GET_ITEM(calls, i), *line = PyTuple_GET_ITEM(call, 0);
        if (!PyLong_CheckExact(line)) {
            Py_DECREF(lists);
            return in_python_instead(calls);
        }
        if (line != last) {
            last = line;
            if ((list = list_of(lists, line)) == NULL)
                goto error;
        }
        if (PyList_Append(list, call))
            goto error;
    }
    keys = PyDict_Keys(lists);
    if (keys == NULL || PyList_Sort(keys) || (pairs = PyList_New(0)) == NULL)
        goto error;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys); i++) {
        PyObject *line = PyList_GET_ITEM(keys, i);
        PyObject *pair = PyTuple_Pack(2, line, PyDict_GetItemWithError(lists, line));
        int failed = pair == NULL || PyList_Append(pairs, pair);
        Py_XDECREF(pair);
        if (failed)
            goto error;
    }
    Py_DECREF(keys);
    Py_DECREF(lists);
    Py_DECREF(calls);
    return pairs;
error:
    Py_XDECREF(keys);
    Py_XDECREF(pairs);
    Py_DECREF(lists);
    return in_python_instead(calls);
}

PyObject *
sums(PyObject *module, PyObject *calls)
{
    if ((calls = checked(calls)) == NULL)
        return in_python_instead(NULL);
    i64 time = 0, most = 0, replied = 0, matched = 0, unanswered = 0, broken_off = 0, skips = 0, no_calls = 0;
    PyObject *failures = NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(calls); i++) {
        PyObject *call = PyTuple_GET_ITEM(calls, i), *failure = PyTuple_GET_ITEM(call, 5);
        i64 own, requested, of_call;
        if (!is_small(PyTuple_GET_ITEM(call, 4), &own) || !is_small(PyTuple_GET_ITEM(call, 6), &requested) ||
            !is_small(PyTuple_GET_ITEM(call, 7), &of_call)) {
            Py_XDECREF(failures);
            return in_python_instead(calls);
        }
        time += own;
        most = own > most ? own : most;
        if (failure == Py_None && of_call >= 0) {
            replied += requested;
            matched += of_call;
        }
        else if (failure == skipped) {
            skips++;
            no_calls++;
            continue;
        }
        else {
            unanswered += requested;
            if (failure != Py_None) {
                broken_off += of_call > 0 ? of_call : 0;
                if ((failures == NULL && (failures = PyList_New(0)) == NULL) || PyList_Append(failures, failure)) {
                    Py_XDECREF(failures);
                    return in_python_instead(calls);
                }
            }
        }
        if (PyTuple_GET_ITEM(call, 1) == continued)
            no_calls++;
    }
    Py_DECREF(calls);
    return Py_BuildValue("LLLLLLLLN", time, most, replied, matched, unanswered, broken_off, skips, no_calls,
                         failures == NULL ? PyTuple_New(0) : failures);
}

/* (times by text, errors by text) of SQL that is all plain text. */
PyObject *
times_by_text(PyObject *module, PyObject *calls)
{
    if ((calls = checked(calls)) == NULL)
        return in_python_instead(NULL);
    PyObject *times = PyDict_New(), *errors = PyDict_New(), *last = NULL, *list = NULL;
    if (times == NULL || errors == NULL)
        goto error;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(calls); i++) {
        PyObject *call = PyTuple_GET_ITEM(calls, i), *text = PyTuple_GET_ITEM(call, 1);
        if (PyTuple_CheckExact(text) && PyTuple_GET_SIZE(text))
            text = PyTuple_GET_ITEM(text, 0);
        if (!PyUnicode_CheckExact(text) || text == continued) {
            Py_DECREF(times);
            Py_DECREF(errors);
            return in_python_instead(calls);
        }
        if (text != last) {
            last = text;
            if ((list = list_of(times, text)) == NULL)
                goto error;
        }
        if (PyList_Append(list, PyTuple_GET_ITEM(call, 4)))
            goto error;
        if (PyTuple_GET_ITEM(call, 5) != Py_None) {
            PyObject *before = PyDict_GetItemWithError(errors, text);
            PyObject *now = PyErr_Occurred() ? NULL : PyLong_FromLong(before == NULL ? 1 : PyLong_AsLong(before) + 1);
            int failed = now == NULL || PyDict_SetItem(errors, text, now);
            Py_XDECREF(now);
            if (failed)
                goto error;
        }
    }
    Py_DECREF(calls);
    return Py_BuildValue("NN", times, errors);
error:
    Py_XDECREF(times);
    Py_XDECREF(errors);
    return in_python_instead(calls);
}
