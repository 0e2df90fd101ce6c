// SPDX-License-Identifier: Apache-2.0
#include "mote/tool/tool.h"

int main(int argc, char** argv) { return mote::tool_main(argc, argv); }
