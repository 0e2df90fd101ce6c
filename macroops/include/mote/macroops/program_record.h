// SPDX-License-Identifier: Apache-2.0
// An op of the catalogue from program text: mote_add_kernels() makes one of each .mote file.
#pragma once

#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/macroops/catalogue.h"

namespace MOTE_API mote {

/// The op that the text defines, of the dtypes that are named, or of its own; `file` is its source
/// and stands before errors. Throws Error where the text does not parse, with each dtype.
OpRecord program_record(const std::string& file, const std::string& text,
                        const std::vector<std::string>& dtypes = {});

}  // namespace mote
