// SPDX-License-Identifier: Apache-2.0
// One step of a schedule: a nest that only copies, where adjacent elements of the input and of the
// output lie along two loops.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schedule/take.h"

namespace mote {

/// Copies `y[…, n, m] = x[…, m, n]` by squares that are transposed in registers, in blocks of
/// `block` iterations of the loop n. A square has as many rows as a vector has elements, and what
/// squares leave is copied element by element. Relies on stride 1 along the last axis of both.
Refusal transpose_squares(LoopProgram& p, const Path& loop, std::int64_t block);

/// The loop n of a program that is one such copy, and the bytes of an element.
struct LoopToTranspose {
  std::string name;
  std::int64_t element_bytes;
};
std::optional<LoopToTranspose> loop_to_transpose(const LoopProgram& p);

}  // namespace mote
