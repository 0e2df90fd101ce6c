// SPDX-License-Identifier: Apache-2.0
// What OP means on a command line or in a case: the name of an op in the catalogue, or a program
// file. Everything after this works on the program alone.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mote/base/export.h"
#include "mote/macroops/catalogue.h"

namespace MOTE_API mote {

struct Resolved {
  std::shared_ptr<const Program> program;
  const OpRecord* record = nullptr;  ///< null for a program file
  /// Of an op: which instance it is.
  std::optional<Instance> instance;
  /// Of a program file with another element type than its own: that, for names.
  std::optional<DType> other_dtype = std::nullopt;
};

/// Text that means a file: "-" (standard input), a name ending in .mote, and where no op has that
/// name, an existing file or anything with a slash in it.
bool is_program_file(std::string_view text);

/// The text of a program file; "-": standard input. Throws Error "FILE: …".
std::string read_program_text(std::string_view file);
/// The file's program, with another element type where one is given. Throws Error "FILE: …" where
/// it does not parse, and where it does not with that type.
std::shared_ptr<const Program> program_of_file(std::string_view file, std::string_view text,
                                               std::optional<DType> dtype = std::nullopt);

/// The program of `text`. dtype: by default f32, or the first that the op offers, and of a file its
/// own; mask: by default every input. Throws Error for an unknown op (with near matches), an
/// instance that the op doesn't have, a file that can't be read ("FILE: …"), a program that doesn't
/// parse ("FILE: program text: line L, …") or not with that dtype, and for a mask given with a
/// file, which states its inputs.
Resolved resolve_program(std::string_view text, std::optional<DType> dtype = std::nullopt,
                         std::optional<TensorMask> input_mask = std::nullopt);

/// The same, with optional inputs left out by name; differentiated `order` times: an op's gradient
/// is the op "NAME.grad", a file's that of its program, as gradient_kernel() makes it.
Resolved resolve_without(std::string_view text, std::optional<DType> dtype,
                         const std::vector<std::string>& without, int order = 0);

/// Throws Error that lists the dtypes that there are.
DType require_dtype(std::string_view text);

/// "gemm_f32", "gemm_a_b_f32" where inputs are left out (as the generated kernels are called), or a
/// program file's own name: for functions and files.
std::string instance_name(const Resolved& resolved);

}  // namespace mote
