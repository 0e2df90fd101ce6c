// SPDX-License-Identifier: Apache-2.0
// Forms of symbols: a graph has many symbols and few forms, so that symbols of one form share it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_set>

#include "mote/base/export.h"
#include "mote/runtime/tensor_form.h"

namespace MOTE_API mote {

/// A form that several owners share; it never changes.
class SharedForm {
 public:
  SharedForm();  ///< f32[0], on the host
  SharedForm(const TensorForm& form) : form_(std::make_shared<const TensorForm>(form)) {}

  const TensorForm& operator*() const { return *form_; }
  const TensorForm* operator->() const { return form_.get(); }
  operator const TensorForm&() const { return *form_; }

  friend bool operator==(const SharedForm& a, const SharedForm& b) {
    return a.form_ == b.form_ || *a == *b;
  }
  friend bool operator==(const SharedForm& a, const TensorForm& b) { return *a == b; }

 private:
  std::shared_ptr<const TensorForm> form_;
};

inline std::string to_string(const SharedForm& form) { return to_string(*form); }

namespace detail {

/// The forms of a graph, each once.
class FormPool {
 public:
  const SharedForm& of(const TensorForm& form) {
    if (last_ == form) return last_;
    const auto known = forms_.find(form);
    last_ = known != forms_.end() ? *known : *forms_.emplace(form).first;
    return last_;
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const TensorForm& form) const { return form.hash(); }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const TensorForm& a, const TensorForm& b) const { return a == b; }
  };
  std::unordered_set<SharedForm, Hash, Equal> forms_;
  SharedForm last_;  ///< mostly asked for again
};

}  // namespace detail
}  // namespace mote
