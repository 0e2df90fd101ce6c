// SPDX-License-Identifier: Apache-2.0
// The functions of mote/mote.h for streams and events.
#include "c/guard.h"
#include "c/objects.h"

using namespace mote;     // NOLINT: C functions follow
using namespace mote::c;  // NOLINT

mote_status mote_stream_create(mote_context* context, mote_stream** stream) {
  return guarded(__func__, [&] {
    auto& result = given(stream, "stream");
    result = new mote_stream{Stream(given(context, "context").context)};
  });
}

mote_status mote_stream_create_on(mote_context* context, const char* device, mote_stream** stream) {
  return guarded(__func__, [&] {
    auto& result = given(stream, "stream");
    const Device on = Device::find(&given(device, "device"));
    result = new mote_stream{Stream(given(context, "context").context, on)};
  });
}

mote_status mote_stream_copy(mote_stream* stream, const mote_tensor* x, mote_tensor* y) {
  return guarded(__func__,
                 [&] { copy(tensor_of(x), tensor_of(y), given(stream, "stream").stream); });
}

void mote_stream_free(mote_stream* stream) { delete stream; }

mote_status mote_stream_enqueue(mote_stream* stream, mote_status (*work)(void* argument),
                                void* argument) {
  return guarded(__func__, [&] {
    if (work == nullptr) throw StatusError(MOTE_INVALID, "work is NULL");
    given(stream, "stream").stream.enqueue([work, argument] {
      const mote_status status = work(argument);
      if (status != MOTE_OK) throw StatusError(status, "a stream's work failed");
    });
  });
}

mote_status mote_stream_record(mote_stream* stream, mote_event* event) {
  return guarded(__func__,
                 [&] { given(stream, "stream").stream.record(given(event, "event").event); });
}

mote_status mote_stream_wait(mote_stream* stream, mote_event* event) {
  return guarded(__func__,
                 [&] { given(stream, "stream").stream.wait(given(event, "event").event); });
}

mote_status mote_stream_synchronize(mote_stream* stream) {
  return guarded(__func__, [&] { given(stream, "stream").stream.synchronize(); });
}

mote_status mote_event_create(mote_event** event) {
  return guarded(__func__, [&] {
    auto& result = given(event, "event");
    result = new mote_event{};
  });
}

void mote_event_free(mote_event* event) { delete event; }

mote_status mote_event_synchronize(mote_event* event) {
  return guarded(__func__, [&] { given(event, "event").event.synchronize(); });
}

mote_status mote_event_is_over(const mote_event* event, int* is_over) {
  return guarded(
      __func__, [&] { given(is_over, "is_over") = given(event, "event").event.is_over() ? 1 : 0; });
}
