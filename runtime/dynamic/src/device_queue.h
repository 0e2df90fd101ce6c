// SPDX-License-Identifier: Apache-2.0
// The commands that a graph has given to a device: they run there one behind the other, and the
// caller does not wait for them. Memory that a value gives back is taken again by the next command,
// which runs behind all that may still use it; whoever else wants to use memory of the device waits
// first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "device/device_stream.h"
#include "mote/runtime/device.h"
#include "mote/runtime/tensor.h"

namespace mote::trace {

class DeviceQueue {
 public:
  /// Throws StatusError if the device has no stream.
  explicit DeviceQueue(const Device& device) : stream_(device) {}

  const Device& device() const { return stream_.device(); }
  /// Returns a tensor in a block that nothing but the queue has. Its elements may only be used by
  /// what issue() gives to the device, or behind wait(). Throws StatusError MOTE_OUT_OF_MEMORY.
  Tensor allocate(const TensorForm& form);
  /// Returns whether the tensor's memory is a block of allocate(): then the queue is one of its
  /// owners.
  bool has_block_of(const Tensor& tensor) const {
    return blocks_of_.contains(tensor.raw().storage);
  }

  /// Calls body(stream, workspace), which gives a command to the device, and returns the command's
  /// number, which is never 0. `what` describes the command in messages, and is kept until it has
  /// run. Throws the error of body().
  std::uint64_t issue(std::function<std::string()> what, std::size_t workspace_bytes,
                      const std::function<void(void*, std::span<std::byte>)>& body);
  /// Waits for all commands. It notes failures and does not throw them.
  void wait() noexcept;
  /// Throws the error of the command with that number, or of one before it that ran at the same
  /// time. Only what is known by now is an error: wait() comes first.
  void check(std::uint64_t command);
  /// Throws an error that no check() has thrown.
  void check_all();

  /// Waits, and gives the blocks back that no tensor has.
  void trim() noexcept;
  std::size_t free_bytes() const;

 private:
  /// Blocks of one size.
  struct Class {
    std::vector<Tensor> blocks;
    std::vector<std::size_t> free;  ///< those of them that were found to be free, the first last
    std::size_t to_make = 0;        ///< the blocks that are made before one looks for free ones
  };
  /// Commands, by their numbers, that may not have run since one of them failed.
  struct Failure {
    std::uint64_t first, last;
    std::exception_ptr error;
    bool is_thrown = false;
  };

  Tensor make_block(std::size_t bytes);
  Tensor take_block(std::size_t bytes);
  void note_failure(std::exception_ptr error) noexcept;

  // The stream ends first: its work uses the blocks.
  std::map<std::size_t, Class> classes_;  ///< by bytes
  std::unordered_set<const mote_storage*> blocks_of_;
  std::size_t bytes_ = 0;  ///< of all blocks
  /// More bytes are made only after free blocks were given back: there are at most as many of these
  /// as of those in use, or kKeptBytes.
  std::size_t limit_ = 0;
  std::uint64_t issued_ = 0;
  std::uint64_t first_under_way_ = 1;
  std::vector<Failure> failures_;  ///< with room for another one
  DeviceStream stream_;
};

}  // namespace mote::trace
