// SPDX-License-Identifier: Apache-2.0
// Finds equal symbols by the bytes of constants, and by the root and the region of views.
#include "passes/equal_symbols.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "dependency_cache.h"

namespace mote {
namespace {

/// True if all bytes of the constant can be compared at once.
bool is_solid(const Tensor& value) {
  return value.device().device_type == kDLCPU && value.is_contiguous();
}

std::string_view bytes_of(const Tensor& value) {
  if (value.element_count() == 0) return {};
  return {static_cast<const char*>(value.data()),
          static_cast<std::size_t>(value.element_count()) * size_of(value.dtype())};
}

/// Returns a hash of the constant that costs little, however large it is.
std::size_t sample_of(const Tensor& value) {
  constexpr std::size_t kSample = 64;
  if (!is_solid(value)) return std::hash<const void*>()(value.data());
  return std::hash<std::string_view>()(bytes_of(value).substr(0, kSample));
}

bool has_same_elements(const Tensor& x, const Tensor& y) {
  if (x.data() == y.data()) return true;
  return is_solid(x) && is_solid(y) && bytes_of(x) == bytes_of(y);
}

}  // namespace

std::size_t mixed(std::size_t hash, std::size_t more) {
  return hash ^ (more + 0x9e3779b97f4a7c15U + (hash << 6U) + (hash >> 2U));
}

std::size_t hash_of(const TensorForm& form) {
  std::size_t hash = static_cast<std::size_t>(form.dtype);
  for (const std::int64_t extent : form.shape) hash = mixed(hash, static_cast<std::size_t>(extent));
  for (const std::int64_t stride : form.strides)
    hash = mixed(hash, static_cast<std::size_t>(stride));
  return hash;
}

EqualSymbols::EqualSymbols(const SymbolicGraph& graph)
    : graph_(graph), leaders_(graph.symbol_count(), kNoIndex) {}

bool EqualSymbols::is_written(std::uint32_t root) {
  if (written_ == nullptr) written_ = detail::shared_writers(graph_);
  return !(*written_)[root].empty();
}

std::uint32_t EqualSymbols::leader(std::uint32_t symbol) {
  std::vector<std::uint32_t> views;
  for (; leaders_[symbol] == kNoIndex && graph_.symbols()[symbol].kind == SymbolOrigin::view;
       symbol = graph_.symbols()[symbol].base)
    views.push_back(symbol);
  if (leaders_[symbol] == kNoIndex) leaders_[symbol] = leader_of_constant(symbol);
  std::uint32_t found = leaders_[symbol];
  for (; !views.empty(); views.pop_back()) {
    found = leader_of_view(views.back());
    leaders_[views.back()] = found;
  }
  return found;
}

/// Returns an earlier constant of the same bytes, or earlier zeros; the symbol itself if there are
/// none, and for other roots.
std::uint32_t EqualSymbols::leader_of_constant(std::uint32_t symbol) {
  const SymbolInfo& info = graph_.symbols()[symbol];
  const bool is_constant = info.kind == SymbolOrigin::constant;
  if (!is_constant && (info.kind != SymbolOrigin::zeros || is_written(symbol))) return symbol;
  const auto value = [&](std::uint32_t k) -> const Tensor& { return graph_.value(graph_.at(k)); };
  const std::size_t hash = mixed(hash_of(info.form), is_constant ? sample_of(value(symbol)) : 0);
  const std::uint32_t same = constants_.find(hash, [&](std::uint32_t k) {
    const SymbolInfo& other = graph_.symbols()[k];
    return other.kind == info.kind && other.form == info.form &&
           (!is_constant || has_same_elements(value(symbol), value(k)));
  });
  if (same != kNoIndex) return same;
  constants_.add(hash, symbol);
  return symbol;
}

/// True if the symbols, whose roots are equal, are the same part of them.
bool EqualSymbols::is_same_location(std::uint32_t a, std::uint32_t b) const {
  const SymbolInfo& x = graph_.symbols()[a];
  const SymbolInfo& y = graph_.symbols()[b];
  return x.offset == y.offset && x.form == y.form;
}

/// Returns the first symbol that is the same part of the same root: it is never a view of this one,
/// since bases are asked for before their views. Equal roots have one form, so that equal parts
/// have one too.
std::uint32_t EqualSymbols::leader_of_view(std::uint32_t view) {
  const SymbolInfo& info = graph_.symbols()[view];
  const std::uint32_t root = leaders_[info.root];
  if (is_same_location(view, root)) return root;
  const std::size_t hash =
      mixed(hash_of(info.form), mixed(root, static_cast<std::size_t>(info.offset)));
  const std::uint32_t same = views_.find(hash, [&](std::uint32_t other) {
    return leaders_[graph_.symbols()[other].root] == root && is_same_location(view, other);
  });
  if (same != kNoIndex) return same;
  views_.add(hash, view);
  return view;
}

}  // namespace mote
