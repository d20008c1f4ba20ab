/* What the parts of the core share. They hold the GIL throughout: nothing here releases it but the host's own calls. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

typedef long long i64;

/* Offsets of the slots of walltime's classes, which `bind` reads from their descriptors. */
struct slots {
    PyTypeObject *transaction;
    Py_ssize_t nested_ns, calls, duration_ns, locate_ns, look_at, thread, statement, in_call, sql_comment;
};
extern struct slots slots;

#define SLOT(object, name) (*(PyObject **)((char *)(object) + slots.name))

/* The number, and true; false for what is no exact int or has more than 63 bits. Sets no exception. */
static inline int
as_i64(PyObject *object, i64 *number)
{
    int overflow;
    if (object == NULL || !PyLong_CheckExact(object))
        return 0;
    *number = PyLong_AsLongLongAndOverflow(object, &overflow);
    return !overflow;
}

/* The same of numbers of which a few can be added. */
static inline int
as_ns(PyObject *object, i64 *number)
{
    return as_i64(object, number) && *number < (i64)1 << 60 && *number > -((i64)1 << 60);
}

/* module.c: the Python forms of the functions below, for all that is not their plain case. */
enum form { COUNT, COUNTS, CHILD, FORMS };
PyObject *in_python(enum form form, PyObject *const *args, Py_ssize_t nargs);

/* transaction.c */
int bind_slots(PyObject *transaction);
/*
 * Record a call; steals `call`, an untracked tuple of 8 that is empty. 1: done; 0: not the plain case, nothing is done;
 * -1: an exception is set.
 */
int record_call(PyObject *transaction, PyObject *call, PyObject *line, PyObject *subject, PyObject *started_ns,
                PyObject *ended_ns, PyObject *outer_ns, PyObject *failure, PyObject *requested, PyObject *matched);
PyObject *empty_call(void);

/* callable.c */
extern PyTypeObject Callable_Type;
i64 clock_ns(void);
int bind_callables(PyObject *variable);

/* bill.c: None where the Python form has to do it. */
extern PyObject *skipped, *continued;
PyObject *by_line(PyObject *module, PyObject *calls);
PyObject *sums(PyObject *module, PyObject *calls);
PyObject *times_by_text(PyObject *module, PyObject *calls);

/* encode.c */
PyObject *encode_count(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *encode_counts(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *encode_child(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
