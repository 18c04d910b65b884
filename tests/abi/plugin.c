/* SPDX-License-Identifier: Apache-2.0
 *
 * A complete plugin in plain C11, over host memory, that is built against
 * today's headers, shorter ones and longer ones. It follows the rules: it reads
 * a member only where the host's size covers it, and writes no further.
 *
 * FERRY_ACME_ZERO, a list with commas, leaves functions and tables out;
 * FERRY_ACME_FILL_FAILS makes `fill` fail.
 */
#include <stdlib.h>
#include <string.h>

#include "plugin_parts.h"

#ifndef TEST_MINOR_MIN
#define TEST_MINOR_MIN 0
#endif
#ifndef TEST_DESC_SIZE
#define TEST_DESC_SIZE sizeof(ferry_plugin_desc)
#endif

const ferry_host* acme_host;
uint32_t acme_saw;

#ifndef TEST_OLDER_HEADERS
static uint32_t fill_count;

static const char* option(const char* key) {
  return FERRY_HAS(acme_host, option) && acme_host->option != NULL ? acme_host->option(key) : NULL;
}
/* Whether FERRY_ACME_ZERO names `word`. */
static int left_out(const char* word) {
  const char* at = option("zero");
  const size_t length = strlen(word);
  while (at != NULL && *at != '\0') {
    if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0')) return 1;
    at = strchr(at, ',');
    if (at != NULL) ++at;
  }
  return 0;
}
#endif

/* ---- Devices ---- */

static uint32_t count(void) { return 2; }

static ferry_rc info(uint32_t index, ferry_device_info* out) {
  (void)index;
  out->kind = FERRY_KIND_ACCELERATOR;
  out->memory_total = UINT64_C(1) << 30;
  strcpy(out->name, "Acme One");
  strcpy(out->arch, "paper");
#ifndef TEST_OLDER_HEADERS
  if (FERRY_HAS(out, driver)) strcpy(out->driver, "12.0");
#endif
#ifdef TEST_NEWER_HEADERS
  if (FERRY_HAS(out, later)) {
    acme_saw |= ACME_SAW_INFO;
    out->later[0] = 77;
  }
#endif
  return FERRY_OK;
}

static ferry_rc open_device(uint32_t index, ferry_device* device) {
  *device = (ferry_device)(uintptr_t)(index + 1);
  return FERRY_OK;
}
static void close_device(ferry_device device) { (void)device; }

static ferry_rc alloc_memory(ferry_device device, uint32_t space, uint64_t bytes,
                             ferry_memory* memory) {
  (void)device;
  if (space != FERRY_SPACE_DEVICE) {
    return acme_host->fail(FERRY_E_MISSING, "alloc", "acme has memory of its own only");
  }
  void* block = malloc(bytes);
  if (block == NULL) return acme_host->fail(FERRY_E_OOM, "alloc", "malloc found no room");
  memory->handle = (uint64_t)(uintptr_t)block;
  return FERRY_OK;
}
static ferry_rc release(ferry_device device, ferry_memory memory) {
  (void)device;
  free((void*)(uintptr_t)memory.handle);
  return FERRY_OK;
}

/* ---- Copies ---- */

static ferry_rc h2d(ferry_device device, ferry_stream stream, ferry_location dst, const void* src,
                    uint64_t bytes) {
  (void)device, (void)stream;
  memcpy(acme_address(dst), src, bytes);
  return FERRY_OK;
}
static ferry_rc d2h(ferry_device device, ferry_stream stream, void* dst, ferry_location src,
                    uint64_t bytes) {
  (void)device, (void)stream;
  memcpy(dst, acme_address(src), bytes);
  return FERRY_OK;
}
static ferry_rc d2d(ferry_device device, ferry_stream stream, ferry_location dst,
                    ferry_location src, uint64_t bytes) {
  (void)device, (void)stream;
  memcpy(acme_address(dst), acme_address(src), bytes);
  return FERRY_OK;
}
static ferry_rc sync_device(ferry_device device, ferry_stream stream) {
  (void)device, (void)stream;
  return FERRY_OK;
}

