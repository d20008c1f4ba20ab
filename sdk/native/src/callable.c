/*
 * What stands in the place of a Python function of ours: `Transaction.record`, and the wrappers of hot methods.
 *
 * Each has the Python form of itself, and takes only the plain case: a running transaction on its own thread, arguments
 * by position. All else is a call of the Python form, from the beginning. A wrapper holds nothing but references of its
 * own across the host's call, in which anything may happen: a greenlet may switch, the transaction may end, the method
 * may be patched again.
 */

#include "core.h"
#include <structmember.h>
#include <time.h>

enum kind { RECORD, SCOPE, STATEMENT, LOOKUP, TAG, KINDS };

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *dict;
    PyObject *weakrefs;
    PyObject *python;   /* the Python form */
    PyObject *original; /* the host's method */
    PyObject *library, *end, *contain;
    Py_ssize_t most; /* STATEMENT: characters of a plain subject; TAG: the command that has a statement */
    PyObject *ends, *seconds; /* TAG: 256 bytes each, of which characters a plain statement's last and second are */
    enum kind kind;
} Callable;

static PyObject *running, *zero, *one, *str_known, *str_sock;

i64
clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now); /* the clock of time.perf_counter_ns on Linux and macOS */
    return (i64)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The running transaction, borrowed from the context variable and then owned; NULL when this is not the plain case. */
static PyObject *
plain_transaction(int *is_outside)
{
    PyObject *execution;
    *is_outside = 0;
    if (PyContextVar_Get(running, NULL, &execution) < 0) {
        PyErr_Clear();
        return NULL;
    }
    i64 thread;
    if (execution != NULL && Py_IS_TYPE(execution, slots.transaction) && as_i64(SLOT(execution, thread), &thread) &&
        (unsigned long)thread == PyThread_get_thread_ident())
        return execution;
    *is_outside = execution == Py_None;
    Py_XDECREF(execution);
    return NULL;
}

