// SPDX-License-Identifier: Apache-2.0
// A kernel's contract: the numbers that the error bound uses, and its full text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mote/base/export.h"
#include "mote/base/kernel.h"
#include "mote/uops/bound.h"

namespace MOTE_API mote {

/// The contract for tensors of that dtype. A null contract promises the default.
Contract contract_of(const mote_contract* given, DType dtype);
/// The form that the contract names; "direct" without a contract or a form.
std::string_view form_of(const mote_contract* contract);
/// One line for each property that the error bound of the program depends on: "accumulator f32",
/// "exp 2 ulp", "form direct".
std::string contract_text(const mote_contract* given, DType dtype, const Program& program);
/// The whole contract in the words of kernel.h: "accumulator f32, exp 2 ulp, deterministic".
std::string contract_line(const mote_contract& contract);

/// Throws Error "OWNER: …" for a contract that names an unknown function, or lets tensors share
/// memory that the op does not have.
void check_contracts(const std::string& owner, const mote_backend& backend);
/// Each distinct contract of the backend's kernels for these ops: "matmul, gemm: accumulator f32,
/// …"; then the in-place pairs that a contract promises and no definition has, which are never
/// tried.
std::vector<std::string> contract_lines(const mote_backend& backend,
                                        const std::vector<std::string>& ops);

}  // namespace mote
