// SPDX-License-Identifier: Apache-2.0
// The cases of one op and dtype in a campaign: the current position, and whether more cases are
// useful.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "campaign/journal.h"
#include "generate/redraw.h"

namespace mote {

/// The number of declined cases after which a stream ends if none was accepted. For most of them
/// kMaxAttempts others were declined too, as a kernel of 3x3 convolutions takes one in some
/// hundred.
constexpr std::int64_t kDeclinesThatEndAStream = 15;

struct CaseStream {
  std::shared_ptr<const Target> target;
  DType dtype;
  std::uint64_t position = 0;
  std::int64_t declined = 0;
  bool accepted = false;
  double seconds = 0;
  JournalStream done = {};  ///< the cases of an earlier run of the campaign
  bool settled = false;     ///< every backend has failed, or takes none
  /// The number of declined draws without replacement, of each backend that took no draw.
  std::map<std::string, std::int64_t> fruitless = {};

  bool ended() const { return !accepted && declined >= kDeclinesThatEndAStream; }
  void count(bool was_accepted) {
    accepted = accepted || was_accepted;
    declined += was_accepted ? 0 : 1;
  }
};

}  // namespace mote
