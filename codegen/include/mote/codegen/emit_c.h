// SPDX-License-Identifier: Apache-2.0
// Loop programs as C11 text.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mote/base/export.h"
#include "mote/codegen/schedule.h"

namespace MOTE_API mote {

struct EmitOptions {
  std::string function = {};  ///< name of the C function; default mote_<program name>
  bool standalone = false;    ///< one file that compiles alone: includes and the helpers it uses
  bool thunk = false;         ///< add the thunk; without `fast` the typed function is static then
  /// Outputs that may be NULL, though not all outputs at once; what only they need is not computed
  /// then. A program may lack some. The thunk then needs mote/base/thunk_outputs.h.
  std::vector<std::string> optional_outputs = {};
  /// For the thunk: the inputs and parameters that a call may hold, in order. An input that the
  /// program lacks must be NULL in the call, a parameter that it lacks is ignored. Empty: those of
  /// the program.
  std::vector<std::string> call_inputs = {};
  std::vector<std::string> call_params = {};
  /// For the thunk: another function of the same signature, which `mote_status <fast>_run(…)` then
  /// calls after the same checks.
  std::string fast = {};
  /// Statements that the body of a typed function of the variant oracle, or of the function that
  /// chooses among versions, begins with.
  std::string opening = {};
  /// Inputs and outputs that the header comment says may be NULL.
  std::vector<std::string> nullable = {};
};

/// A function that a fast helper computes in float.
struct FunctionAccuracy {
  const char* function;  ///< as in program text: "exp"
  double ulp;            ///< the greatest error, in units in the last place, over all of f32
};
/// What the fast variant declares, for f32; tests measure it.
std::span<const FunctionAccuracy> fast_accuracy();

/// The kernel as a readable typed function: pointers with strides in elements, sizes, parameters;
/// its header comment gives the equation, shapes and parameters. Variant `oracle`: reals in double,
/// integers in wrapping 64-bit, never reordered (compile with -ffp-contract=off, and with
/// -frounding-math, without which gcc may turn the sign of a zero). A bool is a
/// uint8_t, 0 or 1; other values read as true. Temporaries of rank 1 or more come from malloc; the
/// function returns 0, or -1 when memory ran out.
/// With a thunk, `mote_status <function>_can_run(const mote_call *)` and `mote_status
/// <function>_run(const mote_call *, void *)` follow, which need mote/base/thunk.h.
std::string emit_c(const LoopProgram& p, const EmitOptions& options);
/// Variant `fast`, from a schedule: reals in their own dtype, strides that are 1 left out, one
/// function that chooses among versions by the strides it is given. OpenMP's pragmas stand under
/// #ifdef _OPENMP; loops are shared among threads above MOTE_PARALLEL_ABOVE rounds. No thunk: the
/// oracle variant's calls it, see EmitOptions::fast.
std::string emit_c(const Schedule& s, const EmitOptions& options);
/// The thunk around a function of that signature that stands elsewhere, options.function: a
/// comment, the prototype, `mote_status <function>_can_run(…)` and `mote_status <function>_run(…)`.
/// Needs mote/base/thunk.h, with optional outputs mote/base/thunk_outputs.h, and the helpers that
/// emit_c_helpers_for() gives.
std::string emit_c_around(const LoopProgram& p, const EmitOptions& options);
/// The thunk alone, around options.function.
std::string emit_c_thunk(const LoopProgram& p, const EmitOptions& options);
/// The kernel for calls that lack some of the inputs which another one, the whole, takes.
struct PartialKernel {
  const LoopProgram& program;
  std::string function;
  std::vector<std::string> outputs;  ///< for each output of its own that of the whole
};
/// A statement of the whole's function: where the inputs that the part lacks are NULL, the part's
/// function is called. An input with axes is NULL where its strides are: of an input whose shape
/// alone is needed a call may have no data.
std::string emit_c_choice(const LoopProgram& whole, const PartialKernel& part);
/// The other way round: the part's function, static, calls the whole's `function`, with NULL for
/// tensors that the part lacks, 0 for sizes and the default for parameters.
std::string emit_c_adapter(const PartialKernel& part, const LoopProgram& whole,
                           const std::string& function);
/// A function that calls the first of these functions whose level mote_level() reaches: the highest
/// level first, 0 last; all but 0 stand under #ifdef MOTE_X86_LEVELS.
std::string emit_c_dispatch(const LoopProgram& p, const EmitOptions& options,
                            const std::vector<std::pair<int, std::string>>& levels);
/// What fast kernels include and call, the helpers of the oracle variant among it.
std::string emit_c_fast_includes();
std::string emit_c_fast_prelude();
/// The static helper functions that kernels use (floor division, NaN-propagating max, …), once a
/// file; they need what emit_c_includes() includes.
std::string emit_c_prelude();
/// Those of next_up, next_down and lowest_bit, which no op of the catalogue uses: error bounds do.
std::string emit_c_bound_prelude();
std::string emit_c_includes();
/// The helpers of all preludes that `text` calls, and those that they call.
std::string emit_c_helpers_for(const std::string& text);
/// What the typed function takes: "const float*", "const int64_t*", "int64_t", "double".
std::vector<std::string> c_argument_types(const LoopProgram& p);
/// The prototype, as a declaration with a semicolon.
std::string emit_c_prototype(const LoopProgram& p, const EmitOptions& options);

}  // namespace mote
