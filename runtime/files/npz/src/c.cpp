// SPDX-License-Identifier: Apache-2.0
// The functions of mote/npz/npz_c.h.
#include <memory>
#include <string>
#include <vector>

#include "c/guard.h"
#include "mote/npz/npz.h"
#include "mote/npz/npz_c.h"

struct mote_npz {
  mote::NamedTensors tensors;
  std::vector<const char*> names;  ///< the keys of `tensors`
};

using namespace mote;     // NOLINT: C functions follow
using namespace mote::c;  // NOLINT

mote_status mote_npz_read(const char* path, mote_npz** npz) {
  return guarded(__func__, [&] {
    auto& result = given(npz, "npz");
    auto read = std::make_unique<mote_npz>();
    read->tensors = read_npz(&given(path, "path"));
    for (const auto& [name, tensor] : read->tensors) read->names.push_back(name.c_str());
    result = read.release();
  });
}

void mote_npz_free(mote_npz* npz) { delete npz; }

size_t mote_npz_count(const mote_npz* npz) { return npz != nullptr ? npz->names.size() : 0; }

const char* mote_npz_name(const mote_npz* npz, size_t position) {
  return position < mote_npz_count(npz) ? npz->names[position] : nullptr;
}

mote_status mote_npz_tensor(const mote_npz* npz, const char* name, mote_tensor** tensor) {
  return guarded(__func__, [&] {
    const NamedTensors& tensors = given(npz, "npz").tensors;
    const auto found = tensors.find(&given(name, "name"));
    if (found == tensors.end())
      throw StatusError(MOTE_INVALID, std::string("npz: there is no '") + name + "'");
    auto& result = given(tensor, "tensor");
    result = handle_of(found->second);
  });
}

mote_status mote_npz_write(const char* path, const char* const* names,
                           const mote_tensor* const* tensors, size_t count, int deflated) {
  return guarded(__func__, [&] {
    if (count > 0) given(names, "names");
    if (count > 0) given(tensors, "tensors");
    NamedTensors all;
    for (std::size_t k = 0; k < count; ++k) {
      const std::string name = &given(names[k], "a name");
      if (!all.emplace(name, tensor_of(tensors[k])).second)
        throw StatusError(MOTE_INVALID, "npz: two tensors are named '" + name + "'");
    }
    write_npz(&given(path, "path"), all,
              deflated != 0 ? Compression::deflated : Compression::stored);
  });
}
