// Loop programs as C11 text.
#pragma once

#include <string>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote {

struct EmitOptions {
  std::string function = {};  ///< name of the C function; default mote_<program name>
  bool standalone = false;    ///< one file that compiles alone: includes and the helpers it uses
  bool thunk = false;         ///< add the thunk; the typed function is static then
  /// For the thunk: the inputs and parameters that a call may hold, in order. An input that the
  /// program lacks must be NULL in the call, a parameter that it lacks is ignored. Empty: those of
  /// the program.
  std::vector<std::string> call_inputs = {};
  std::vector<std::string> call_params = {};
};

/// The kernel as a readable typed function: pointers with strides in elements, sizes, parameters;
/// its header comment gives the equation, shapes and parameters. Variant `oracle`: reals in double,
/// integers in wrapping 64-bit, never reordered (compile with -ffp-contract=off). A bool is a
/// uint8_t, 0 or 1; other values read as true. Temporaries of rank 1 or more come from malloc; the
/// function returns 0, or -1 when memory ran out.
/// With a thunk, `mote_status <function>_can_run(const mote_call *)` and `mote_status
/// <function>_run(const mote_call *, void *)` follow, which need mote/base/thunk.h.
std::string emit_c(const LoopProgram& p, const EmitOptions& options);
/// The static helper functions that kernels use (floor division, NaN-propagating max, …), once a
/// file; they need what emit_c_includes() includes.
std::string emit_c_prelude();
std::string emit_c_includes();
/// The prototype, as a declaration with a semicolon.
std::string emit_c_prototype(const LoopProgram& p, const EmitOptions& options);

}  // namespace mote
