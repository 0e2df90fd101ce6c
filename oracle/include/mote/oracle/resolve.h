// SPDX-License-Identifier: Apache-2.0
// Resolves OP in a command line or a case: the name of an op in the catalogue, or a program file.
// All later stages work on the program alone.
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
  /// The instance of an op; nullopt for a program file.
  std::optional<Instance> instance;
  /// The element type of a program file if it is not its own; names include it.
  std::optional<DType> other_dtype = std::nullopt;
};

/// True for text that means a file: "-" (standard input), a name that ends in .mote, and, if no op
/// has that name, an existing file or any text with a slash.
bool is_program_file(std::string_view text);

/// The text of a program file; "-": standard input. Throws Error "FILE: …".
std::string read_program_text(std::string_view file);
/// The file's program, with another element type if one is given. Throws Error "FILE: …" if it does
/// not parse, or not with that type.
std::shared_ptr<const Program> program_of_file(std::string_view file, std::string_view text,
                                               std::optional<DType> dtype = std::nullopt);

/// The program of `text`. The default dtype is f32, or the first that the op offers, and for a file
/// its own; the default mask has every input. Throws Error for an unknown op (with near matches),
/// an instance that the op doesn't have, a file that can't be read ("FILE: …"), a program that
/// doesn't parse ("FILE: program text: line L, …") or not with that dtype, and for a mask given
/// with a file, which states its inputs.
Resolved resolve_program(std::string_view text, std::optional<DType> dtype = std::nullopt,
                         std::optional<TensorMask> input_mask = std::nullopt);

/// The program of `text` with optional inputs left out by name, differentiated `order` times: an
/// op's gradient is the op "NAME.grad", a file's that of its program, as gradient_kernel() makes
/// it.
Resolved resolve_without(std::string_view text, std::optional<DType> dtype,
                         const std::vector<std::string>& without, int order = 0);

/// Throws Error that lists the known dtypes.
DType require_dtype(std::string_view text);

/// "gemm_f32", "gemm_a_b_f32" if inputs are left out (as the generated kernels are called), or a
/// program file's own name: for names of functions and files.
std::string instance_name(const Resolved& resolved);

}  // namespace mote
