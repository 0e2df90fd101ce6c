// SPDX-License-Identifier: Apache-2.0
// The program mote-gen, for generators that first add ops of their own to the catalogue.
#pragma once

namespace mote {

/// Runs mote-gen with this command line and returns the exit code.
int generator_main(int argc, char** argv);

}  // namespace mote
