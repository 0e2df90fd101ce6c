// SPDX-License-Identifier: Apache-2.0
// Values that are equal are one object: the forms of a graph's tensors and the commands of its
// nodes are kept once each, and compared by address.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <unordered_set>

#include "mote/runtime/command.h"
#include "mote/runtime/overlap.h"
#include "mote/runtime/tensor_form.h"

namespace mote::graph {

/// The form of tensors, and the bytes of one, counted from its first element.
struct GraphForm {
  explicit GraphForm(const TensorForm& of) : form(of), locations(of, 0) {}

  bool is_empty() const { return locations.low == locations.high; }
  /// Returns the bytes of a tensor that begins there.
  ViewPlaces locations_from(std::int64_t first) const {
    ViewPlaces moved = locations;
    moved.first += first;
    moved.low += first;
    moved.high += first;
    return moved;
  }

  TensorForm form;
  ViewPlaces locations;
};

inline const TensorForm& key_of(const GraphForm& form) { return form.form; }
inline const Command& key_of(const Command& command) { return command; }

/// The objects that stand for all values equal to them. A copy has the same objects.
template <typename Value, typename Key = Value>
class SharedValues {
 public:
  /// Returns the object of the key that make() returns. is_it() says whether a key is equal to
  /// that one, which is made only if the last one is not.
  template <typename IsIt, typename Make>
  std::shared_ptr<const Value> of(const IsIt& is_it, const Make& make) {
    if (last_ != nullptr && is_it(key_of(*last_))) return last_;
    return of(make());
  }
  std::shared_ptr<const Value> of(const Key& key) {
    if (last_ != nullptr && key_of(*last_) == key) return last_;
    const auto found = values_.find(key);
    last_ =
        found != values_.end() ? *found : *values_.insert(std::make_shared<const Value>(key)).first;
    return last_;
  }

 private:
  using Pointer = std::shared_ptr<const Value>;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const Key& key) const { return std::hash<Key>()(key); }
    std::size_t operator()(const Pointer& value) const { return std::hash<Key>()(key_of(*value)); }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Pointer& a, const Pointer& b) const { return key_of(*a) == key_of(*b); }
    bool operator()(const Key& a, const Pointer& b) const { return a == key_of(*b); }
    bool operator()(const Pointer& a, const Key& b) const { return key_of(*a) == b; }
  };

  std::unordered_set<Pointer, Hash, Equal> values_;
  Pointer last_;  ///< mostly asked for again
};

}  // namespace mote::graph
