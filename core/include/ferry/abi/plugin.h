/* SPDX-License-Identifier: Apache-2.0
 *
 * The plugin itself: the one symbol it exports, the services it gets, and the
 * tables it hands over.
 *
 * Rules
 *   - A plugin exports exactly one symbol, the data object `ferry_plugin_v1`,
 *     and imports nothing from the host.
 *   - Tables are append only; zero means absent; optional is optional for ever.
 *   - A plugin built for 1.x loads in every host 1.y with y >= x. One that can
 *     do without newer host services says so through a lower `minor_min`.
 *   - No exception, abort, exit or long jump crosses the boundary.
 *   - A call leaves the vendor's per-thread state (its "current device") as it
 *     found it.
 *   - Out-arguments are written only on success. A failing function calls
 *     host->fail on the same thread and returns its code.
 *   - The library is never unloaded.
 */
#ifndef FERRY_ABI_PLUGIN_H
#define FERRY_ABI_PLUGIN_H

#include "device.h"
#include "kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FERRY_LOG_ERROR = 0, FERRY_LOG_WARN = 1, FERRY_LOG_INFO = 2, FERRY_LOG_DEBUG = 3 };

/* Services of the host; valid for the life of the process, from any thread. */
typedef struct ferry_host {
  uint32_t size;
  uint32_t minor; /* the host's ABI minor */
  /* Keeps `text` for this thread's current call and returns `code`. */
  ferry_rc (*fail)(ferry_rc code, const char* where, const char* text);
  void (*log)(int32_t level, const char* text);
  /* Value of an option for this plugin, or NULL. Key "memory" of plugin "acme"
   * is the environment variable FERRY_ACME_MEMORY. Valid until the next call
   * on the same thread. */
  const char* (*option)(const char* key);
  /* Says that the device is lost, when that is noticed outside a call. */
  void (*device_lost)(ferry_device device, const char* text);
} ferry_host;

/* A table that a plugin adds under a name of its own, "acme.graph/2". */
typedef struct ferry_extension {
  const char* name;
  const void* table; /* begins with its uint32_t size */
} ferry_extension;

/* What `init` hands over. The host sets `size`; the plugin fills what that
 * covers. Everything stays valid for the life of the process. */
typedef struct ferry_plugin_api {
  uint32_t size;
  uint32_t n_kernels;
  const ferry_core_api* core;       /* required */
  const ferry_stream_api* streams;  /* optional */
  const ferry_peer_api* peer;       /* optional */
  const ferry_kernel* kernels;      /* n_kernels of them, by their own size */
  const ferry_extension* extensions; /* optional, n_extensions of them */
  uint32_t n_extensions;
  uint32_t reserved;
} ferry_plugin_api;

#define FERRY_PLUGIN_MAGIC 0x59525246u /* "FRRY" in memory, little-endian */

/* The exported symbol, judged before any code of the plugin is called. Frozen
 * but for `reserved`, whose members are 0 until a minor names them. */
typedef struct ferry_plugin_desc {
  uint32_t magic; /* FERRY_PLUGIN_MAGIC */
  uint32_t size;
  uint32_t major;       /* FERRY_ABI_MAJOR */
  uint32_t minor_built; /* FERRY_ABI_MINOR of the headers it was built with */
  uint32_t minor_min;   /* the oldest host minor it works with */
  int32_t dlpack_type;  /* the DLPack device type of its memory, 0: none */
  uint64_t needs;       /* host features without which it cannot work */
  uint64_t offers;      /* features it has */
  const char* name;     /* backend name: [a-z][a-z0-9_]*, "acme" in "acme:0" */
  const char* version;
  const char* vendor;
  const char* requires_text; /* for people: "driver 12 or later" */
  const char* aliases;       /* other names, with commas between; or NULL */
  const char* visible_env;   /* the vendor's own variables that hide devices,
                                with commas between; or NULL */
  /* Optional: FERRY_OK and a score (higher is better among plugins of one
   * name), or FERRY_DECLINED with the reason through host->fail. */
  ferry_rc (*probe)(const ferry_host* host, int32_t* score);
  ferry_rc (*init)(const ferry_host* host, ferry_plugin_api* api);
  uint64_t reserved[6];
} ferry_plugin_desc;

#define FERRY_PLUGIN_SYMBOL "ferry_plugin_v1"

#if defined(__GNUC__)
#define FERRY_PLUGIN_EXPORT __attribute__((visibility("default")))
#else
#define FERRY_PLUGIN_EXPORT
#endif

#ifdef __cplusplus
}
#endif

#endif /* FERRY_ABI_PLUGIN_H */
