// SPDX-License-Identifier: Apache-2.0
// Chooses the kernels of a program that are launched for a call.
#include <algorithm>
#include <cstdint>

#include "plan.h"

namespace mote::cuda {
namespace {

/// True if the strides of all axes except one are multiples of that number of elements.
bool has_strides_by(const TensorView& view, int but, int elements) {
  for (std::size_t k = 0; k < view.rank(); ++k)
    if (static_cast<int>(k) != but && view.extent(k) != 1 && view.strides[k] % elements != 0)
      return false;
  return true;
}

}  // namespace

/// Returns the distributed program if its temporaries take at most grid_.most_bytes and its
/// products are large enough for tiles, else the whole program.
const CudaProgram& Plan::chosen() const {
  const CudaProgram& whole = instance_.source(variant_);
  if (whole.distributed.empty()) return whole;
  const CudaProgram& parts = whole.distributed.front();
  double bytes = 0;
  for (const CudaTemporary& t : parts.temporaries) bytes += bytes_of(t);
  const bool has_room = bytes <= static_cast<double>(grid_.most_bytes);
  const bool is_large = std::ranges::all_of(parts.kernels, [&](const CudaKernel& k) {
    return !k.has_tiles() || k.has_pipelined_tiles() || has_tiles_for(k);
  });
  return has_room && is_large ? parts : whole;
}

/// True if the stage's own kernel would have few threads with much work each; `first` is the first
/// of the stage's kernels.
bool Plan::takes_parts(const CudaKernel& first) const {
  if (!first.terms) return false;
  const CudaKernel* own = &first;
  while (!has_strides_of(*own) || is_too_short(*own) || own->per_vector() != nullptr) ++own;
  if (own->iterations.has_load()) return false;
  const std::int64_t of_iteration = own->is_by_block() ? grid_.threads : 1;
  const std::int64_t iterations = own->is_in_order() ? 1 : value(own->iterations);
  const std::int64_t busy = own->is_by_block() ? grid_.busy : 4 * grid_.busy;
  return iterations * of_iteration < busy && value(*own->terms) / of_iteration >= grid_.least_terms;
}

/// True if the kernel belongs to the form of its stage that the call takes: the stage itself or its
/// parts.
bool Plan::is_launched(const CudaKernel& kernel) const {
  return kernel.part.has_value() == in_parts_.contains(kernel.stage);
}

/// True if the tensor has no gaps over the extents and begins at a multiple of 16 bytes.
bool Plan::is_by_vectors(std::size_t tensor, const std::vector<Expr>& extents,
                         const void* data) const {
  const TensorView& view = views_[tensor];
  if (view.tensor == nullptr || reinterpret_cast<std::uintptr_t>(data) % 16 != 0) return false;
  std::int64_t expected = 1;
  for (std::size_t k = extents.size(); k-- > 0;) {
    const std::int64_t extent = value(extents[k]);
    if (extent != 1 && view.strides[k] != expected) return false;
    expected *= extent;
  }
  return true;
}

bool Plan::has_vectors(const VectorRow& row, const std::vector<void*>& data) const {
  if (row.is_temporary) {
    const CudaTemporary& t =
        *std::ranges::find(source_->temporaries, row.tensor, &CudaTemporary::name);
    return t.shape.size() == 1 || value(t.shape.back()) % row.elements == 0;
  }
  const std::size_t at = tensor_at(row.tensor);
  const TensorView& view = views_[at];
  if (view.tensor == nullptr || reinterpret_cast<std::uintptr_t>(data[at]) % 16 != 0) return false;
  return has_strides_by(view, row.axis, row.elements);
}

bool Plan::is_by_vectors(const VectorOperand& operand, const std::vector<void*>& data) const {
  const std::size_t at = tensor_at(operand.tensor);
  const TensorView& view = views_[at];
  if (view.tensor == nullptr || reinterpret_cast<std::uintptr_t>(data[at]) % 16 != 0) return false;
  return std::ranges::any_of(operand.axes, [&](int axis) {
    return view.strides[static_cast<std::size_t>(axis)] == 1 &&
           has_strides_by(view, axis, operand.elements);
  });
}

bool Plan::has_tiles_for(const CudaKernel& kernel) const {
  const CudaPerTile& tiles = *kernel.per_tile();
  const bool is_pipelined = tiles.is_pipelined();
  const std::int64_t least = is_pipelined ? 3 * grid_.least_side : grid_.least_side;
  return std::min(value(tiles.rows), value(tiles.columns)) >= least &&
         (!is_pipelined || value(kernel.iterations) >= grid_.least_pipelined_tiles);
}

bool Plan::has_strides_of(const CudaKernel& kernel) const {
  return std::ranges::all_of(kernel.strides(), [&](const KnownStride& k) {
    return views_[tensor_at(k.tensor)].strides[static_cast<std::size_t>(k.axis)] == k.stride;
  });
}

bool Plan::is_last_of_stage(const CudaKernel& kernel) const {
  const auto next = static_cast<std::size_t>(&kernel - source_->kernels.data()) + 1;
  return next == source_->kernels.size() || source_->kernels[next].stage != kernel.stage ||
         source_->kernels[next].part != kernel.part;
}

/// True if the kernel's rows are too short for blocks, and another kernel of the stage is left.
bool Plan::is_too_short(const CudaKernel& kernel) const {
  const CudaPerBlock* rows = kernel.per_block();
  if (rows == nullptr || !rows->row || is_last_of_stage(kernel)) return false;
  return value(*rows->row) < (rows->is_map ? grid_.least_map_row : grid_.least_row);
}

bool Plan::suits(const CudaKernel& kernel, const std::vector<void*>& data) const {
  if (!has_strides_of(kernel)) return false;
  if (const CudaPerTile* tiles = kernel.per_tile())
    return has_tiles_for(kernel) &&
           std::ranges::all_of(tiles->operands, [&](const VectorOperand& operand) {
             return is_by_vectors(operand, data);
           });
  if (const CudaPerBlock* rows = kernel.per_block())
    return !is_too_short(kernel) && std::ranges::all_of(rows->vectors, [&](const VectorRow& row) {
      return has_vectors(row, data);
    });
  if (const CudaPerVector* vectors = kernel.per_vector())
    return std::ranges::all_of(vectors->tensors, [&](const std::string& name) {
      const std::size_t at = tensor_at(name);
      return is_by_vectors(at, vectors->extents, data[at]);
    });
  return true;
}

}  // namespace mote::cuda
