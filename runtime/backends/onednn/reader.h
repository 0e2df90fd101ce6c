// SPDX-License-Identifier: Apache-2.0
// Reads tensors and parameters of a call for oneDNN. Throws Declined for those that it cannot take.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "jobs.h"

namespace mote::onednn {

struct Declined {
  backend::Refusal refusal;
};
[[noreturn]] void decline(std::string why);  ///< legal, but not for this backend

/// A tensor of the call; axes are read in any order, and descs may split or merge them.
struct View {
  std::string name;
  memory::data_type type{};
  memory::dims dims;
  memory::dims strides;
  void* data = nullptr;
  bool is_output = false;

  /// Returns the axes in another order.
  View permuted(std::initializer_list<std::size_t> order) const;
  /// Splits axis `axis` into `outer` times the rest.
  View split(std::size_t axis, memory::dim outer) const;
  /// Inserts an axis of extent 1 before `axis`.
  View with_axis(std::size_t axis) const;
  Argument as(int number) const;
};

class Reader {
 public:
  explicit Reader(const mote_call& call) : call_(call) {}

  /// Reads a tensor of exactly that rank, with leading axes of extent 1 added; f32 unless
  /// `any_type`.
  View input(int k, int rank, bool any_type = false) const;
  View output(int k, int rank, bool any_type = false) const;
  bool has_input(int k) const { return backend::has_input(call_, k); }
  bool has_output(int k) const { return k < call_.output_count && call_.outputs[k] != nullptr; }
  memory::dim integer(const std::string& name, memory::dim otherwise, memory::dim least = 0) const;
  /// Reads a parameter as a float, as oneDNN takes it. With `exact`, declines a double that is no
  /// float, since its rounding would show.
  float real(const char* name, double otherwise, bool exact = false) const;
  std::string op() const { return call_.op; }

 private:
  static View view(const DLTensor* tensor, int rank, bool any_type, std::string name);
  const mote_call& call_;
};

}  // namespace mote::onednn
