// SPDX-License-Identifier: Apache-2.0
// Lists the words of the text of loop programs that the printer writes and the parser reads.
#pragma once

#include <array>
#include <string_view>

#include "mote/codegen/loops.h"

namespace mote::words {

struct LoopWord {
  LoopKind kind;
  std::string_view word;  ///< before `for`; empty: nothing stands there
};
inline constexpr std::array kLoops = {
    LoopWord{LoopKind::serial, ""},
    LoopWord{LoopKind::threads, "threads"},
    LoopWord{LoopKind::simd, "simd"},
    LoopWord{LoopKind::unrolled, "unrolled"},
    LoopWord{LoopKind::transposed, "transposed"},
    LoopWord{LoopKind::grid, "grid"},
    LoopWord{LoopKind::warp, "warp"},
    LoopWord{LoopKind::block_threads, "block_threads"},
    LoopWord{LoopKind::fragments, "fragments"},
    LoopWord{LoopKind::ahead, "ahead"},
};

struct MemoryWords {
  TensorMemory memory;
  std::string_view words;  ///< behind the shape; empty: nothing stands there
};
inline constexpr std::array kMemories = {
    MemoryWords{TensorMemory::automatic, ""},
    MemoryWords{TensorMemory::registers, "in registers"},
    MemoryWords{TensorMemory::shared, "in shared memory"},
    MemoryWords{TensorMemory::local, "in local memory"},
    MemoryWords{TensorMemory::fragments, "in fragments"},
};

/// The lines of a program that are there or not.
inline constexpr std::string_view kNative = "native", kPart = "part of a program",
                                  kMultipliesPadding = "multiplies padding";
/// The function that an index expression is the argument of where its text could mean operations
/// on values: index(i)*index(j).
inline constexpr std::string_view kIndex = "index";

}  // namespace mote::words
