// SPDX-License-Identifier: Apache-2.0
// The locations of the tensors and the workspace of one call in the arena: each on pages of its
// own, with closed pages before and after it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mote/oracle/case.h"
#include "run/buffer.h"

namespace mote::isolate {

struct Extent {
  std::string name;       ///< "x", "workspace"
  bool written = false;   ///< outputs and workspace; the pages of inputs are read-only
  char* pages = nullptr;  ///< its pages that can be opened
  std::size_t page_bytes = 0;
  char* begin = nullptr;  ///< the start of its elements, including those that an offset skips
  std::size_t bytes = 0;
};

/// An address near an extent.
struct Hit {
  const Extent* extent = nullptr;
  std::int64_t before = 0;  ///< bytes before its first byte; 0: not before
  std::int64_t after = 0;   ///< bytes after its last byte, 1 for the first; 0: not after
  bool open = false;        ///< it is on the extent's pages
  std::int64_t distance() const { return before + after; }
};

class Site {
 public:
  /// Inputs, then outputs, in the case's order. Each tensor ends where its pages end, begins where
  /// they begin, or lies at an odd multiple of its element's size within them: `draw` decides.
  /// Throws Error if the room is too small.
  Site(const Case& c, std::span<char> room, std::uint64_t draw);
  /// Adds a workspace aligned to 64 bytes.
  void add_workspace(std::size_t bytes);
  /// The same site, page for page, in other memory after `used`. Throws Error as above.
  Site moved_behind(const char* used) const;

  const std::vector<Extent>& extents() const { return extents_; }
  Region region(std::size_t extent, DType dtype) const;
  const Extent& workspace() const { return extents_.back(); }
  /// The earliest start of the next site.
  char* end() const { return end_; }
  /// The nearest extent; nullopt if the address is far from each.
  std::optional<Hit> nearest(const void* address) const;

 private:
  void add(const std::string& name, bool written, std::size_t bytes, std::size_t alignment,
           std::uint64_t draw);

  std::span<char> room_;
  std::uint64_t draw_;
  std::vector<Extent> extents_;
  char* end_;
};

}  // namespace mote::isolate
