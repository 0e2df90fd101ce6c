// SPDX-License-Identifier: Apache-2.0
// The work of a call: primitives of oneDNN, one after another, with a reorder for every tensor
// whose layout the primitive does not take. All memory except the call's tensors is in its
// workspace.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <vector>

#include "support/call.h"

namespace mote::onednn {

using dnnl::memory;

const dnnl::engine& engine();

/// An argument of a primitive: a tensor of the call, with its axes in oneDNN's order, or memory
/// that several jobs of the call share (`shared` is its number, and it has no data of its own).
struct Argument {
  int number;  ///< DNNL_ARG_…
  memory::desc lies;
  void* data = nullptr;
  bool is_output = false;
  std::optional<int> shared = std::nullopt;
  bool is_attribute = false;  ///< must be dense: a primitive's description does not include it
};

/// An argument as the primitive takes it, and the reorder between that and its own layout.
struct Binding {
  Argument argument;
  memory::desc wanted;
  std::optional<dnnl::reorder> reorder;
};

struct Job {
  dnnl::primitive primitive;
  memory::desc scratchpad;
  std::vector<Binding> bindings;
};
using Jobs = std::vector<Job>;

/// The layouts in which a primitive may get its tensors.
enum class Layouts {
  as_they_lie,
  dense,  ///< row-major
  any     ///< as the primitive prefers
};

std::vector<memory::desc> descs_of(const std::vector<Argument>& arguments, Layouts layouts);
Job bound_job(const dnnl::primitive& primitive, const dnnl::primitive_desc_base& made,
              const std::vector<Argument>& arguments);
/// Returns attributes with which scratchpads are part of the workspace.
dnnl::primitive_attr attributes();

/// Returns the job of the first layouts for which `make`, given a desc for each argument, makes a
/// primitive's description. Throws dnnl::error if there are none.
template <typename Primitive, typename Make>
Job make_job(const std::vector<Argument>& arguments, std::initializer_list<Layouts> attempts,
             const Make& make) {
  for (const Layouts* at = attempts.begin();; ++at) {
    try {
      const auto made = make(descs_of(arguments, *at));
      return bound_job(Primitive(made), made, arguments);
    } catch (const dnnl::error&) {
      if (at + 1 == attempts.end()) throw;
    }
  }
}

std::size_t workspace_bytes(const Jobs& jobs);
/// Runs the jobs; `workspace` holds workspace_bytes, aligned to 64.
void run_jobs(const Jobs& jobs, void* workspace);

}  // namespace mote::onednn
