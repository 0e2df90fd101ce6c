// The commands of `mote`. Each adds itself to the command line and says what it does when chosen.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string_view>

namespace mote::tool {

/// Runs the chosen command; its value is the exit code: 0 done or passed; 1 a mismatch; 2 usage; 3
/// the subject crashed or hung; 4 nothing was judged; 77 no requested backend exists here.
using Action = std::function<int()>;

void add_check(CLI::App& app, Action& action);
void add_emit(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_ops(CLI::App& app, Action& action);
void add_replay(CLI::App& app, Action& action);

/// Data to standard output.
void print(std::string_view text);

}  // namespace mote::tool
