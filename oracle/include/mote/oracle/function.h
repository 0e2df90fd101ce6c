// SPDX-License-Identifier: Apache-2.0
// Checks a function of the caller's program against an op, from within that program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "mote/base/dtype.h"
#include "mote/base/export.h"

namespace MOTE_API mote {

/// The name of a function without a given name.
inline constexpr const char* kUnnamedFunction = "function";

struct FunctionOptions {
  std::optional<DType> dtype = {};        ///< default: f32, or the first dtype of the op
  std::vector<std::string> without = {};  ///< optional inputs that it does not take
  /// Optional inputs and outputs that it requires; it gets NULL for others that a call lacks.
  std::vector<std::string> needs = {};
  /// The accumulator of its sums: native, f32 or f64. Empty: f32 for 16-bit tensors, else native.
  std::string accumulator = {};
  bool row_major = false;               ///< it takes only tensors without gaps
  bool nondeterministic = false;        ///< equal calls need not give equal bits
  int indices = 0;                      ///< mote_indices: its assumptions about indices
  std::int64_t count = 300;             ///< random cases
  std::uint64_t seed = 1;               ///< the seed of the random cases
  std::vector<std::string> cases = {};  ///< run first: the text of `mote replay`
  std::string name = kUnnamedFunction;  ///< its name in reports and cases; without blanks
  /// The shell command that runs this check again, for lines that replay a case; empty: the command
  /// line of this process.
  std::string command = {};
  /// Runs the function in this process: a crash ends the program, and defects that only a separate
  /// process shows are not found.
  bool in_process = false;
};

/// A function with the types of its arguments, so that they can be compared with the op's.
struct TypedFunction {
  void (*address)() = nullptr;
  /// The types ("const float*"); nullopt if they are not known.
  std::optional<std::vector<std::string>> arguments;
};

struct FunctionReport {
  bool passed = false;
  std::int64_t judged = 0;
  /// The failures, smallest cases first; the reason if no case was judged; the number of judged
  /// cases if all passed.
  std::string text;
};

/// Runs cases of the op on the function in worker processes: a crash is a failure and does not end
/// the program. The workers are forks of this program; if it has other threads, and a fork without
/// them gives no result, they are this program launched again, without its main(). If $MOTE_REPLAY
/// is set, only that case runs; a function that the case is not for then passes with 0 judged. The
/// function has the signature that `mote emit OP` prints and returns 0. Throws Error for an unknown
/// op or dtype, for a function with other arguments, and without a C compiler, which compiles the
/// call of the function.
FunctionReport check_function(const std::string& op, const TypedFunction& function,
                              const FunctionOptions& options = {});

/// The command line of this process as a shell reads it, without arguments that start with
/// `without`, followed by `more`.
std::string program_command(const std::vector<std::string>& more = {},
                            const std::string& without = {});
/// "my_relu" for "&my_relu, {.count = 9}"; kUnnamedFunction if it is not a name.
std::string name_of_function(std::string_view expression);

namespace detail {

template <typename T>
std::string c_type() {
  if constexpr (std::is_pointer_v<T>) {
    using Pointee = std::remove_pointer_t<T>;
    return (std::is_const_v<Pointee> ? "const " : "") + c_type<std::remove_const_t<Pointee>>() +
           "*";
  } else if constexpr (std::is_floating_point_v<T>) {
    return sizeof(T) == 4 ? "float" : sizeof(T) == 8 ? "double" : "long double";
  } else if constexpr (std::is_same_v<T, bool>) {
    return "bool";
  } else {
    static_assert(std::is_integral_v<T>, "arguments are pointers, integers and reals");
    return (std::is_signed_v<T> ? "int" : "uint") + std::to_string(8 * sizeof(T)) + "_t";
  }
}

}  // namespace detail

template <typename... Arguments>
TypedFunction typed(int (*function)(Arguments...)) {
  return {reinterpret_cast<void (*)()>(function),
          std::vector<std::string>{detail::c_type<Arguments>()...}};
}

}  // namespace mote
