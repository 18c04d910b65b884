/* SPDX-License-Identifier: Apache-2.0
 *
 * Devices: what a plugin says of each, and the ten functions that it must
 * have, with the optional tables for streams and peer copies.
 */
#ifndef FERRY_ABI_DEVICE_H
#define FERRY_ABI_DEVICE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  FERRY_KIND_OTHER = 0,
  FERRY_KIND_CPU = 1,
  FERRY_KIND_GPU_INTEGRATED = 2,
  FERRY_KIND_GPU = 3,
  FERRY_KIND_ACCELERATOR = 4,
  FERRY_KIND_SIMULATED = 5
};

enum {
  FERRY_CAP_HANDLE_IS_ADDRESS = 1u << 0, /* handle + offset is an address */
  FERRY_CAP_HOST_ACCESSIBLE = 1u << 1,   /* and the host may use it */
  FERRY_CAP_CAPABILITY_VALID = 1u << 2   /* capability_* mean something */
};

/* Where to allocate. */
enum {
  FERRY_SPACE_DEVICE = 0,
  FERRY_SPACE_PINNED = 1 /* host memory for fast copies; handle is an address */
};

/* What a device is. The host allocates and sets `size`; the plugin fills what
 * that covers. Texts are UTF-8, ended by 0, empty where unknown; numbers are
 * 0 where unknown. */
typedef struct ferry_device_info {
  uint32_t size;
  uint32_t kind;     /* FERRY_KIND_ */
  uint32_t caps;     /* FERRY_CAP_ */
  uint32_t priority; /* among this plugin's devices; higher is preferred */
  uint64_t memory_total, max_alloc, alignment; /* bytes */
  uint32_t capability_major, capability_minor, compute_units, warp_size;
  char name[96], vendor[48], uuid[40], pci[16], arch[32], driver[48];
} ferry_device_info;

/* The core table. The first ten are required, the rest optional.
 *
 * Any function may be called from any thread; one stream is used by one thread
 * at a time. `count` and `info` create no driver context, start no thread and
 * are safe before fork. Out-arguments are written only on success. */
typedef struct ferry_core_api {
  uint32_t size, reserved;
  /* Devices present now. The answer stays the same for the process. */
  uint32_t (*count)(void);
  ferry_rc (*info)(uint32_t index, ferry_device_info* info);
  /* Opens a device; called at most once a device until it is closed. */
  ferry_rc (*open)(uint32_t index, ferry_device* device);
  void (*close)(ferry_device device);
  /* `bytes` is at least 1. FERRY_E_OOM where there is no room. */
  ferry_rc (*alloc)(ferry_device device, uint32_t space, uint64_t bytes, ferry_memory* memory);
  /* No work that uses the block is pending when the host calls this. */
  ferry_rc (*release)(ferry_device device, ferry_memory memory);
  /* Copies of `bytes` bytes, at least 1. On a stream they may happen later;
   * the host keeps both sides alive until then. Without one they are done on
   * return. d2d stays on one device; the ranges do not overlap. */
  ferry_rc (*h2d)(ferry_device device, ferry_stream stream, ferry_location dst, const void* src,
                  uint64_t bytes);
  ferry_rc (*d2h)(ferry_device device, ferry_stream stream, void* dst, ferry_location src,
                  uint64_t bytes);
  ferry_rc (*d2d)(ferry_device device, ferry_stream stream, ferry_location dst, ferry_location src,
                  uint64_t bytes);
  /* Waits for a stream, or with NULL for the whole device, and returns the
   * first error that its work had, once. */
  ferry_rc (*sync)(ferry_device device, ferry_stream stream);

  /* Optional from here. Sets `bytes` bytes to `value`. */
  ferry_rc (*fill)(ferry_device device, ferry_stream stream, ferry_location dst, uint8_t value,
                   uint64_t bytes);
  /* Bytes free and in all, as the driver says now. */
  ferry_rc (*memory_info)(ferry_device device, uint64_t* free_bytes, uint64_t* total_bytes);
  /* Explicit shutdown: joins the plugin's threads. Nothing follows. */
  void (*quiesce)(void);
} ferry_core_api;

/* Streams and events, optional as a whole. Work on one stream happens in
 * order; work on two is ordered only through events. Without this table the
 * host uses the device synchronously, with the same meaning. */
typedef struct ferry_stream_api {
  uint32_t size, reserved;
  /* `priority`: 0 is normal, negative is more urgent; a hint. */
  ferry_rc (*stream_create)(ferry_device device, int32_t priority, ferry_stream* stream);
  /* The stream is idle when the host destroys it. */
  void (*stream_destroy)(ferry_device device, ferry_stream stream);
  ferry_rc (*event_create)(ferry_device device, ferry_event* event);
  void (*event_destroy)(ferry_device device, ferry_event event);
  /* The event happens when the work now in the stream is done. */
  ferry_rc (*event_record)(ferry_device device, ferry_event event, ferry_stream stream);
  /* Later work of the stream waits for the event. */
  ferry_rc (*stream_wait)(ferry_device device, ferry_stream stream, ferry_event event);
  /* Waits for it, and returns the first error of its stream, once, as sync. */
  ferry_rc (*event_sync)(ferry_device device, ferry_event event);
  /* FERRY_OK when it has happened, else FERRY_NOT_READY; or that error. */
  ferry_rc (*event_query)(ferry_device device, ferry_event event);
  /* Optional: milliseconds from `begin` to `end`, both happened. */
  ferry_rc (*event_elapsed)(ferry_device device, ferry_event begin, ferry_event end, double* ms);
  /* Optional: calls `function(argument)` on a thread of the plugin when the
   * work now in the stream is done. The function must not call the plugin. */
  ferry_rc (*host_function)(ferry_device device, ferry_stream stream, void (*function)(void*),
                            void* argument);
  /* Optional: the vendor's own stream, for code that mixes with it. */
  ferry_rc (*native_stream)(ferry_device device, ferry_stream stream, uint64_t* native);
} ferry_stream_api;

/* Copies between devices of one plugin, optional. The host proves each ordered
 * pair with a pattern before it trusts it. */
typedef struct ferry_peer_api {
  uint32_t size, reserved;
  ferry_rc (*can_access)(uint32_t dst_index, uint32_t src_index, uint32_t* yes);
  ferry_rc (*copy)(ferry_device dst_device, ferry_location dst, ferry_device src_device,
                   ferry_location src, uint64_t bytes, ferry_stream dst_stream);
} ferry_peer_api;

#ifdef __cplusplus
}
#endif

#endif /* FERRY_ABI_DEVICE_H */
