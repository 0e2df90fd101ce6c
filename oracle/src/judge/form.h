// SPDX-License-Identifier: Apache-2.0
// The form that a kernel's contract names: the program of the op that bounds its results.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "mote/base/kernel.h"
#include "mote/oracle/case.h"
#include "mote/oracle/contract.h"

namespace mote {

/// The record with the forms of the case's op; null for a program file, unless the catalogue has
/// the same program under its name.
const OpRecord* record_of(const Case& c);

/// The program of the case's op in that form. Throws Error that lists the op's forms.
std::shared_ptr<const Program> form_program(const Case& c, std::string_view form);

/// The reason why a kernel with that contract cannot have computed the case: its form is unknown,
/// or does not hold for these sizes and parameters; empty if it can.
std::string form_misfit(const Case& c, const mote_contract* contract);

}  // namespace mote