/* An attribute of an object, or NULL without an exception. */
static PyObject *
attribute(PyObject *of, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(of, name);
    if (value == NULL && PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Clear();
    return value;
}

/* The pending exception as an object with its traceback, as an `except` clause has it. */
static PyObject *
caught(void)
{
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback != NULL && error != NULL)
        PyException_SetTraceback(error, traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return error;
}

static void
raise_again(PyObject *error)
{
    PyErr_Restore(Py_NewRef(Py_TYPE(error)), error, PyException_GetTraceback(error));
}

/* Contain a failure of ours; -1 when it is not an `Exception`, or when `contain` raises, as it does under test. */
static int
contained(Callable *self)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception))
        return -1;
    PyObject *error = caught();
    if (error == NULL)
        return -1;
    PyObject *args[3] = {NULL, self->library, error};
    PyObject *done = PyObject_Vectorcall(self->contain, args + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    Py_DECREF(error);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* Give the call to the Python `end`, which describes and records it and raises nothing of ours. */
static int
ended(Callable *self, PyObject *transaction, PyObject *started_ns, PyObject *ended_ns, PyObject *outer_ns,
      PyObject *const *args, PyObject *result, PyObject *error)
{
    /* The clock has been read: the time of a collection that began here would be taken from the call's. */
    int collects = PyGC_Disable();
    PyObject *given = self->kind == LOOKUP ? PyTuple_Pack(2, args[1], args[2]) : PyTuple_Pack(1, args[1]);
    if (collects)
        PyGC_Enable();
    if (given == NULL)
        return contained(self);
    PyObject *all[9] = {NULL, transaction, started_ns, ended_ns, outer_ns, args[0], given, result, error};
    PyObject *done = PyObject_Vectorcall(self->end, all + 1, 8 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    Py_DECREF(given);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* What is plain about a call that returned: new references in `line`, `subject`, `requested` and `matched`; or 0. */
static int
statement_is_plain(Callable *self, PyObject *transaction, PyObject *const *args, PyObject *result, PyObject **described)
{
    i64 rows;
    PyObject *known = as_i64(result, &rows) && rows >= 0 ? attribute(args[0], str_known) : NULL;
    PyObject *subject = SLOT(transaction, statement);
    if (subject == NULL || subject == Py_None)
        subject = args[1];
    int is_plain = known != NULL && PyTuple_CheckExact(known) && PyTuple_GET_SIZE(known) == 2 &&
                   PyUnicode_CheckExact(subject) && !PyUnicode_READY(subject) &&
                   PyUnicode_GET_LENGTH(subject) <= self->most;
    if (is_plain) {
        described[0] = Py_NewRef(PyTuple_GET_ITEM(known, 0));
        described[1] = Py_NewRef(subject);
        described[2] = Py_NewRef(PyTuple_GET_ITEM(known, 1));
        described[3] = Py_NewRef(result);
    }
    Py_XDECREF(known);
    return is_plain;
}

static int
lookup_is_plain(PyObject *const *args, PyObject *result, PyObject **described)
{
    if (!PyList_CheckExact(args[2]) || PyList_GET_SIZE(args[2]) != 1 || !PyDict_CheckExact(result) ||
        PyDict_GET_SIZE(result) > 1 || !PyBytes_CheckExact(args[1]))
        return 0;
    PyObject *key = Py_NewRef(PyList_GET_ITEM(args[2], 0));
    int is_plain = 0;
    PyObject *known = attribute(args[0], str_known);
    if (known != NULL && PyDict_CheckExact(known)) {
        PyObject *line = PyDict_GetItemWithError(known, args[1]);
        int is_answer = PyDict_GET_SIZE(result) == 1;
        if (line != NULL && !is_answer) {
            Py_INCREF(line);
            PyObject *sock = attribute(args[0], str_sock); /* after an error that was swallowed it is None */
            is_answer = sock != NULL && sock != Py_None;
            Py_XDECREF(sock);
            Py_DECREF(line);
            line = PyErr_Occurred() ? NULL : PyDict_GetItemWithError(known, args[1]);
        }
        if (line != NULL && is_answer) {
            described[0] = Py_NewRef(line);
            described[1] = Py_NewRef(key);
            described[2] = Py_NewRef(one);
            described[3] = Py_NewRef(PyDict_GET_SIZE(result) ? one : zero);
            is_plain = 1;
        }
    }
    Py_XDECREF(known);
    Py_DECREF(key);
    return is_plain;
}

/* Describe and record a call that returned. -1: an exception that is not to be contained. */
static int
returned(Callable *self, PyObject *transaction, PyObject *call, PyObject *started_ns, PyObject *ended_ns,
         PyObject *outer_ns, PyObject *const *args, PyObject *result)
{
    PyObject *described[4];
    int is_plain = self->kind == LOOKUP ? lookup_is_plain(args, result, described)
                                        : statement_is_plain(self, transaction, args, result, described);
    if (!is_plain) {
        Py_DECREF(call);
        if (PyErr_Occurred())
            return contained(self);
        return ended(self, transaction, started_ns, ended_ns, outer_ns, args, result, Py_None);
    }
    int recorded = record_call(transaction, call, described[0], described[1], started_ns, ended_ns, outer_ns, Py_None,
                               described[2], described[3]);
    for (int i = 0; i < 4; i++)
        Py_DECREF(described[i]);
    if (recorded < 0)
        return contained(self);
    if (!recorded) /* its response has ended meanwhile */
        return ended(self, transaction, started_ns, ended_ns, outer_ns, args, result, Py_None);
    return 0;
}

static PyObject *
measured(Callable *self, PyObject *transaction, PyObject *const *args, size_t nargsf, PyObject *names)
{
    PyObject *outer_ns = SLOT(transaction, nested_ns), *call = empty_call(), *started_ns, *result, *ended_ns;
    if (outer_ns == NULL || call == NULL) {
        PyErr_Clear();
        Py_XDECREF(call);
        return PyObject_Vectorcall(self->python, args, nargsf, names);
    }
    Py_INCREF(outer_ns = SLOT(transaction, nested_ns)); /* a collection may have made calls */
    started_ns = PyLong_FromLongLong(clock_ns());
    if (started_ns == NULL) {
        PyErr_Clear();
        Py_DECREF(outer_ns);
        Py_DECREF(call);
        return PyObject_Vectorcall(self->original, args, nargsf, names);
    }
    PyObject *around = SLOT(transaction, in_call); /* for the sampler, which sees no frame of ours */
    SLOT(transaction, in_call) = Py_NewRef(Py_True);
    result = PyObject_Vectorcall(self->original, args, nargsf, names);
    Py_XSETREF(SLOT(transaction, in_call), around);
    PyObject *error = result == NULL ? caught() : NULL; /* before the clock: it may make an object */
    ended_ns = PyLong_FromLongLong(clock_ns());
    int failed = 0;
    if (ended_ns == NULL) {
        PyErr_Clear();
        Py_DECREF(call);
    }
    else if (error != NULL) {
        Py_DECREF(call);
        failed = ended(self, transaction, started_ns, ended_ns, outer_ns, args, Py_None, error);
    }
    else
        failed = returned(self, transaction, call, started_ns, ended_ns, outer_ns, args, result);
    Py_DECREF(started_ns);
    Py_XDECREF(ended_ns);
    Py_DECREF(outer_ns);
    if (failed) {
        Py_XDECREF(result);
        if (error != NULL) { /* raised while the host's was handled */
            PyObject *later = caught();
            if (later != NULL) {
                PyException_SetContext(later, error); /* steals */
                raise_again(later);
            }
            else
                Py_DECREF(error);
        }
        return NULL;
    }
    if (error != NULL)
        raise_again(error);
    return result;
}

/* The statement of a cursor's execute or executemany, while it runs: `template` of clients/mysql/statements.py. */
static PyObject *
scoped(Callable *self, PyObject *transaction, PyObject *const *args, size_t nargsf, PyObject *names)
{
    PyObject *outer = SLOT(transaction, statement);
    if (outer == NULL || (outer != Py_None && (args[1] == outer || !PyUnicode_CheckExact(args[1]))))
        return PyObject_Vectorcall(self->original, args, nargsf, names);
    SLOT(transaction, statement) = Py_NewRef(args[1]); /* `outer` keeps the slot's reference */
    PyObject *result = PyObject_Vectorcall(self->original, args, nargsf, names);
    PyObject *inner = SLOT(transaction, statement);
    SLOT(transaction, statement) = outer;
    Py_XDECREF(inner);
    return result;
}

/* The statement with the comment behind it; NULL without an exception when its place is not certain. */
static PyObject *
tagged(Callable *self, PyObject *comment, PyObject *sql)
{
    if (comment == NULL || !PyTuple_CheckExact(comment) || PyTuple_GET_SIZE(comment) != 3)
        return NULL;
    const char *text;
    Py_ssize_t size;
    int is_bytes = PyBytes_CheckExact(sql);
    if (is_bytes) {
        text = PyBytes_AS_STRING(sql);
        size = PyBytes_GET_SIZE(sql);
    }
    else if (PyUnicode_CheckExact(sql) && !PyUnicode_READY(sql) && PyUnicode_IS_COMPACT_ASCII(sql)) {
        text = (const char *)PyUnicode_DATA(sql);
        size = PyUnicode_GET_LENGTH(sql);
    }
    else
        return NULL;
    i64 room;
    PyObject *ours = PyTuple_GET_ITEM(comment, is_bytes ? 1 : 0);
    if (!as_i64(PyTuple_GET_ITEM(comment, 2), &room) || size < 2 || size >= room ||
        !PyBytes_AS_STRING(self->ends)[(unsigned char)text[size - 1]] ||
        !PyBytes_AS_STRING(self->seconds)[(unsigned char)text[1]] || memchr(text, '/', size) || memchr(text, '#', size) ||
        memchr(text, ';', size))
        return NULL;
    for (const char *at = text; (at = memchr(at, '-', text + size - at)) != NULL; at++)
        if (at + 1 < text + size && at[1] == '-')
            return NULL;
    if (is_bytes && PyBytes_CheckExact(ours)) {
        Py_INCREF(sql);
        PyBytes_Concat(&sql, ours);
        return sql;
    }
    return !is_bytes && PyUnicode_CheckExact(ours) ? PyUnicode_Concat(sql, ours) : NULL;
}

/* What sends a statement as its third argument: `tagged_command` of clients/mysql/statements.py. */
static PyObject *
sent(Callable *self, PyObject *transaction, PyObject *const *args, size_t nargsf, PyObject *names)
{
    i64 command;
    if (names == NULL && PyVectorcall_NARGS(nargsf) == 3 && as_i64(args[1], &command) && command == self->most) {
        PyObject *sql = tagged(self, SLOT(transaction, sql_comment), args[2]);
        if (sql != NULL) {
            PyObject *all[4] = {NULL, args[0], args[1], sql};
            PyObject *result = PyObject_Vectorcall(self->original, all + 1, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
            Py_DECREF(sql);
            return result;
        }
        PyErr_Clear(); /* no memory */
    }
    return PyObject_Vectorcall(self->python, args, nargsf, names);
}

static PyObject *
recorded(Callable *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    if (names == NULL && nargs >= 6 && nargs <= 9 && Py_IS_TYPE(args[0], slots.transaction)) {
        PyObject *call = empty_call();
        if (call == NULL)
            return NULL;
        int done = record_call(args[0], call, args[1], args[2], args[3], args[4], args[5], nargs > 6 ? args[6] : Py_None,
                               nargs > 7 ? args[7] : zero, nargs > 8 ? args[8] : zero);
        if (done)
            return done < 0 ? NULL : Py_NewRef(Py_None);
    }
    return PyObject_Vectorcall(self->python, args, nargsf, names);
}

static PyObject *
callable_call(Callable *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    if (self->kind == RECORD)
        return recorded(self, args, nargsf, names);
    int is_outside;
    PyObject *transaction = plain_transaction(&is_outside), *result;
    Py_INCREF(self); /* the host's call may drop it */
    if (transaction == NULL && is_outside && self->kind == SCOPE)
        result = PyObject_Vectorcall(self->original, args, nargsf, names);
    else if (transaction == NULL || PyVectorcall_NARGS(nargsf) < (self->kind == LOOKUP ? 3 : 2))
        result = PyObject_Vectorcall(self->python, args, nargsf, names);
    else if (self->kind == SCOPE)
        result = scoped(self, transaction, args, nargsf, names);
    else if (self->kind == TAG)
        result = sent(self, transaction, args, nargsf, names);
    else
        result = measured(self, transaction, args, nargsf, names);
    Py_XDECREF(transaction);
    Py_DECREF(self);
    return result;
}

/* ---- the type ---- */

static PyObject *
callable_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"kind", "python", "original", "library", "end", "contain", "most", "ends", "seconds", NULL};
    PyObject *ends = NULL, *seconds = NULL, *python, *original = Py_None, *library = Py_None, *end = Py_None, *contain = Py_None;
    Py_ssize_t most = 0;
    int kind;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "iO|OOOOnSS", names, &kind, &python, &original, &library, &end, &contain,
                                     &most, &ends, &seconds))
        return NULL;
    if (kind == TAG && (seconds == NULL || PyBytes_GET_SIZE(ends) != 256 || PyBytes_GET_SIZE(seconds) != 256)) {
        PyErr_SetString(PyExc_ValueError, "256 bytes each");
        return NULL;
    }
    if (kind < 0 || kind >= KINDS || (kind != RECORD && running == NULL)) {
        PyErr_SetString(PyExc_ValueError, "no such kind, or nothing is bound yet");
        return NULL;
    }
    Callable *self = (Callable *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->vectorcall = (vectorcallfunc)callable_call;
        self->kind = kind;
        self->most = most;
        self->python = Py_NewRef(python);
        self->original = Py_NewRef(original);
        self->library = Py_NewRef(library);
        self->end = Py_NewRef(end);
        self->contain = Py_NewRef(contain);
        self->ends = Py_XNewRef(ends);
        self->seconds = Py_XNewRef(seconds);
    }
    return (PyObject *)self;
}

