// SPDX-License-Identifier: Apache-2.0
#include "reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "cuda/device_call.h"
#include "mote/base/dlpack.h"
#include "mote/base/plugin.h"

namespace mote::nvidia {
namespace {

bool is_of_kind(DType dtype, Kind kind) {
  if (kind == Kind::f64) return dtype == DType::f64;
  if (kind == Kind::i8) return dtype == DType::i8;
  if (kind == Kind::f16) return dtype == DType::f16;
  if (kind == Kind::bf16) return dtype == DType::bf16;
  if (kind == Kind::narrow) return is_narrow(dtype);
  return dtype == DType::f32;
}

/// Replaces the strides of axes of extent 1, which mean nothing, by those of a dense tensor, so
/// that a library recognises one.
void tidy_strides(Tensor& t) {
  std::int64_t inner = 1;
  for (std::size_t k = t.rank(); k-- > 0;) {
    if (t.dims[k] == 1) t.strides[k] = inner;
    inner = t.strides[k] * t.dims[k];
  }
}

}  // namespace

void decline(std::string why) { throw Declined{backend::unsupported(std::move(why))}; }
void reject(std::string why) { throw Declined{backend::invalid(std::move(why))}; }
void require(const backend::Check& check) {
  if (check) throw Declined{*check};
}

std::string Tensor::text() const {
  return fmt::format("{} {}[{}] with strides {}", name, mote::name(dtype), fmt::join(dims, ","),
                     fmt::join(strides, ","));
}

bool is_dense(const Tensor& t) {
  std::int64_t inner = 1;
  for (std::size_t k = t.rank(); k-- > 0; inner *= t.dims[k])
    if (t.dims[k] != 1 && t.strides[k] != inner) return false;
  return true;
}

Reader::Reader(const mote_call& call, Kind kind) : call_(call), kind_(kind) {
  for (const cuda::CallTensor& t : cuda::tensors_of(call))
    if (t.tensor != nullptr && !dtype_) dtype_ = from_dlpack(t.tensor->dtype);
}

Tensor Reader::input(int k, const char* name, int rank, std::optional<DType> fixed) const {
  if (k >= call_.input_count) reject(fmt::format("{} is missing", name));
  backend::Operand operand;
  require(backend::read_input(call_, k, name, 0, rank, operand, backend::Memory::any));
  return tensor(std::move(operand), rank, static_cast<std::size_t>(k), fixed);
}

Tensor Reader::output(int k, const char* name, int rank, std::optional<DType> fixed) const {
  if (k >= call_.output_count) reject(fmt::format("{} is missing", name));
  backend::Operand operand;
  require(backend::read_output(call_, k, name, 0, rank, operand, backend::Memory::any));
  return tensor(std::move(operand), rank,
                static_cast<std::size_t>(call_.input_count) + static_cast<std::size_t>(k), fixed);
}

void Reader::require_dtype(const Tensor& t, std::optional<DType> fixed) const {
  if (fixed) {
    if (t.dtype != *fixed) reject(fmt::format("{}: expected {}", t.text(), mote::name(*fixed)));
    return;
  }
  if (dtype_ && t.dtype != *dtype_)
    reject(fmt::format("{}: element types differ, the first is {}", t.text(), mote::name(*dtype_)));
  if (!is_of_kind(t.dtype, kind_)) decline(t.text() + ": " + kIsOfOtherDtypes);
}

Tensor Reader::tensor(backend::Operand operand, int rank, std::size_t slot,
                      std::optional<DType> fixed) const {
  Tensor t{.name = std::move(operand.name),
           .dtype = operand.dtype,
           .dims = std::move(operand.shape),
           .strides = std::move(operand.strides),
           .slot = slot};
  const auto missing = static_cast<std::size_t>(rank) - t.rank();
  t.dims.insert(t.dims.begin(), missing, 1);
  t.strides.insert(t.strides.begin(), missing, 1);
  require_dtype(t, fixed);
  for (std::size_t k = 0; k < t.rank(); ++k) {
    if (t.dims[k] == 0) decline(t.text() + " is empty");
    if (t.dims[k] > std::numeric_limits<int>::max())
      decline(t.text() + ": an extent does not fit into 32 bits");
    if (t.dims[k] > 1 && t.strides[k] <= 0) decline(t.text() + ": a stride is not positive");
  }
  tidy_strides(t);
  return t;
}

std::int64_t Reader::integer(const std::string& name, std::int64_t otherwise,
                             std::int64_t minimum) const {
  std::int64_t value = otherwise;
  require(backend::read_integer(call_, name.c_str(), minimum, value));
  return value;
}

double Reader::real(const char* name, double otherwise) const {
  double value = otherwise;
  require(backend::read_real(call_, name, value));
  return value;
}

void require_dims(const Tensor& t, const std::vector<std::int64_t>& expected) {
  if (t.dims != expected)
    reject(fmt::format("{}: expected the extents {}", t.text(), fmt::join(expected, ",")));
}

}  // namespace mote::nvidia
