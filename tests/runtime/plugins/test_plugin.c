/* SPDX-License-Identifier: Apache-2.0
 *
 * A small plugin in plain C over host memory. Macros spoil one thing at a time,
 * so that each step of the loader meets a plugin that fails there.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ferry/abi/plugin.h"

#ifndef TEST_NAME
#define TEST_NAME "acme"
#endif
#ifndef TEST_MAGIC
#define TEST_MAGIC FERRY_PLUGIN_MAGIC
#endif
#ifndef TEST_SIZE
#define TEST_SIZE sizeof(ferry_plugin_desc)
#endif
#ifndef TEST_MAJOR
#define TEST_MAJOR FERRY_ABI_MAJOR
#endif
#ifndef TEST_MINOR_MIN
#define TEST_MINOR_MIN 0
#endif
#ifndef TEST_NEEDS
#define TEST_NEEDS 0
#endif
#ifndef TEST_COUNT
#define TEST_COUNT 2
#endif
#ifndef TEST_KIND
#define TEST_KIND FERRY_KIND_SIMULATED
#endif
#ifndef TEST_CAPS
#define TEST_CAPS 0
#endif
#ifndef TEST_ALIASES
#define TEST_ALIASES NULL
#endif
#ifndef TEST_VISIBLE_ENV
#define TEST_VISIBLE_ENV NULL
#endif
#ifndef TEST_INIT
#define TEST_INIT init
#endif
#ifndef TEST_CORE_SIZE
#define TEST_CORE_SIZE sizeof(ferry_core_api)
#endif
#ifdef TEST_NULL_SLOT
#define ALLOC NULL
#else
#define ALLOC alloc_memory
#endif

/* Some cases leave a function or table out. */
#define MAYBE_UNUSED __attribute__((unused))

static const ferry_host* host;

#ifdef TEST_UNDEFINED
extern int acme_symbol_that_nobody_has(void);
#endif
#ifdef TEST_DEPENDENCY
extern int acme_dependency(void);
#endif

#ifdef TEST_FROM_OPTIONS
/* Element `index` of an option that is a list with commas, cut to `size`. */
static void copy_element(const char* option, uint32_t index, char* out, size_t size) {
  const char* text = host->option(option);
  for (; text != NULL && index > 0; --index) {
    text = strchr(text, ',');
    if (text != NULL) ++text;
  }
  if (text == NULL) return;
  const size_t length = strcspn(text, ",");
  if (length >= size) return;
  memcpy(out, text, length);
  out[length] = 0;
}
#endif

static uint32_t count(void) {
#ifdef TEST_COUNT_WORDS
  host->fail(FERRY_E_DEVICE, "count", TEST_COUNT_WORDS);
#endif
#ifdef TEST_COUNT_LOG
  host->log(FERRY_LOG_INFO, TEST_COUNT_LOG);
#endif
#ifdef TEST_FROM_OPTIONS
  const char* number = host->option("count");
  if (number != NULL) return (uint32_t)atoi(number);
#endif
  return TEST_COUNT;
}
static ferry_rc info(uint32_t index, ferry_device_info* out) {
  (void)index;
#ifdef TEST_INFO_FAILS
  if (index == 1) return host->fail(FERRY_E_DEVICE, "info", "device 1 fell off the bus");
#endif
  /* Full to the last byte, so that the host must end the text itself. */
  memset(out->name, 'n', sizeof out->name);
#ifdef TEST_FIRST_KIND
  out->kind = index == 0 ? TEST_FIRST_KIND : TEST_KIND;
#else
  out->kind = TEST_KIND;
#endif
  out->caps = TEST_CAPS;
#ifdef TEST_PRIORITY_BY_INDEX
  out->priority = index;
#endif
  out->memory_total = 1u << 20;
  strcpy(out->arch, "paper");
  const char* driver = host->option("driver");
  if (driver != NULL && strlen(driver) < sizeof out->driver) strcpy(out->driver, driver);
#ifdef TEST_FROM_OPTIONS
  copy_element("uuid", index, out->uuid, sizeof out->uuid);
  copy_element("pci", index, out->pci, sizeof out->pci);
  copy_element("arch", index, out->arch, sizeof out->arch);
#endif
  return FERRY_OK;
}
static ferry_rc open_device(uint32_t index, ferry_device* device) {
  char text[] = "opens its device 0";
  text[sizeof text - 2] = (char)('0' + index % 10);
  host->log(FERRY_LOG_INFO, text);
  *device = (ferry_device)(uintptr_t)(index + 1);
  return FERRY_OK;
}
static void close_device(ferry_device device) { (void)device; }
MAYBE_UNUSED static ferry_rc alloc_memory(ferry_device device, uint32_t space, uint64_t bytes,
                                          ferry_memory* memory) {
  (void)device, (void)space;
  void* block = malloc(bytes);
  if (block == NULL) return host->fail(FERRY_E_OOM, "alloc", "malloc found no room");
  memory->handle = (uint64_t)(uintptr_t)block;
  return FERRY_OK;
}
static ferry_rc release(ferry_device device, ferry_memory memory) {
  (void)device;
  free((void*)(uintptr_t)memory.handle);
  return FERRY_OK;
}
static char* address(ferry_location at) { return (char*)(uintptr_t)(at.memory.handle + at.offset); }
static ferry_rc h2d(ferry_device device, ferry_stream stream, ferry_location dst, const void* src,
                    uint64_t bytes) {
  (void)device, (void)stream;
  memcpy(address(dst), src, bytes);
  return FERRY_OK;
}
static ferry_rc d2h(ferry_device device, ferry_stream stream, void* dst, ferry_location src,
                    uint64_t bytes) {
  (void)device, (void)stream;
  memcpy(dst, address(src), bytes);
  return FERRY_OK;
}
static ferry_rc d2d(ferry_device device, ferry_stream stream, ferry_location dst,
                    ferry_location src, uint64_t bytes) {
  (void)device, (void)stream;
  memcpy(address(dst), address(src), bytes);
  return FERRY_OK;
}
static ferry_rc sync_device(ferry_device device, ferry_stream stream) {
  (void)device, (void)stream;
  return FERRY_OK;
}

