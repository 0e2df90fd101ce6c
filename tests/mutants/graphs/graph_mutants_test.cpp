// SPDX-License-Identifier: Apache-2.0
// Plants one defect after the other in the graph layers and counts the random graphs, each with a
// random recurrent network and some random programs on dynamic graphs, until it shows.
// MOTE_DEFECT=NAME takes one defect alone and prints the smallest graph that shows it,
// MOTE_MARKDOWN=1 prints the table of docs/oracle-measured.md,
// MOTE_DEFECTS_IN=FOLDER takes those of one folder's sources.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>

#include "defects.h"
#include "graph_replay.h"
#include "graph_session.h"
#include "graphs/dynamic/random_program.h"
#include "graphs/sequences/sequence_case.h"
#include "support/random_run.h"

/// The number of the defect that is on, counted from 1; 0: none. The planted sources read it.
int mote_graph_defect = 0;

namespace mote::test {
namespace {

/// A defect must show within this number of graphs.
constexpr std::uint64_t kMaxGraphs = 1000;
constexpr unsigned kMaxSeconds = 300;
/// The number of graphs that must pass with no defect.
constexpr std::uint64_t kRightGraphs = 60;
/// The number of programs that follow each graph.
constexpr std::uint64_t kPrograms = 4;

struct Kill {
  std::uint64_t graphs = 0;  ///< until it showed; 0: it did not
  double seconds = 0;
  std::string leg;
};

/// Returns true if a network of the seed is computed differently, or not at all.
bool shows_in_sequence(std::uint64_t seed) {
  try {
    return sequence_difference(random_sequence(seed)).has_value();
  } catch (const std::exception&) {
    return true;
  }
}

/// Returns true if one of some programs on a dynamic graph does not do what the model says.
bool shows_in_programs(std::uint64_t seed) {
  ProgramCounts ignored;
  for (std::uint64_t k = 0; k < kPrograms; ++k)
    if (program_difference(seed * kPrograms + k, ignored)) return true;
  return false;
}

/// Checks graphs until one fails, and writes how many it took.
void search(int defect, std::uint64_t most, int pipe) {
  mote_graph_defect = defect;
  alarm(kMaxSeconds);  // a graph that never ends shows the defect too
  Counts counts;
  LegSeconds seconds;
  for (std::uint64_t seed = 1; seed <= most; ++seed) {
    // This is written before the graph is checked, and stands if the defect ends the process.
    const auto say = [&](const std::string& leg) {
      const std::string line = std::to_string(seed) + " " + leg + "\n";
      if (write(pipe, line.data(), line.size()) < 0) _exit(2);
    };
    say("crash");
    if (const auto failure = check_seed(seed, counts, seconds)) {
      say(failure->leg.substr(0, failure->leg.find(' ')));
      _exit(1);
    }
    if (shows_in_sequence(seed)) {
      say("sequence");
      _exit(1);
    }
    if (shows_in_programs(seed)) {
      say("program");
      _exit(1);
    }
  }
  _exit(0);
}

/// Looks for a graph that shows the defect, in a process of its own.
Kill kill(int defect, std::uint64_t most) {
  const auto start = std::chrono::steady_clock::now();
  int ends[2] = {-1, -1};
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    search(defect, most, ends[1]);
  }
  close(ends[1]);
  std::string said;
  char buffer[4096];
  for (ssize_t got = read(ends[0], buffer, sizeof buffer); got > 0;
       got = read(ends[0], buffer, sizeof buffer))
    said.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  Kill result;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return result;
  std::istringstream lines(said);
  while (lines >> result.graphs >> result.leg) {
  }
  return result;
}

std::vector<GraphDefect> all_defects() {
  std::ostringstream text;
  text << std::ifstream(MOTE_GRAPH_DEFECTS).rdbuf();
  return read_defects(text.str());
}

/// Shows the smallest graph that the defect makes fail.
void show(int defect) {
  mote_graph_defect = defect;
  Counts counts;
  LegSeconds seconds;
  for (std::uint64_t seed = 1; seed <= kMaxGraphs; ++seed)
    if (const auto failure = check_seed(seed, counts, seconds)) {
      std::cout << "seed " << seed << "\n" << replay_text(shrunk(*failure));
      return;
    } else if (const auto found = sequence_difference(random_sequence(seed))) {
      std::cout << to_string(random_sequence(seed)) << "\n" << *found << "\n";
      return;
    } else if (shows_in_programs(seed)) {
      ProgramCounts ignored;
      for (std::uint64_t k = seed * kPrograms; k < (seed + 1) * kPrograms; ++k)
        if (program_difference(k, ignored)) std::cout << shrunk_program(k) << "\n";
      return;
    }
  std::cout << "it does not show\n";
}

TEST(GraphMutants, NoneShowsWithoutADefect) { EXPECT_EQ(kill(0, kRightGraphs).graphs, 0U); }

TEST(GraphMutants, EachIsKilled) {
  const std::string wanted = environment("MOTE_DEFECT");
  const std::string folder = environment("MOTE_DEFECTS_IN");
  const bool is_table = !environment("MOTE_MARKDOWN").empty();
  if (is_table)
    std::cout << "| defect | what is wrong | graphs | s | shown by |\n|---|---|--:|--:|---|\n";
  int number = 0;
  for (const GraphDefect& defect : all_defects()) {
    ++number;
    if (!wanted.empty()) {
      if (defect.name == wanted) show(number);
      continue;
    }
    if (!defect.file.starts_with(folder)) continue;
    const Kill found = kill(number, kMaxGraphs);
    EXPECT_GT(found.graphs, 0U) << defect.name << ": " << defect.says << ": not in " << kMaxGraphs
                                << " graphs";
    std::cout << (is_table ? fmt::format("| {} | {} | {} | {:.1f} | {} |\n", defect.name,
                                         defect.says, found.graphs, found.seconds, found.leg)
                           : fmt::format("{:5} graphs {:6.1f} s  {:12} {}\n", found.graphs,
                                         found.seconds, found.leg, defect.name))
              << std::flush;
  }
}

}  // namespace
}  // namespace mote::test