static int
callable_traverse(Callable *self, visitproc visit, void *arg)
{
    Py_VISIT(self->dict);
    Py_VISIT(self->python);
    Py_VISIT(self->original);
    Py_VISIT(self->library);
    Py_VISIT(self->end);
    Py_VISIT(self->contain);
    return 0;
}

/* What a call needs stays until it is freed: a finalizer of the same garbage may still call it. */
static int
callable_clear(Callable *self)
{
    Py_CLEAR(self->dict);
    return 0;
}

static void
callable_dealloc(Callable *self)
{
    PyObject_GC_UnTrack(self);
    if (self->weakrefs != NULL)
        PyObject_ClearWeakRefs((PyObject *)self);
    Py_CLEAR(self->dict);
    Py_CLEAR(self->python);
    Py_CLEAR(self->original);
    Py_CLEAR(self->library);
    Py_CLEAR(self->end);
    Py_CLEAR(self->contain);
    Py_CLEAR(self->ends);
    Py_CLEAR(self->seconds);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *
callable_get(PyObject *self, PyObject *of, PyObject *type)
{
    return of == NULL || of == Py_None ? Py_NewRef(self) : PyMethod_New(self, of);
}

/* By its name, as Python functions are copied and pickled. */
static PyObject *
callable_reduce(Callable *self, PyObject *nothing)
{
    return PyObject_GetAttrString((PyObject *)self, "__qualname__");
}

static PyObject *
callable_repr(PyObject *self)
{
    PyObject *name = PyObject_GetAttrString(self, "__qualname__");
    PyObject *shown = name == NULL ? NULL : PyUnicode_FromFormat("<function %U at %p>", name, self);
    Py_XDECREF(name);
    return shown;
}

/* What is asked of functions and is not of the wrapper: `__code__`, `__defaults__`, … are the Python form's. */
static PyObject *
callable_getattro(PyObject *self, PyObject *name)
{
    PyObject *value = PyObject_GenericGetAttr(self, name);
    if (value != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return value;
    PyErr_Clear();
    return PyObject_GetAttr(((Callable *)self)->python, name);
}

static PyMethodDef callable_methods[] = {{"__reduce__", (PyCFunction)callable_reduce, METH_NOARGS, NULL}, {NULL}};
/* `isinstance` and `inspect` take it for the function that it stands for. */
static PyObject *
callable_class(PyObject *self, void *nothing)
{
    return Py_NewRef((PyObject *)&PyFunction_Type);
}

static PyGetSetDef callable_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict},
    {"__class__", callable_class},
    {NULL},
};

