// The catalogue of ops: each a record whose body is a few lines of uops. Everything else about an
// op (kernels, cases, registry entry, documentation) is derived from its record.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mote/uops/program.h"

namespace mote {

/// An input of an op; its shape is in the program. Optional inputs may be absent.
struct InputDecl {
  std::string name;
  bool optional = false;
};

/// One instance of a record: element type of its real (or main) tensors, and which inputs are
/// present.
struct Instance {
  DType dtype;
  std::uint32_t input_mask;  ///< bit k: input k is present
};

struct OpRecord {
  std::string name;
  std::string family;    ///< "linear", "elementwise", …
  std::string equation;  ///< one line
  std::vector<InputDecl> inputs;
  std::vector<DType> dtypes;
  std::vector<ParamDecl> params;
  std::vector<std::pair<int, int>> in_place;  ///< (input, output) that may share memory
  std::string policy;  ///< what is pinned: ties, NaN, β = 0, … ; may be empty
  std::string source;  ///< where the definition comes from
  /// The definition. Inputs that the instance leaves out come as empty handles.
  std::function<ProgramSpec(const Instance&)> define;
};

/// All ops, sorted by name.
std::span<const OpRecord> catalogue();
/// Throws Error that names near matches and says how to list all.
const OpRecord& find_op(std::string_view name);
/// All instances: dtypes × masks of optional inputs.
std::vector<Instance> instances(const OpRecord& record);
/// The checked program of an instance (cached). Errors get "op NAME: …" in front.
std::shared_ptr<const Program> instantiate(const OpRecord& record, const Instance& instance);
/// The mask with every input.
std::uint32_t full_mask(const OpRecord& record);

}  // namespace mote
