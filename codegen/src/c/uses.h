// SPDX-License-Identifier: Apache-2.0
// A log of the names that the text of a function reads and of the functions that it calls. The
// printer writes it while it prints, so that nothing has to be looked for in the text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mote::emit {

class Uses {
 public:
  /// The end of the log: the uses of text that is printed from now on stand behind it.
  std::size_t mark() const { return log_.size(); }

  void read(const std::string& name) { add(name, false); }
  void call(const std::string& function) { add(function, true); }

  bool reads(const std::string& name) const { return count(reads_, name) > 0; }
  /// Returns true if text printed since the mark calls the function.
  bool calls(const std::string& function, std::size_t since) const {
    return std::any_of(log_.begin() + position(since), log_.end(),
                       [&](const Use& u) { return u.is_call && u.word == function; });
  }
  void add_functions_to(std::set<std::string>& all) const {
    for (const Use& u : log_)
      if (u.is_call) all.insert(u.word);
  }

  /// Removes the uses of text that is left out; later marks move.
  void erase(std::size_t from, std::size_t to) {
    for (std::size_t k = from; k < to; ++k)
      if (!log_[k].is_call) --reads_[log_[k].word];
    log_.erase(log_.begin() + position(from), log_.begin() + position(to));
  }
  void erase(std::size_t from) { erase(from, log_.size()); }

 private:
  struct Use {
    std::string word;
    bool is_call;
  };

  static std::ptrdiff_t position(std::size_t mark) { return static_cast<std::ptrdiff_t>(mark); }
  static int count(const std::map<std::string, int>& counts, const std::string& name) {
    const auto found = counts.find(name);
    return found == counts.end() ? 0 : found->second;
  }
  void add(const std::string& word, bool is_call) {
    log_.push_back({word, is_call});
    if (!is_call) ++reads_[word];
  }

  std::vector<Use> log_;
  std::map<std::string, int> reads_;  ///< how often the log holds each name
};

}  // namespace mote::emit
