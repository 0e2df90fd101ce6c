// SPDX-License-Identifier: Apache-2.0
// Lets passes over the same programs find each other's proofs.
#pragma once

#include "mote/base/export.h"

namespace MOTE_API mote {

/// While one lives, facts_of() gives its thread copies of the same facts for the same limits of
/// parameters, so that each pass over a program finds the proofs of those before it. One within
/// another shares the other's; the proofs are forgotten with the outermost.
class SharedProofs {
 public:
  SharedProofs();
  ~SharedProofs();
  SharedProofs(const SharedProofs&) = delete;
  SharedProofs& operator=(const SharedProofs&) = delete;
};

}  // namespace mote
