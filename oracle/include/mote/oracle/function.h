// SPDX-License-Identifier: Apache-2.0
// A function of a program's own, proven against an op from within that program.
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

/// The name of a function that has been given none.
inline constexpr const char* kUnnamedFunction = "function";

struct FunctionOptions {
  std::optional<DType> dtype = {};        ///< default: f32, or the first that the op offers
  std::vector<std::string> without = {};  ///< optional inputs that it does not take
  /// Optional inputs and outputs that it cannot do without; for others that a call lacks it gets
  /// NULL.
  std::vector<std::string> needs = {};
  /// What its sums are kept in: native, f32 or f64. Empty: f32 for tensors of 16 bits, else native.
  std::string accumulator = {};
  bool row_major = false;               ///< it takes tensors without gaps only
  bool nondeterministic = false;        ///< equal calls need not give equal bits
  int indices = 0;                      ///< mote_indices: what it takes for granted about them
  std::int64_t count = 300;             ///< random cases
  std::uint64_t seed = 1;               ///< of the random cases
  std::vector<std::string> cases = {};  ///< run first: the text of `mote replay`
  std::string name = kUnnamedFunction;  ///< in reports and cases; without blanks
  /// The shell command that makes this check again, for lines that replay a case; empty: this
  /// process's command line.
  std::string command = {};
  /// Run the function in this process: a crash ends the program, and what only a process of its own
  /// shows is not looked for.
  bool in_process = false;
};

/// A function with the types of its arguments, so that they can be compared with the op's.
struct TypedFunction {
  void (*address)() = nullptr;
  /// "const float*"; nothing where they are not known.
  std::optional<std::vector<std::string>> arguments;
};

struct FunctionReport {
  bool passed = false;
  std::int64_t judged = 0;
  /// The failures, smallest cases first of all; why nothing was judged; how much was judged where
  /// all passed.
  std::string text;
};

/// Cases of the op on the function, in worker processes: a crash is a failure, and no more. They
/// are forks of this program; where it has other threads, and a fork without them gives no result,
/// they are this program launched once more, without its main(). Where $MOTE_REPLAY is set, that
/// case alone; a function of which it is no case then passes, with 0 judged. The function has the
/// signature that `mote emit OP` prints and returns 0. Throws Error for an unknown op or dtype, for
/// a function with other arguments, and where no C compiler is found, which makes the call of the
/// function.
FunctionReport check_function(const std::string& op, const TypedFunction& function,
                              const FunctionOptions& options = {});

/// This process's command line as a shell reads it, without arguments that start with `without`,
/// and with `more` behind it.
std::string program_command(const std::vector<std::string>& more = {},
                            const std::string& without = {});
/// "my_relu" of "&my_relu, {.count = 9}"; kUnnamedFunction where it is no name.
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
