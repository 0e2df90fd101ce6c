// SPDX-License-Identifier: Apache-2.0
// The entries of all tapes in one run, until the run ends, or longer if somebody holds them: then
// later runs find them by their tokens.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mote/runtime/tensor.h"

namespace mote {

/// The path of the values that were pushed. Gradients are added under paths that begin with it.
inline constexpr const char* kValuesPath = "v";

class TapeStore {
 public:
  /// Returns that of the run that calls the function in this thread. It finds what others hold too.
  static std::shared_ptr<TapeStore> of_run();

  TapeStore() = default;
  /// The values of a store that is held stay when they have been read.
  static std::shared_ptr<TapeStore> held();

  /// Adds an entry to the list of a token, to a new one for 0. Returns the list's token.
  /// Values that are not to be kept leave their numbers: get() gives 0 for them. `are_kept` is
  /// empty if all are.
  double push(double token, std::span<const Tensor> values, const std::vector<bool>& are_kept);
  /// Likewise, but the list has at most that number of entries, evenly spread, or about the square
  /// root of the calls (kKeepSquareRoot); the values of other calls are freed, or are never kept.
  double keep(double token, std::int64_t checkpoints, std::span<const Tensor> values);
  /// The number of calls that were given the list.
  std::int64_t count(double token);
  /// Takes the last entry of a call before number `end`. Returns the number of that call.
  std::int64_t take(double token, std::int64_t end, int readers, std::span<const Tensor> outputs);
  /// Copies the values of the last call before number `end` whose values are there, by keep() or by
  /// mark(); frees them if that is the call before `end`, and those of calls from `end` on. Returns
  /// the number of that call. At most `slots` states are there at once.
  std::int64_t reach(double token, std::int64_t slots, std::int64_t end, int readers,
                     std::span<const Tensor> outputs);
  /// Keeps the values of a call on the way from one to the one before `end`, if it is the next to
  /// be kept by the binomial schedule of those slots.
  void mark(double token, std::int64_t slots, std::int64_t end, std::int64_t call,
            std::span<const Tensor> values);
  /// Copies values of an entry, 0 where nothing was added. An entry that was read `readers` times
  /// under this path is freed.
  void get(double token, std::int64_t position, const std::string& path, int readers,
           std::span<const std::uint32_t> values, std::span<const Tensor> outputs);
  /// Adds to values of an entry under this path.
  void add(double token, std::int64_t position, const std::string& path,
           std::span<const std::uint32_t> values, std::span<const Tensor> terms);

  /// Keeps an object. Returns its token.
  double keep_object(std::shared_ptr<const void> object);
  /// Returns the object, which is given up when it was asked for `readers` times.
  std::shared_ptr<const void> object(double token, int readers);

  /// Returns the bytes of the values that are kept.
  std::int64_t bytes() const;

  ~TapeStore();

 private:
  /// The values under one path.
  struct Values {
    std::span<Tensor> tensors = {};            ///< those that are there have data
    std::shared_ptr<Tensor[]> room = nullptr;  ///< what they lie in, maybe with those of others
    int reads = 0;
  };
  struct Entry {
    std::optional<Values> pushed;         ///< under kValuesPath; nullopt: none, or freed
    std::map<std::string, Values> added;  ///< gradients, by their paths
  };
  /// The next call to be marked on the way from one call to another, with so many free slots.
  struct WayToMark {
    std::int64_t from = 0, end = 0, slots = 0, next = -1;
  };
  struct List {
    std::vector<Entry> entries;
    std::vector<std::int64_t> calls;  ///< by entry, of a list that keep() makes
    std::shared_ptr<const void> object = {};
    int object_reads = 0;
    std::int64_t count = 0;                     ///< of calls
    std::int64_t stride = 1;                    ///< the calls whose number it divides are kept
    std::map<std::int64_t, Values> marks = {};  ///< by call: what the way back keeps
    WayToMark way = {};                         ///< the last one of mark()
  };

  /// Returns the store that has the token's list, if it is another one, which is held.
  std::shared_ptr<TapeStore> other(double token) const;
  double new_list();
  void halve(List& list);
  void thin(List& list, std::int64_t slots, bool stays);
  /// Throws StatusError if the list does not have so many calls.
  static void check_end(const List& list, std::int64_t end);
  void get(Entry& entry, const std::string& path, int readers,
           std::span<const std::uint32_t> values, std::span<const Tensor> outputs);
  /// Copies values, 0 where there is none. Throws StatusError if an output has another form than
  /// its value, or, unless `may_lack`, no value.
  static void read(const Values& from, std::span<const std::uint32_t> values,
                   std::span<const Tensor> outputs, bool may_lack);
  /// Likewise all values in their order.
  static void read(const Values& from, std::span<const Tensor> outputs);
  /// Adds a new list for the token 0. Returns the list and its token.
  List& list_to_grow(double& token, bool has_calls);
  List& list_at(double token);
  Entry& entry_at(double token, std::int64_t position, const std::string& path);
  /// Keeps copies of the values.
  void keep_copies(Values& kept, std::span<const Tensor> values, const std::vector<bool>& are_kept,
                   bool in_blocks);
  Tensor copy_of(const Tensor& value, bool in_blocks);
  Tensor in_block(const Tensor& value, std::int64_t bytes);
  /// Makes that number of tensors, none of which is there.
  void make_room(Values& values, std::size_t count, bool in_blocks);
  void free(Values& values);
  void free_pushed(Entry& entry);
  static Values& values_at(Entry& entry, const std::string& path);

  std::uint64_t number_ = 0;  ///< of a store that is held; its tokens begin behind it
  mutable std::mutex mutex_;
  std::vector<List> lists_;
  /// The gradients that this run adds to entries of others.
  std::map<std::pair<double, std::int64_t>, Entry> of_others_;
  std::int64_t bytes_ = 0;
  Tensor block_;  ///< the newest that small values lie in, u8[n]; each keeps it alive
  std::int64_t block_used_ = 0;
  std::shared_ptr<Tensor[]> room_ = nullptr;  ///< the newest that tensors of small values lie in
  std::size_t room_used_ = 0;
};

/// While one exists, the tapes of runs in this thread are held, by it and by its copies of them;
/// those of runs that functions of these runs make are not.
class TapeHold {
 public:
  TapeHold();
  ~TapeHold();
  TapeHold(const TapeHold&) = delete;
  TapeHold& operator=(const TapeHold&) = delete;

  /// The stores of the runs so far.
  const std::vector<std::shared_ptr<TapeStore>>& stores() const { return stores_; }
  /// Returns a new store for a run in this thread: one that is held, if there is a TapeHold.
  static std::shared_ptr<TapeStore> new_store();

 private:
  TapeHold* outer_;
  std::uint64_t owner_;  ///< the run that this one is made in
  std::vector<std::shared_ptr<TapeStore>> stores_;
};

}  // namespace mote
