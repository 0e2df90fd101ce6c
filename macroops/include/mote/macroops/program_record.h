// SPDX-License-Identifier: Apache-2.0
// Makes an op of the catalogue from program text: mote_add_kernels() makes one of each .mote file.
#pragma once

#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/macroops/catalogue.h"

namespace MOTE_API mote {

/// Returns the op that the text defines, with the given dtypes, or with its own if there are none.
/// `file` is its source and begins error messages. Throws Error if the text does not parse with
/// each dtype.
OpRecord program_record(const std::string& file, const std::string& text,
                        const std::vector<std::string>& dtypes = {});

}  // namespace mote
