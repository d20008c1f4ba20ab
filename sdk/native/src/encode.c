/* Attributes and spans of OTLP as bytes, in the place of the functions of these names in export/protobuf.py. */

#include "core.h"

static unsigned char *
put_varint(unsigned char *at, unsigned long long n)
{
    while (n >= 128) {
        *at++ = (unsigned char)(n | 128);
        n >>= 7;
    }
    *at++ = (unsigned char)n;
    return at;
}

static int
varint_size(unsigned long long n)
{
    int size = 1;
    while (n >>= 7)
        size++;
    return size;
}

/* From 0 to 2^63 - 1, to which others are cut; -1 for what is no int. */
static i64
cut(PyObject *object)
{
    int overflow;
    if (!PyLong_Check(object))
        return -1;
    i64 n = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow ? (overflow > 0 ? PY_LLONG_MAX : 0) : n < 0 ? 0 : n;
}

/* The key's characters, borrowed; NULL without an exception when it is no text of at most 127 bytes of ASCII. */
static const char *
key_of(PyObject *key, Py_ssize_t *size)
{
    if (!PyUnicode_CheckExact(key) || PyUnicode_READY(key) || !PyUnicode_IS_ASCII(key))
        return NULL;
    *size = PyUnicode_GET_LENGTH(key);
    return *size > 127 ? NULL : PyUnicode_DATA(key);
}

static unsigned char *
put_key(unsigned char *at, const char *key, Py_ssize_t size)
{
    *at++ = 0x0a;
    *at++ = (unsigned char)size;
    memcpy(at, key, size);
    return at + size;
}

/* count(key, n) */
PyObject *
encode_count(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t size;
    const char *key = nargs == 2 ? key_of(args[0], &size) : NULL;
    i64 n = key == NULL ? -1 : cut(args[1]);
    if (n < 0)
        return in_python(COUNT, args, nargs);
    int value = varint_size(n);
    Py_ssize_t body = 2 + size + 3 + value; /* at most 142 */
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, 1 + varint_size(body) + body);
    if (bytes == NULL)
        return NULL;
    unsigned char *at = (unsigned char *)PyBytes_AS_STRING(bytes);
    *at++ = 0x4a;
    at = put_key(put_varint(at, body), key, size);
    *at++ = 0x12;
    *at++ = (unsigned char)(1 + value);
    *at++ = 0x18;
    put_varint(at, n);
    return bytes;
}

/* counts(key, [n, …]) */
PyObject *
encode_counts(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t size;
    const char *key = nargs == 2 ? key_of(args[0], &size) : NULL;
    if (key == NULL || !(PyList_CheckExact(args[1]) || PyTuple_CheckExact(args[1])))
        return in_python(COUNTS, args, nargs);
    PyObject **items = PySequence_Fast_ITEMS(args[1]);
    Py_ssize_t count = PySequence_Fast_GET_SIZE(args[1]), array = 0;
    if (count > 1 << 20)
        return in_python(COUNTS, args, nargs);
    for (Py_ssize_t i = 0; i < count; i++) {
        i64 n = cut(items[i]);
        if (n < 0)
            return in_python(COUNTS, args, nargs);
        array += 3 + varint_size(n);
    }
    Py_ssize_t list = 1 + varint_size(array) + array, body = 2 + size + 1 + varint_size(list) + list;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, 1 + varint_size(body) + body);
    if (bytes == NULL)
        return NULL;
    unsigned char *at = (unsigned char *)PyBytes_AS_STRING(bytes);
    *at++ = 0x4a;
    at = put_key(put_varint(at, body), key, size);
    *at++ = 0x12;
    at = put_varint(at, list);
    *at++ = 0x2a;
    at = put_varint(at, array);
    for (Py_ssize_t i = 0; i < count; i++) {
        i64 n = cut(items[i]);
        *at++ = 0x0a;
        *at++ = (unsigned char)(1 + varint_size(n));
        *at++ = 0x18;
        at = put_varint(at, n);
    }
    return bytes;
}

static unsigned char *
put_fixed64(unsigned char *at, unsigned long long n)
{
    for (int i = 0; i < 8; i++)
        *at++ = (unsigned char)(n >> (8 * i));
    return at;
}

/* child(shared, span_id, started_at_ns, ended_at_ns, about): a span within its parent's. */
PyObject *
encode_child(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    i64 started, ended;
    if (nargs != 5 || !PyBytes_CheckExact(args[0]) || !PyLong_CheckExact(args[1]) || !as_i64(args[2], &started) ||
        !as_i64(args[3], &ended) || !PyBytes_CheckExact(args[4]) || started < 0 || ended < 0)
        return in_python(CHILD, args, nargs);
    unsigned long long id = PyLong_AsUnsignedLongLong(args[1]);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return in_python(CHILD, args, nargs);
    }
    Py_ssize_t shared = PyBytes_GET_SIZE(args[0]), about = PyBytes_GET_SIZE(args[4]), body = shared + 8 + 18 + about;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, 1 + varint_size(body) + body);
    if (bytes == NULL)
        return NULL;
    unsigned char *at = (unsigned char *)PyBytes_AS_STRING(bytes);
    *at++ = 0x12;
    at = put_varint(at, body);
    memcpy(at, PyBytes_AS_STRING(args[0]), shared);
    at += shared;
    for (int i = 7; i >= 0; i--)
        *at++ = (unsigned char)(id >> (8 * i));
    *at++ = 0x39;
    at = put_fixed64(at, started);
    *at++ = 0x41;
    at = put_fixed64(at, ended);
    memcpy(at, PyBytes_AS_STRING(args[4]), about);
    return bytes;
}
