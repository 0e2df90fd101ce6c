// SPDX-License-Identifier: Apache-2.0
// The tables of the functions that emitted text calls.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "mote/base/dtype.h"

namespace mote::emit {

/// The language that a function's body is in: C, or a CUDA kernel.
enum class Target : std::uint8_t { c, cuda };

/// The specifiers before a helper's type. always_inline: a macro of both languages' headers.
/// called: the compiler never inlines the function, so that kernels take fewer bytes. cold: it
/// never inlines the function either, which is called rarely and stands once in a text.
enum class Storage : std::uint8_t { static_inline, always_inline, called, cold, none };

/// A helper function of emitted text. One whose name begins with "reduction " is the declaration
/// that a clause of OpenMP needs.
struct Helper {
  std::string_view name;
  Storage storage = Storage::static_inline;
  std::array<std::string_view, 3> calls = {};  ///< the other helpers that it calls
  std::string_view head = {};                  ///< lines before it, such as a comment
  std::string_view function = {};              ///< from its type on
  bool is_one_instruction = false;             ///< mote_cuda.h has it as one of a GPU
};

std::string text_of(const Helper& helper, Target target = Target::c);
std::span<const Helper> reference_helpers();  ///< those that all kernels may call
std::span<const Helper> bound_helpers();      ///< next_up, next_down, lowest_bit
std::span<const Helper> gen_helpers();        ///< those of gen kernels alone
// The next two list those of gen kernels in C alone.
std::span<const Helper> thread_helpers();
std::span<const Helper> memory_helpers();
// The next two list those of gen kernels that no prelude has.
std::span<const Helper> pair_helpers();
std::span<const Helper> transpose_helpers();
/// Returns the name of the one for squares of that many rows, and elements of that many bits.
std::string transpose_function(std::int64_t rows, int bits);
/// Returns the name of the one that transposes columns of a panel of f32 or f64, and the rows of
/// the squares by which it does so.
std::string columns_function(DType dtype);
std::int64_t size_of_square(DType dtype);
bool is_helper(const std::string& function);
/// Returns the helpers with these names, and those that they call; other names do not count.
std::string helpers_text(const std::set<std::string>& names, Target target = Target::c);

}  // namespace mote::emit