#ifndef TEST_OLDER_HEADERS
static ferry_rc fill(ferry_device device, ferry_stream stream, ferry_location dst, uint8_t value,
                     uint64_t bytes) {
  (void)device, (void)stream;
  if (option("fill_fails") != NULL) {
    return acme_host->fail(FERRY_E_DEVICE, "fill", "the brush is dry");
  }
  memset(acme_address(dst), value, bytes);
  acme_count(&fill_count);
  return FERRY_OK;
}
static ferry_rc memory_info(ferry_device device, uint64_t* free_bytes, uint64_t* total_bytes) {
  (void)device;
  *free_bytes = UINT64_C(1) << 29;
  *total_bytes = UINT64_C(1) << 30;
  return FERRY_OK;
}
static void quiesce(void) {}
#endif

/* Not const: FERRY_ACME_ZERO takes members out before the host sees them. */
static ferry_core_api core = {.size = sizeof(ferry_core_api),
                              .count = count,
                              .info = info,
                              .open = open_device,
                              .close = close_device,
                              .alloc = alloc_memory,
                              .release = release,
                              .h2d = h2d,
                              .d2h = d2h,
                              .d2d = d2d,
                              .sync = sync_device
#ifndef TEST_OLDER_HEADERS
                              ,
                              .fill = fill,
                              .memory_info = memory_info,
                              .quiesce = quiesce
#endif
                                  LATER};

/* ---- Streams: all work is done when its call returns ---- */

static ferry_rc stream_create(ferry_device device, int32_t priority, ferry_stream* stream) {
  (void)priority;
  *stream = (ferry_stream)(void*)device;
  return FERRY_OK;
}
static void stream_destroy(ferry_device device, ferry_stream stream) { (void)device, (void)stream; }
static ferry_rc event_create(ferry_device device, ferry_event* event) {
  *event = (ferry_event)(void*)device;
  return FERRY_OK;
}
static void event_destroy(ferry_device device, ferry_event event) { (void)device, (void)event; }
static ferry_rc event_record(ferry_device device, ferry_event event, ferry_stream stream) {
  (void)device, (void)event, (void)stream;
  return FERRY_OK;
}
static ferry_rc stream_wait(ferry_device device, ferry_stream stream, ferry_event event) {
  (void)device, (void)event, (void)stream;
  return FERRY_OK;
}
static ferry_rc event_done(ferry_device device, ferry_event event) {
  (void)device, (void)event;
  return FERRY_OK;
}
#ifndef TEST_OLDER_HEADERS
static ferry_rc event_elapsed(ferry_device device, ferry_event begin, ferry_event end, double* ms) {
  (void)device, (void)begin, (void)end;
  *ms = 0.25;
  return FERRY_OK;
}
static ferry_rc host_function(ferry_device device, ferry_stream stream, void (*function)(void*),
                              void* argument) {
  (void)device, (void)stream;
  function(argument);
  return FERRY_OK;
}
static ferry_rc native_stream(ferry_device device, ferry_stream stream, uint64_t* native) {
  (void)device;
  *native = (uint64_t)(uintptr_t)stream;
  return FERRY_OK;
}
#endif

static ferry_stream_api streams = {.size = sizeof(ferry_stream_api),
                                   .stream_create = stream_create,
                                   .stream_destroy = stream_destroy,
                                   .event_create = event_create,
                                   .event_destroy = event_destroy,
                                   .event_record = event_record,
                                   .stream_wait = stream_wait,
                                   .event_sync = event_done,
                                   .event_query = event_done
#ifndef TEST_OLDER_HEADERS
                                   ,
                                   .event_elapsed = event_elapsed,
                                   .host_function = host_function,
                                   .native_stream = native_stream
#endif
                                       LATER};

