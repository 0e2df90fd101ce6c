// SPDX-License-Identifier: Apache-2.0
// Pointers that count their owners in the object. Counts are plain integers: the graph's lock
// guards them.
#pragma once

#include <cstdint>
#include <utility>

namespace mote::trace {

/// A counted pointer to an object with a member `refs`, and a function drop(T*) for the last owner.
template <typename T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) : object_(object) {
    if (object_ != nullptr) ++object_->refs;
  }
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { reset(); }

  void reset() {
    if (T* object = std::exchange(object_, nullptr); object != nullptr && --object->refs == 0)
      drop(object);
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  friend bool operator==(const Ref&, const Ref&) = default;

 private:
  T* object_ = nullptr;
};

}  // namespace mote::trace
