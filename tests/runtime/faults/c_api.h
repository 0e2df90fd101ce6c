// SPDX-License-Identifier: Apache-2.0
// Objects to call mote/mote.h with: tensors, a command, a context, a stream.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "mote/mote.h"

namespace mote::test {

inline const DLDataType kFloat = {kDLFloat, 32, 1};

class CApi : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::int64_t shape[] = {2, 3};
    ASSERT_EQ(mote_tensor_create(kFloat, 2, shape, &x), MOTE_OK);
    ASSERT_EQ(mote_tensor_create(kFloat, 2, shape, &y), MOTE_OK);
    ASSERT_EQ(mote_command_create("relu", nullptr, 0, nullptr, &relu), MOTE_OK);
    ASSERT_EQ(mote_context_create(nullptr, &context), MOTE_OK);
    ASSERT_EQ(mote_stream_create(context, &stream), MOTE_OK);
    ASSERT_EQ(mote_event_create(&event), MOTE_OK);
  }
  void TearDown() override {
    mote_event_free(event);
    mote_stream_free(stream);
    mote_context_free(context);
    mote_command_free(relu);
    mote_tensor_free(y);
    mote_tensor_free(x);
  }

  mote_tensor* x = nullptr;
  mote_tensor* y = nullptr;
  mote_command* relu = nullptr;
  mote_context* context = nullptr;
  mote_stream* stream = nullptr;
  mote_event* event = nullptr;
};

}  // namespace mote::test
