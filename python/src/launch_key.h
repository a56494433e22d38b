// What a compiled kernel depends on, exactly: the key of every table of kernels.
//
// A key is a row of words. Where a word does not say all, an object stands beside it, which is
// compared as the word's kind says. Two keys are equal only if what was put into them has the same
// types and bits all through: 0.0 is not -0.0, and 1 is neither 1.0 nor True, in tuples too. A NaN
// equals a NaN with the same bits. docs/architecture.md (decision 17) says what is put into keys.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <pybind11/pybind11.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace blockscope::python {

/// The low byte of a word; the rest of it is the kind's to use. Behind some kinds follow words that
/// are bits alone.
enum class WordKind : uint8_t {
  Bits, ///< no word has this kind; it names those that are bits alone
  // Values of Python.
  None,
  False,
  True,
  Int,      ///< the value in the upper 56 bits
  LongInt,  ///< bits follow
  Float,    ///< bits follow
  Complex,  ///< two words of bits follow
  Equal,    ///< an object that Python's == compares: text, a large int, an object of C
  Identity, ///< an object that is equal to itself alone: a function, a class, a dtype
  Tuple,    ///< its size; the object is the class, as in those that follow; the items follow
  List,
  Dict,   ///< keys and values follow in turn
  Set,    ///< in Python's order
  Object, ///< any other object: what its class of C holds, and its attributes, follow
  Bytes,  ///< of memory with so many dimensions: sizes, format and bytes follow
  Slice,
  Constexpr,
  End,      ///< of slots
  Backward, ///< an object that this one is part of, by its depth
  // Arguments of a launch (launch_arguments.h).
  Tensor,
  Scalar,
  Descriptor,
  Option,
  Settings,
};

struct KeyWord {
  uint64_t bits;
  PyObject *object;
};

inline uint64_t makeWord(WordKind kind, uint64_t rest = 0) {
  return static_cast<uint64_t>(kind) | rest << 8;
}

/// A key that is being made. It borrows objects from its maker, but for those that it owns.
class LaunchKey {
public:
  /// Always true, so that additions can be chained.
  bool add(uint64_t bits, PyObject *object = nullptr) {
    words_.push_back({bits, object});
    return true;
  }
  /// Adds any value of Python by type and bits. Objects whose class compares them by identity are
  /// the same only if they are one; what a value holds is looked at now, so it may change later.
  ///
  /// Errors: false, with Python's error set.
  bool addExact(PyObject *value);

  llvm::ArrayRef<KeyWord> words() const { return words_; }
  uint64_t hash() const;

private:
  bool addContent(PyObject *value);
  bool addNumber(PyObject *value);
  bool addParts(WordKind kind, PyObject *parts, PyObject *theirClass);
  bool addOther(PyObject *value);
  bool addState(PyObject *value, bool &hasState);
  bool addBytes(PyObject *value, bool &hasBytes);
  bool addByEquality(PyObject *value);
  bool addOwned(pybind11::object object);
  /// Keeps an object for as long as the key lives.
  PyObject *own(pybind11::object object);

  llvm::SmallVector<KeyWord, 48> words_;
  llvm::SmallVector<PyObject *, 4> around_; ///< the objects whose parts are being added
  std::vector<pybind11::object> owned_;
};

/// A key that was kept. It owns its objects.
class StoredKey {
public:
  explicit StoredKey(const LaunchKey &key);
  ~StoredKey();
  StoredKey(const StoredKey &) = delete;
  StoredKey &operator=(const StoredKey &) = delete;

  bool matches(llvm::ArrayRef<KeyWord> words) const;
  /// Whether the words are the same ones, down to the objects: they match then, without a call of
  /// Python.
  bool isIdentical(llvm::ArrayRef<KeyWord> words) const {
    return words.size() == words_.size() &&
           std::memcmp(words.data(), words_.data(), words.size() * sizeof(KeyWord)) == 0;
  }
  llvm::ArrayRef<KeyWord> words() const { return words_; }
  uint64_t hash() const { return hash_; }

private:
  std::vector<KeyWord> words_;
  uint64_t hash_;
};

/// Whether two keys have the same words. Keys compare objects of C by their ==.
bool areSame(llvm::ArrayRef<KeyWord> a, llvm::ArrayRef<KeyWord> b);

/// Whether the key of an object stays what it is for as long as there is the object.
bool isImmutable(PyObject *value);

/// `_core.LaunchKey(*values)`, the exact key of some values for Python's dicts.
pybind11::object makeKeyObject(const LaunchKey &key);
bool isKeyObject(pybind11::handle object);
const StoredKey &keyOf(pybind11::handle object);
void bindLaunchKey(pybind11::module_ &module);

} // namespace blockscope::python
