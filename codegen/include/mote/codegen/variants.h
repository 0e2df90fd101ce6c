// SPDX-License-Identifier: Apache-2.0
// The contracts of both variants, and which programs have a fast one.
#pragma once

#include <string>

#include "mote/base/export.h"
#include "mote/uops/program.h"

namespace MOTE_API mote {

/// Whether the program, whose main dtype that is, has a variant fast: reals, unless an output is
/// made of random words otherwise than by comparisons. In other arithmetic it would be another
/// number then, and every backend draws the same.
bool has_fast_variant(const Program& program, DType dtype);

/// As C, a static array functions_f32 of what the fast variant's functions promise in f32.
std::string fast_accuracy_c();
/// As C, a static mote_contract of that name: of the fast variant of a dtype, whose functions are
/// functions_f32; a kernel of f64 and one of the variant oracle need no such table.
std::string fast_contract_c(const std::string& name, DType dtype);
std::string oracle_contract_c(const std::string& name);

}  // namespace mote
