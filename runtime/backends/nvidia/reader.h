// SPDX-License-Identifier: Apache-2.0
// Reads tensors and parameters of a call for NVIDIA's libraries. Throws Declined for those that the
// libraries cannot take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/call.h"

namespace mote::nvidia {

struct Declined {
  backend::Refusal refusal;
};
[[noreturn]] void decline(std::string why);  ///< legal, but not for this backend
[[noreturn]] void reject(std::string why);   ///< not legal for the op
void require(const backend::Check& check);   ///< throws the refusal, if there is one

/// Kernels with one contract, by dtype and by the rounding of f32 before it is multiplied.
enum class Kind : std::uint8_t { f32, f64, narrow, f16, bf16, tf32, i8 };
/// True for 16-bit reals, which are summed in f32.
constexpr bool is_narrow(Kind kind) {
  return kind == Kind::narrow || kind == Kind::f16 || kind == Kind::bf16;
}

/// A tensor of the call. Extents are positive, and so are strides of axes longer than 1.
struct Tensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> dims;
  std::vector<std::int64_t> strides;
  std::size_t slot = 0;  ///< its index in OnDevice::data

  std::string text() const;  ///< "a f32[3,4] with strides 4,1"
  std::size_t rank() const { return dims.size(); }
};

/// True if the tensor is row-major without gaps, as far as the extents show.
bool is_dense(const Tensor& t);

class Reader {
 public:
  /// Tensors must be of the kind's dtypes, and all of one.
  Reader(const mote_call& call, Kind kind);

  /// Reads a tensor of exactly that rank: axes of extent 1 are put in front of one with fewer. All
  /// tensors of a call have one dtype, which is the kind's, except those with another one in
  /// `fixed`.
  Tensor input(int k, const char* name, int rank, std::optional<DType> fixed = {}) const;
  Tensor output(int k, const char* name, int rank, std::optional<DType> fixed = {}) const;
  bool has_input(int k) const { return backend::has_input(call_, k); }
  bool has_output(int k) const { return k < call_.output_count && call_.outputs[k] != nullptr; }
  /// Returns how many tensors the call may have: slots begin with those of its inputs.
  std::size_t slots() const {
    return static_cast<std::size_t>(call_.input_count) +
           static_cast<std::size_t>(call_.output_count);
  }
  /// Rejects values below the minimum.
  std::int64_t integer(const std::string& name, std::int64_t otherwise,
                       std::int64_t minimum = 0) const;
  double real(const char* name, double otherwise) const;
  std::string op() const { return call_.op; }
  Kind kind() const { return kind_; }

 private:
  Tensor tensor(backend::Operand operand, int rank, std::size_t slot,
                std::optional<DType> fixed) const;
  void require_dtype(const Tensor& t, std::optional<DType> fixed) const;
  const mote_call& call_;
  Kind kind_;
  std::optional<DType> dtype_;  ///< that of the first tensor
};

/// Throws if the tensor has other extents; `t` must have been read with that rank.
void require_dims(const Tensor& t, const std::vector<std::int64_t>& expected);

}  // namespace mote::nvidia
