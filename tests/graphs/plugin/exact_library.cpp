// SPDX-License-Identifier: Apache-2.0
#include "graphs/plugin/exact_library.h"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

#include "mote/runtime/catalogue.h"
#include "mote/runtime/infer.h"
#include "mote/runtime/plugins.h"
#include "mote/runtime/registry.h"

namespace mote::test {
namespace {

/// Returns a table that the plug-in exports.
template <typename T>
const T& exported(void* library, const char* name) {
  const void* found = dlsym(library, name);
  if (found == nullptr) throw std::runtime_error(std::string(name) + " is not exported");
  return *static_cast<const T*>(found);
}

void* exact_ops() {
  void* library = dlopen(MOTE_EXACT_OPS, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  return library;
}

}  // namespace

void register_cube(Registry& registry) {
  register_library(exported<mote_kernel_library>(exact_ops(), "cube_library"), registry);
}

void register_fold_pairs(Registry& registry) {
  const auto& pairs = exported<mote_op_definition[2]>(exact_ops(), "fold_pairs_ops");
  const OpGradient row = &exported<mote_op_gradient>(exact_ops(), "fold_pairs_gradient");
  register_op("fold_pairs", registry)
      .set(kDefinition, &pairs[0])
      .set(kInfer, infer_by_definition(pairs[0]))
      .set(kGradient, row);
  register_op("fold_pairs.grad", registry).set(kDefinition, &pairs[1]).set(kGradientOf, row);
}

Context& exact_context() {
  static const bool registered = [] {
    register_cube(Registry::global());
    register_fold_pairs(Registry::global());
    return true;
  }();
  static Context context({.backends = load_backends(MOTE_EXACT_OPS)});
  return registered ? context : context;
}

Tensor small_integers(const TensorForm& form, std::int64_t first) {
  const Tensor tensor(form.dtype, form.shape);
  const Tensor flat = tensor.reshape({tensor.element_count()});
  for (std::int64_t k = 0; k < flat.extent(0); ++k)
    flat.set({k}, static_cast<double>((k * 5 + first) % 7 - 3));
  return tensor;
}

std::vector<TensorBinding> small_integers(const SymbolicGraph& graph) {
  std::vector<TensorBinding> bindings;
  for (std::uint32_t k = 0; k < graph.symbol_count(); ++k)
    if (graph.symbols()[k].kind == SymbolOrigin::input)
      bindings.emplace_back(graph.at(k), small_integers(graph.symbols()[k].form, k));
  return bindings;
}

std::vector<double> reals(const Tensor& x) {
  const Tensor flat = clone(x).reshape({x.element_count()});
  std::vector<double> values;
  for (std::int64_t k = 0; k < flat.extent(0); ++k) values.push_back(flat.real_at({k}));
  return values;
}

}  // namespace mote::test
