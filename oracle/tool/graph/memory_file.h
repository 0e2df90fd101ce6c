// SPDX-License-Identifier: Apache-2.0
// Blocks of memory that stand in a file of MiniMalloc's (mote/memory/minimalloc.h), and their plan.
#pragma once

#include <cstdint>
#include <string>

namespace mote::tool {

struct MemoryFileOptions {
  std::uint64_t capacity = 0;  ///< the bytes that the blocks must fit into; 0: as few as can be
  bool json = false;
  std::string html;    ///< the file of a page with a picture; empty: none
  std::string output;  ///< the file that gets the blocks with their offsets; empty: none
};

/// Plans the blocks of the file and prints what they need. Returns 1 if they do not fit into the
/// capacity, else 0. Throws Error "FILE: …" for a file that is none.
int plan_memory_file(const std::string& path, const MemoryFileOptions& options);

/// Returns a page of HTML with a picture and text below it.
std::string picture_page(const std::string& svg, const std::string& text);

}  // namespace mote::tool