MAYBE_UNUSED static const ferry_core_api core = {
    TEST_CORE_SIZE, 0,    count, info, open_device, close_device, ALLOC, release, h2d, d2h, d2d,
    sync_device,    NULL, NULL,  NULL};

#ifdef TEST_PROBE
static ferry_rc probe(const ferry_host* services, int32_t* score) {
#ifdef TEST_ABORTS
  (void)services, (void)score;
  abort();
#elif defined(TEST_PROBE_DECLINES)
  (void)score;
  return services->fail(FERRY_DECLINED, "probe", TEST_PROBE_DECLINES);
#else
  (void)services;
  *score = TEST_PROBE;
  return FERRY_OK;
#endif
}
#else
#define probe NULL
#endif

MAYBE_UNUSED static ferry_rc init(const ferry_host* services, ferry_plugin_api* api) {
  host = services;
#ifdef TEST_UNDEFINED
  if (acme_symbol_that_nobody_has() != 0) return FERRY_E_OTHER;
#endif
#ifdef TEST_DEPENDENCY
  if (acme_dependency() != 0) return FERRY_E_OTHER;
#endif
#ifdef TEST_SLOW_INIT
  /* Long enough for every thread of a test to come here, if it could. */
  static int calls = 0;
  const struct timespec delay = {0, 100 * 1000 * 1000};
  nanosleep(&delay, NULL);
  if (__atomic_fetch_add(&calls, 1, __ATOMIC_SEQ_CST) != 0) {
    return host->fail(FERRY_E_OTHER, "init", "init ran twice");
  }
#endif
#ifdef TEST_INIT_FAILS
  return host->fail(FERRY_E_DEVICE, "init", TEST_INIT_FAILS);
#endif
#ifdef TEST_NO_CORE
  (void)api;
#else
  api->core = &core;
#endif
  return FERRY_OK;
}

#ifndef TEST_NO_DESCRIPTOR
FERRY_PLUGIN_EXPORT const ferry_plugin_desc ferry_plugin_v1 = {TEST_MAGIC,
                                                               TEST_SIZE,
                                                               TEST_MAJOR,
                                                               FERRY_ABI_MINOR,
                                                               TEST_MINOR_MIN,
                                                               0,
                                                               TEST_NEEDS,
                                                               0,
                                                               TEST_NAME,
                                                               "1.2.3",
                                                               "Acme",
                                                               "a quiet room",
                                                               TEST_ALIASES,
                                                               TEST_VISIBLE_ENV,
                                                               probe,
                                                               TEST_INIT,
                                                               {0}};
#else
FERRY_PLUGIN_EXPORT const ferry_core_api* const a_stranger = &core;
#endif
#ifdef TEST_NEXT_MAJOR
FERRY_PLUGIN_EXPORT const int ferry_plugin_v2 = 2;
#endif
