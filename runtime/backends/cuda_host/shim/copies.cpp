// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies: their data may arrive at once, or only when the thread waits for them. A
// kernel must be right either way.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "block.h"

namespace mote::shim {

void Block::make(const Copy& copy) {
  const auto given = static_cast<std::size_t>(copy.bytes);
  std::memcpy(copy.to, copy.from, given);
  std::memset(static_cast<char*>(copy.to) + given, 0, static_cast<std::size_t>(copy.size) - given);
}

void Block::copy(void* to, const void* from, int size, int bytes, int line) {
  bool is_early = options_.order == Order::forward;
  meet([&]() -> std::string {
    const auto is_aligned = [&](const void* p) {
      return reinterpret_cast<std::uintptr_t>(p) % static_cast<unsigned>(size) == 0;
    };
    const std::string where = " in line " + std::to_string(line);
    if (bytes < 0 || bytes > size)
      return "copies " + std::to_string(bytes) + " of " + std::to_string(size) + " bytes" + where;
    if (!is_aligned(to) || (bytes > 0 && !is_aligned(from)))
      return "copies " + std::to_string(size) + " bytes from or to an address that " +
             std::to_string(size) + " doesn't divide" + where;
    if (options_.order == Order::random) is_early = random() % 2 == 0;
    current_->is_waited_for = false;
    if (!is_early) current_->copies.push_back({to, from, size, bytes, current_->group});
    return "";
  });
  if (is_early) make({to, from, size, bytes, 0});
}

void Block::end_copies() { ++current_->group; }

void Block::wait_for_copies(int groups) {
  std::vector<Copy> due;
  {
    const Unseen notes;
    Thread& t = *current_;
    const auto last =
        std::ranges::find_if(t.copies, [&](const Copy& c) { return c.group >= t.group - groups; });
    due.assign(t.copies.begin(), last);
    t.copies.erase(t.copies.begin(), last);
    t.is_waited_for = groups == 0 && t.copies.empty();
  }
  for (const Copy& c : due) make(c);
}

}  // namespace mote::shim
