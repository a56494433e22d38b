// Compares, hashes and keeps keys.
#include "python/src/launch_key.h"

#include <cstring>

namespace py = pybind11;

namespace blockscope::python {

namespace {

WordKind kindOf(const KeyWord &word) { return static_cast<WordKind>(word.bits & 0xFF); }

/// ==, but for what is not even equal to itself, such as a NaN in an object of C. Its text is in
/// the key too.
bool isEqual(PyObject *a, PyObject *b) {
  if (Py_TYPE(a) != Py_TYPE(b))
    return false;
  const int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  if (equal == 0 && !PyUnicode_CheckExact(a) && !PyLong_CheckExact(a) && !PyBytes_CheckExact(a)) {
    const auto self = py::reinterpret_steal<py::object>(PyObject_RichCompare(a, a, Py_EQ));
    if (self && self.ptr() == Py_False)
      return true;
  }
  if (PyErr_Occurred())
    PyErr_Clear();
  return equal == 1;
}

bool isSame(const KeyWord &a, const KeyWord &b) {
  return a.object == b.object ||
         (a.object && b.object && kindOf(a) == WordKind::Equal && isEqual(a.object, b.object));
}

uint64_t hashOfObject(const KeyWord &word) {
  if (!word.object)
    return 0;
  if (kindOf(word) != WordKind::Equal)
    return reinterpret_cast<uintptr_t>(word.object) >> 4;
  const Py_hash_t hash = PyObject_Hash(word.object);
  if (hash == -1)
    PyErr_Clear();
  return static_cast<uint64_t>(hash);
}

// -- the Python type --------------------------------------------------------------------------

struct KeyObject {
  PyObject_HEAD StoredKey *key;
};

PyTypeObject *keyType = nullptr;

/// A new reference, or null with Python's error set.
PyObject *wrap(const LaunchKey &key) {
  PyObject *self = keyType->tp_alloc(keyType, 0);
  if (self)
    reinterpret_cast<KeyObject *>(self)->key = new StoredKey(key);
  return self;
}

PyObject *newKey(PyTypeObject *, PyObject *values, PyObject *named) {
  if (named && PyDict_GET_SIZE(named) != 0) {
    PyErr_SetString(PyExc_TypeError, "LaunchKey takes no keyword arguments");
    return nullptr;
  }
  LaunchKey key;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(values); ++i)
    if (!key.addExact(PyTuple_GET_ITEM(values, i)))
      return nullptr;
  return wrap(key);
}

PyObject *compareKeys(PyObject *a, PyObject *b, int operation) {
  if ((operation != Py_EQ && operation != Py_NE) || Py_TYPE(b) != keyType)
    Py_RETURN_NOTIMPLEMENTED;
  const bool equal = keyOf(a).hash() == keyOf(b).hash() && keyOf(a).matches(keyOf(b).words());
  return PyBool_FromLong(equal == (operation == Py_EQ));
}

Py_hash_t hashKey(PyObject *self) {
  const auto hash = static_cast<Py_hash_t>(keyOf(self).hash());
  return hash == -1 ? -2 : hash;
}

int traverseKey(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  if (const StoredKey *key = reinterpret_cast<KeyObject *>(self)->key)
    for (const KeyWord &word : key->words())
      Py_VISIT(word.object);
  return 0;
}

// A key cannot be emptied while a dict may ask for it: as a tuple, it is freed with what holds it.
void freeKey(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  delete std::exchange(reinterpret_cast<KeyObject *>(self)->key, nullptr);
  type->tp_free(self);
  Py_DECREF(type);
}

PyType_Slot keySlots[] = {
    {Py_tp_doc, const_cast<char *>("LaunchKey(*values): equal to another key only if all values "
                                   "have the same types and bits.")},
    {Py_tp_new, reinterpret_cast<void *>(newKey)},
    {Py_tp_dealloc, reinterpret_cast<void *>(freeKey)},
    {Py_tp_traverse, reinterpret_cast<void *>(traverseKey)},
    {Py_tp_richcompare, reinterpret_cast<void *>(compareKeys)},
    {Py_tp_hash, reinterpret_cast<void *>(hashKey)},
    {0, nullptr},
};
PyType_Spec keySpec = {"blockscope._core.LaunchKey", sizeof(KeyObject), 0,
                       Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, keySlots};

} // namespace

bool areSame(llvm::ArrayRef<KeyWord> a, llvm::ArrayRef<KeyWord> b) {
  if (a.size() != b.size())
    return false;
  if (std::memcmp(a.data(), b.data(), a.size() * sizeof(KeyWord)) == 0)
    return true;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].bits != b[i].bits)
      return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!isSame(a[i], b[i]))
      return false;
  return true;
}

uint64_t LaunchKey::hash() const {
  uint64_t result = 0x9E3779B97F4A7C15u;
  for (const KeyWord &word : words_) {
    result = (result ^ word.bits ^ hashOfObject(word) << 8) * 0xFF51AFD7ED558CCDu;
    result ^= result >> 32;
  }
  return result;
}

StoredKey::StoredKey(const LaunchKey &key)
    : words_(key.words().begin(), key.words().end()), hash_(key.hash()) {
  for (const KeyWord &word : words_)
    Py_XINCREF(word.object);
}

StoredKey::~StoredKey() {
  for (const KeyWord &word : words_)
    Py_XDECREF(word.object);
}

bool StoredKey::matches(llvm::ArrayRef<KeyWord> words) const { return areSame(words_, words); }

const StoredKey &keyOf(py::handle object) {
  return *reinterpret_cast<KeyObject *>(object.ptr())->key;
}

bool isKeyObject(py::handle object) { return Py_TYPE(object.ptr()) == keyType; }

py::object makeKeyObject(const LaunchKey &key) {
  auto object = py::reinterpret_steal<py::object>(wrap(key));
  if (!object)
    throw py::error_already_set();
  return object;
}

void bindLaunchKey(py::module_ &module) {
  keyType = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&keySpec));
  if (!keyType)
    throw py::error_already_set();
  module.attr("LaunchKey") = py::handle(reinterpret_cast<PyObject *>(keyType));
}

} // namespace blockscope::python
