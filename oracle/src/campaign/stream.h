// SPDX-License-Identifier: Apache-2.0
// The cases of one op and dtype in a campaign: how far they are, and whether there is any sense in
// going on.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "campaign/journal.h"
#include "generate/redraw.h"

namespace mote {

/// Cases that are counted as declined before a stream ends of which nothing was taken: for most of
/// them kMaxAttempts others were declined too, as a kernel of 3x3 convolutions takes one of some
/// hundred.
constexpr std::int64_t kDeclinesThatEndAStream = 15;

struct Stream {
  std::shared_ptr<const Target> target;
  DType dtype;
  std::uint64_t position = 0;
  std::int64_t declined = 0;
  bool accepted = false;
  double seconds = 0;
  JournalStream done = {};  ///< what an earlier run of the campaign did
  bool settled = false;     ///< every backend has failed, or takes none
  /// By backend, of those that took none: how often nothing stood for a declined draw.
  std::map<std::string, std::int64_t> fruitless = {};

  bool ended() const { return !accepted && declined >= kDeclinesThatEndAStream; }
  void count(bool was_accepted) {
    accepted = accepted || was_accepted;
    declined += was_accepted ? 0 : 1;
  }
};

}  // namespace mote
