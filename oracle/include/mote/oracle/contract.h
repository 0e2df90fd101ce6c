// SPDX-License-Identifier: Apache-2.0
// A kernel's contract: its numbers as the bound takes them, and all of it in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mote/base/export.h"
#include "mote/base/kernel.h"
#include "mote/uops/bound.h"

namespace MOTE_API mote {

/// For tensors of that dtype. A null contract promises what is usual.
Contract contract_of(const mote_contract* given, DType dtype);
/// "direct" where there is no contract or it names none.
std::string_view form_of(const mote_contract* contract);
/// A line for each thing that the bound of the program depends on: "accumulator f32", "exp 2 ulp",
/// "form direct".
std::string contract_text(const mote_contract* given, DType dtype, const Program& program);
/// All that it says, in the words of kernel.h: "accumulator f32, exp 2 ulp, deterministic".
std::string contract_line(const mote_contract& contract);

/// Throws Error "OWNER: …" for a contract that names an unknown function, or lets tensors share
/// memory that the op does not have.
void check_contracts(const std::string& owner, const mote_backend& backend);
/// Each contract of the backend's kernels for these ops once: "matmul, gemm: accumulator f32, …";
/// then the in-place pairs that a contract promises and no definition has, which are never tried.
std::vector<std::string> contract_lines(const mote_backend& backend,
                                        const std::vector<std::string>& ops);

}  // namespace mote
