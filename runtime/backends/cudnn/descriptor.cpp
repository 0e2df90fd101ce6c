// SPDX-License-Identifier: Apache-2.0
#include "descriptor.h"

#include <algorithm>

namespace mote::cudnn {

Descriptor::Descriptor(int kind) {
  BackendDesc* made = nullptr;
  calls().create_backend(kind, &made);
  made_ = {made, [](BackendDesc* desc) { calls().destroy_backend.pointer(desc); }};
}

Descriptor& Descriptor::set(int attribute, int type, std::int64_t count, const void* values) {
  calls().set_attribute(get(), attribute, type, count, values);
  return *this;
}

Descriptor& Descriptor::integers(int attribute, std::span<const std::int64_t> values) {
  return set(attribute, of::kInt64, static_cast<std::int64_t>(values.size()), values.data());
}

Descriptor& Descriptor::integer(int attribute, std::int64_t value) {
  return integers(attribute, {&value, 1});
}

Descriptor& Descriptor::choose(int attribute, int type, int value) {
  return set(attribute, type, 1, &value);
}

Descriptor& Descriptor::is(int attribute) {
  const bool yes = true;
  return set(attribute, of::kBoolean, 1, &yes);
}

Descriptor& Descriptor::link(int attribute, std::span<const Descriptor> to) {
  std::vector<BackendDesc*> all;
  for (const Descriptor& d : to) all.push_back(d.get());
  return set(attribute, of::kDescriptor, static_cast<std::int64_t>(all.size()), all.data());
}

Descriptor& Descriptor::finalize() {
  calls().finalize(get());
  return *this;
}

std::int64_t Descriptor::integer(int attribute) const {
  std::int64_t value = 0, count = 0;
  calls().get_attribute(get(), attribute, of::kInt64, 1, &count, &value);
  return value;
}

std::vector<int> Descriptor::chosen(int attribute, int type, int most) const {
  std::vector<int> values(static_cast<std::size_t>(most));
  std::int64_t count = 0;
  calls().get_attribute(get(), attribute, type, most, &count, values.data());
  values.resize(static_cast<std::size_t>(std::min<std::int64_t>(count, most)));
  return values;
}

std::vector<Descriptor> Descriptor::made_by_library(int attribute, int kind, int most) const {
  std::vector<Descriptor> all;
  std::vector<BackendDesc*> pointers;
  for (int k = 0; k < most; ++k) {
    all.emplace_back(kind);
    pointers.push_back(all.back().get());
  }
  std::int64_t count = 0;
  calls().get_attribute(get(), attribute, of::kDescriptor, most, &count, pointers.data());
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(std::min<std::int64_t>(count, most)),
            all.end());
  return all;
}

}  // namespace mote::cudnn
