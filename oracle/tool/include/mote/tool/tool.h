// SPDX-License-Identifier: Apache-2.0
// The program mote, for tools that add ops of their own to the catalogue first.
#pragma once

namespace mote {

/// What `mote` does with this command line; the exit code.
int tool_main(int argc, char** argv);

}  // namespace mote
