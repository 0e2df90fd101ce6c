// SPDX-License-Identifier: Apache-2.0
// The files that are written for a library of ops in addition to its kernels: the table that a
// program registers, and a plug-in of its gen kernels.
#pragma once

#include <cstddef>
#include <string>

namespace mote {

/// Declares the table, `extern const mote_kernel_library NAME`.
std::string library_header_text(const std::string& library);
std::string library_text(const std::string& library, std::size_t kernels, std::size_t ops,
                         std::size_t gradients);
std::string plugin_text(const std::string& library, std::size_t kernels);

}  // namespace mote
