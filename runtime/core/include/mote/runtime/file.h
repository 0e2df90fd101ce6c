// SPDX-License-Identifier: Apache-2.0
// Whole files are read and written as bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "mote/base/export.h"

namespace MOTE_API mote {

/// Throws StatusError MOTE_FAILED that names the file and the system's reason.
std::vector<std::byte> read_file(const std::string& path);
void write_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace mote
