// SPDX-License-Identifier: Apache-2.0
// Defines the steps of a schedule as values: each prints, parses and can be taken again.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mote/base/export.h"

namespace MOTE_API mote {

enum class StepKind : std::uint8_t {
  once,              ///< `once`: what is computed twice, along other axes, is kept in arrays
  keep,              ///< `keep y`: output y keeps a costly value that two loops compute
  scan,              ///< `scan n`: n carries sums of what lies before or after its element
  blocks,            ///< `blocks t 64`: loops that read what t fills run with 64 iterations of t
  vectors,           ///< `vectors 32`: tiles after it consist of vectors of 32 bytes
  tile,              ///< `tile m 8 n 32`: 8 rows of 32 results, whose sums are in registers
  tile_window,       ///< `tile_window h 8 w 32`: the same, where w slides along a window
  tile_rows,         ///< `tile_rows t 8`: 8 iterations of t together, whose products are tiles
  slide,             ///< `slide 2`: last loops along which windows slide by 2 go inside these
  scatter,           ///< `scatter`: windows add to their elements, which do not look for windows
  positions,         ///< `positions`: positions of maxima and minima are found after these
  jam,               ///< `jam 8`: sums in arrays get the terms of 8 iterations at a time
  prefetch,          ///< `prefetch r`: r's last loop that reads a row fetches the next one
  hoist,             ///< `hoist`: conditions on data are asked before loops that only copy
  narrow,            ///< `narrow 4096`: simd loops compare the positions of 4096 iterations in 32
                     ///< bits
  inward,            ///< `inward c 256`: c goes inside the loops that it holds, by tiles of 256
  partial,           ///< `partial r 64`: each 64 iterations of r add up partial sums of their own
  outward,           ///< `outward c 256`: c goes outside the loops that hold it, by parts of 256
  innermost,         ///< `innermost c 256`: inward, and inside the other loops of c's nest as well
  registers,         ///< `registers c 64`: the same by tiles of exactly 64, with sums in registers
  transpose,         ///< `transpose n 128`: copies squares, of which vectors lie along n when read
  interchange,       ///< `interchange m`: m goes inside the loop directly below it
  split,             ///< `split n 4096`: n_start holds n, over 4096 iterations
  simd,              ///< `simd n`: n in vectors, for calls whose elements along it are adjacent
  simd_if_adjacent,  ///< `simd_if_adjacent n`: n in vectors if its elements are, otherwise in order
  simd_apart,        ///< `simd_apart n 2`: as simd, but reads go on by up to 2 elements
  threads,   ///< `threads m n`: threads share the iterations of m and of n directly below it
  adjacent,  ///< `adjacent n`: only for calls whose elements along n are adjacent
  repeat,    ///< `repeat x 1`: only for calls whose x repeats along its axis 1
  // Only a GPU's schedule has the following steps, behind those on loops; `threads` is one of them
  // too. Each names a launch by one of its loops.
  distribute,      ///< `distribute`: the steps that iterations hold become loops of their own
  parts,           ///< `parts r`: the launch is made of parts, which are launches of their own
  grid,            ///< `grid r c`: a block takes each iteration of r and of c directly below it
  row_vectors,     ///< `row_vectors r`: behind grid, threads of a block move 16 bytes at a time
  thread_vectors,  ///< `thread_vectors r`: a thread takes 16 bytes of elements side by side
  block_tile,      ///< `block_tile r 64`: a block takes 64 by 64 of the products, or 128 by 128
};

/// Returns true for a step that only a GPU's schedule has.
constexpr bool is_for_gpu(StepKind kind) { return kind >= StepKind::distribute; }

/// A loop by its variable, or a tensor by its name, and a number of iterations (of repeat an axis);
/// -1 if the step takes none. The name is empty in a step that is taken wherever it can be.
struct StepTarget {
  std::string name;
  std::int64_t amount = -1;
  friend bool operator==(const StepTarget&, const StepTarget&) = default;
};

struct Step {
  StepKind kind;
  std::vector<StepTarget> targets;
  friend bool operator==(const Step&, const Step&) = default;
};

/// Returns `tile m 8 n 32`.
std::string to_string(const Step& step);
/// Returns the steps between commas.
std::string to_string(std::span<const Step> steps);
/// Parses what to_string writes; `tile m 8, tile n 32` is one step too. Throws Error, with line and
/// column, for other words, missing names, and amounts that are not from 1 to 2^30.
std::vector<Step> parse_steps(std::string_view text);

}  // namespace mote
