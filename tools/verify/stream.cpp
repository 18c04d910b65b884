// SPDX-License-Identifier: Apache-2.0
//
// The calls of streams and events with their names.
#include "stream.h"

#include <exception>

#include "check.h"

namespace ferry::verify {

const ferry_stream_api& streams_of(const Plugin& plugin, OpenDevice& device) {
  const ferry_stream_api* api = plugin.api().streams;
  if (!FERRY_HAS(api, event_query)) not_applicable("the plugin has no stream table");
  const bool whole = api->stream_create && api->stream_destroy && api->event_create &&
                     api->event_destroy && api->event_record && api->stream_wait &&
                     api->event_sync && api->event_query;
  expect(whole, "the stream table lacks one of its first eight functions");
  ferry_stream stream = nullptr;
  step("stream_create");
  const ferry_rc rc = api->stream_create(device.handle(), 0, &stream);
  if (rc == FERRY_E_MISSING) not_applicable("stream_create gives FERRY_E_MISSING");
  expect_ok(rc, "stream_create");
  api->stream_destroy(device.handle(), stream);
  return *api;
}

OpenStream::OpenStream(const ferry_stream_api& api, OpenDevice& device)
    : api_(api), device_(device) {
  step("stream_create");
  expect_ok(api_.stream_create(device_.handle(), 0, &stream_), "stream_create");
  expect(stream_ != nullptr, "stream_create gives FERRY_OK and NULL, which is no stream");
}

OpenStream::~OpenStream() {
  if (std::uncaught_exceptions() > 0) return;
  step("sync and stream_destroy");
  device_.core().sync(device_.handle(), stream_);
  api_.stream_destroy(device_.handle(), stream_);
}

void OpenStream::wait(ferry_event event) {
  step("stream_wait");
  expect_ok(api_.stream_wait(device_.handle(), stream_, event), "stream_wait");
}

OpenEvent::OpenEvent(const ferry_stream_api& api, OpenDevice& device) : api_(api), device_(device) {
  step("event_create");
  expect_ok(api_.event_create(device_.handle(), &event_), "event_create");
}

OpenEvent::~OpenEvent() {
  if (std::uncaught_exceptions() > 0) return;
  step("event_destroy");
  api_.event_destroy(device_.handle(), event_);
}

void OpenEvent::record(const OpenStream& stream) {
  step("event_record");
  expect_ok(api_.event_record(device_.handle(), event_, stream.handle()), "event_record");
}

void OpenEvent::sync() {
  step("event_sync");
  expect_ok(api_.event_sync(device_.handle(), event_), "event_sync");
}

bool OpenEvent::query() {
  step("event_query");
  const ferry_rc rc = api_.event_query(device_.handle(), event_);
  if (rc == FERRY_NOT_READY) return false;
  expect(rc == FERRY_OK, "event_query gives {}, neither FERRY_OK nor FERRY_NOT_READY{}",
         rc_name(rc), own_words());
  return true;
}

}  // namespace ferry::verify