PyTypeObject Callable_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "walltime_native.Callable",
    .tp_basicsize = sizeof(Callable),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(Callable, vectorcall),
    .tp_dictoffset = offsetof(Callable, dict),
    .tp_weaklistoffset = offsetof(Callable, weakrefs),
    .tp_call = PyVectorcall_Call,
    .tp_descr_get = callable_get,
    .tp_getattro = callable_getattro,
    .tp_repr = callable_repr,
    .tp_methods = callable_methods,
    .tp_getset = callable_getset,
    .tp_new = callable_new,
    .tp_traverse = (traverseproc)callable_traverse,
    .tp_clear = (inquiry)callable_clear,
    .tp_dealloc = (destructor)callable_dealloc,
};

int
bind_callables(PyObject *variable)
{
    if (!PyContextVar_CheckExact(variable)) {
        PyErr_SetString(PyExc_TypeError, "bind takes a context variable");
        return -1;
    }
    if (str_sock == NULL) {
        zero = PyLong_FromLong(0);
        one = PyLong_FromLong(1);
        str_known = PyUnicode_InternFromString("_walltime");
        str_sock = PyUnicode_InternFromString("sock");
        if (zero == NULL || one == NULL || str_known == NULL || str_sock == NULL)
            return -1;
    }
    Py_INCREF(variable);
    Py_XSETREF(running, variable);
    return 0;
}