static ferry_rc can_access(uint32_t dst_index, uint32_t src_index, uint32_t* yes) {
  *yes = dst_index != src_index;
  return FERRY_OK;
}
static ferry_rc peer_copy(ferry_device dst_device, ferry_location dst, ferry_device src_device,
                          ferry_location src, uint64_t bytes, ferry_stream stream) {
  (void)src_device;
  return d2d(dst_device, stream, dst, src, bytes);
}
static ferry_peer_api peer = {
    .size = sizeof(ferry_peer_api), .can_access = can_access, .copy = peer_copy LATER};

/* ---- Extensions ---- */

#ifndef TEST_OLDER_HEADERS
static uint32_t saw_later(void) { return acme_saw; }
static uint32_t fills(void) { return fill_count; }
static const acme_graph graph = {sizeof(acme_graph), 0, saw_later, fills, acme_launches};
static const ferry_extension extensions[] = {{ACME_EXTENSION_GRAPH, &graph}};

static void leave_out(void) {
#define LEAVE_OUT(table, member) \
  if (left_out(#member)) (table).member = NULL
  LEAVE_OUT(core, count);
  LEAVE_OUT(core, info);
  LEAVE_OUT(core, open);
  LEAVE_OUT(core, close);
  LEAVE_OUT(core, alloc);
  LEAVE_OUT(core, release);
  LEAVE_OUT(core, h2d);
  LEAVE_OUT(core, d2h);
  LEAVE_OUT(core, d2d);
  LEAVE_OUT(core, sync);
  LEAVE_OUT(core, fill);
  LEAVE_OUT(core, memory_info);
  LEAVE_OUT(core, quiesce);
  LEAVE_OUT(streams, stream_create);
  LEAVE_OUT(streams, stream_destroy);
  LEAVE_OUT(streams, event_create);
  LEAVE_OUT(streams, event_destroy);
  LEAVE_OUT(streams, event_record);
  LEAVE_OUT(streams, stream_wait);
  LEAVE_OUT(streams, event_sync);
  LEAVE_OUT(streams, event_query);
  LEAVE_OUT(streams, event_elapsed);
  LEAVE_OUT(streams, host_function);
  LEAVE_OUT(streams, native_stream);
  LEAVE_OUT(peer, can_access);
  LEAVE_OUT(peer, copy);
}
#endif

static ferry_rc init(const ferry_host* services, ferry_plugin_api* api) {
  acme_host = services;
#ifdef TEST_NEWER_HEADERS
  if (FERRY_HAS(acme_host, later)) acme_saw |= ACME_SAW_HOST;
  if (FERRY_HAS(api, later)) {
    acme_saw |= ACME_SAW_API;
    api->later[0] = 77;
  }
#endif
  api->core = &core;
  api->streams = &streams;
  api->peer = &peer;
  api->kernels = acme_kernels;
  api->n_kernels = ACME_KERNELS;
#ifndef TEST_OLDER_HEADERS
  leave_out();
  if (left_out("core")) api->core = NULL;
  if (left_out("streams")) api->streams = NULL;
  if (left_out("peer")) api->peer = NULL;
  if (left_out("kernels")) api->kernels = NULL;
  if (FERRY_HAS(api, n_extensions) && !left_out("extensions")) {
    api->extensions = extensions;
    api->n_extensions = 1;
  }
#endif
  return FERRY_OK;
}

FERRY_PLUGIN_EXPORT const ferry_plugin_desc ferry_plugin_v1 = {.magic = FERRY_PLUGIN_MAGIC,
                                                               .size = TEST_DESC_SIZE,
                                                               .major = FERRY_ABI_MAJOR,
                                                               .minor_built = FERRY_ABI_MINOR,
                                                               .minor_min = TEST_MINOR_MIN,
                                                               .name = "acme",
                                                               .version = "1.2.3",
                                                               .vendor = "Acme",
                                                               .init = init};
