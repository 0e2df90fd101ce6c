// SPDX-License-Identifier: Apache-2.0
// Emits loop programs as C11 text: the reference from a LoopProgram, gen kernels from a Schedule.
#pragma once

#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mote/base/export.h"
#include "mote/codegen/schedule.h"

namespace MOTE_API mote {

struct EmitOptions {
  std::string function = {};  ///< name of the C function; default mote_<program name>
  bool standalone = false;    ///< one file that compiles alone, with its includes and helpers
  bool thunk = false;         ///< adds the thunk; without `gen` the typed function is static then
  /// Outputs that may be NULL, though not all at once; the kernel then skips the computation that
  /// only they need. The program may lack some of them. The thunk then needs
  /// mote/base/thunk_outputs.h.
  std::vector<std::string> optional_outputs = {};
  /// The inputs and parameters that a call of the thunk may hold, in order. An input that the
  /// program lacks must be NULL in the call, a parameter that it lacks is ignored. If empty, the
  /// program's own inputs and parameters are taken.
  std::vector<std::string> call_inputs = {};
  std::vector<std::string> call_params = {};
  /// Another function of the same signature, which the thunk's `mote_status <gen>_run(…)` calls
  /// after the same checks.
  std::string gen = {};
  /// A function of the same signature that a schedule's function calls where none of its versions
  /// but the last, which is then not written, can run.
  std::string otherwise = {};
  /// Statements that open the body of the typed function of the variant reference, or of the
  /// function that chooses among versions.
  std::string opening = {};
  /// The inputs and outputs that the header comment says may be NULL.
  std::vector<std::string> nullable = {};
  bool is_pointer = false;  ///< prototypes declare a pointer to the function
  /// Receives the names of the functions that the text calls, the helpers among them.
  std::set<std::string>* helpers = nullptr;
};

/// A function that a gen helper computes in float, and its accuracy.
struct FunctionAccuracy {
  const char* function;  ///< its name in program text: "exp"
  double ulp;            ///< the greatest error, in units in the last place, over all of f32
};
/// The accuracies that the variant gen declares for f32; tests measure them.
std::span<const FunctionAccuracy> gen_accuracy();

/// Returns the kernel as a readable typed function that takes pointers with strides in elements,
/// sizes and parameters; its header comment gives the equation, shapes and parameters. This is the
/// reference, variant `reference`: reals are computed in double, integers in wrapping 64-bit, and
/// nothing is reordered (compile with -ffp-contract=off, and with -frounding-math, without which
/// gcc may change the sign of a zero). A bool is a uint8_t, 0 or 1; other values read as true.
/// Temporaries of rank 1 or more come from malloc; the function returns 0, or -1 if memory ran out.
/// With a thunk, `mote_status <function>_can_run(const mote_call *)` and `mote_status
/// <function>_run(const mote_call *, void *)` follow, which need mote/base/thunk.h.
std::string emit_c(const LoopProgram& p, const EmitOptions& options);
/// Returns the variant `gen` of a schedule: reals are computed in their own dtype, strides that
/// are 1 are left out, and one function chooses among versions by the strides it is given. OpenMP's
/// pragmas stand under #ifdef _OPENMP; threads share loops of more than MOTE_PARALLEL_ABOVE
/// iterations. It has no thunk: the reference's thunk calls it, see EmitOptions::gen.
std::string emit_c(const Schedule& s, const EmitOptions& options);
/// Returns the thunk around options.function, a function of that signature that is defined
/// elsewhere: a comment, the prototype, `mote_status <function>_can_run(…)` and `mote_status
/// <function>_run(…)`. It needs mote/base/thunk.h, mote/base/thunk_outputs.h if outputs are
/// optional, and the helpers that emit_c_helpers() gives.
std::string emit_c_around(const LoopProgram& p, const EmitOptions& options);
/// Returns the thunk around options.function alone, without comment and prototype.
std::string emit_c_thunk(const LoopProgram& p, const EmitOptions& options);
/// The kernel for calls that lack some of the inputs of another kernel, the whole.
struct PartialKernel {
  const LoopProgram& program;
  std::string function;
  std::vector<std::string> outputs;  ///< for each of its own outputs, the output of the whole
};
/// Returns a statement of the whole's function that calls the part's function if the inputs that
/// the part lacks are NULL. An input with axes counts as NULL if its strides are NULL: a call may
/// have no data for an input of which only the shape is needed.
std::string emit_c_choice(const LoopProgram& whole, const PartialKernel& part);
/// Returns the opposite of emit_c_choice: the part's function, static, which calls the whole's
/// `function` with NULL for missing tensors, 0 for sizes and the default for parameters.
std::string emit_c_adapter(const PartialKernel& part, const LoopProgram& whole,
                           const std::string& function);
/// Returns a function that calls the first of these functions whose level mote_level() reaches. The
/// highest level comes first, 0 last; all except 0 stand under #ifdef MOTE_X86_LEVELS. Under #ifdef
/// MOTE_ONE_LEVEL, for other processors than x86-64, it calls the function `elsewhere`.
std::string emit_c_dispatch(const LoopProgram& p, const EmitOptions& options,
                            const std::vector<std::pair<int, std::string>>& levels,
                            const std::string& elsewhere);
/// The includes and helpers of gen kernels, including the reference's helpers.
std::string emit_c_gen_includes();
std::string emit_c_gen_prelude();
/// Returns the helpers that the prelude lacks, if a text that calls functions with these names
/// needs them. They may be included repeatedly.
std::string emit_c_rare_helpers(const std::set<std::string>& names);
/// Returns the static helper functions that kernels use (floor division, NaN-propagating max, …),
/// to be written once per file; they need the includes of emit_c_includes().
std::string emit_c_prelude();
/// Returns the helpers next_up, next_down and lowest_bit, which only error bounds use.
std::string emit_c_bound_prelude();
std::string emit_c_includes();
/// Returns the helpers of all preludes with these names, and those that they call. Other names do
/// not count.
std::string emit_c_helpers(const std::set<std::string>& names);
/// Returns the types of the typed function's arguments: "const float*", "const int64_t*",
/// "int64_t", "double".
std::vector<std::string> c_argument_types(const LoopProgram& p);
/// Returns the prototype, a declaration with a semicolon.
std::string emit_c_prototype(const LoopProgram& p, const EmitOptions& options);

}  // namespace mote
