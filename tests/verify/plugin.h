/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the test plugin share: devices, their memory, and work that
 * runs later.
 */
#ifndef FERRY_TESTS_VERIFY_PLUGIN_H
#define FERRY_TESTS_VERIFY_PLUGIN_H

#include <pthread.h>
#include <stdbool.h>

#include "bad.h"
#include "ferry/abi/plugin.h"

enum { kDevices = 2, kKernels = 2 };

struct block {
  uint64_t handle;
  uint64_t bytes;
  char* data;
  bool shared; /* the bytes are another's */
  struct block* next;
};

struct ferry_device_s {
  uint32_t index;
  uint64_t used;
  struct block* blocks;
  struct ferry_stream_s* streams;
};

extern const ferry_host* host;
extern ferry_device open_devices[kDevices];
/* Guards the lists of devices, blocks, streams and work. */
extern pthread_mutex_t lock;

extern const ferry_stream_api stream_api;
extern const ferry_kernel kernels[kKernels];

/* The bytes of a place that has room for `bytes`, else NULL after a text. */
char* bytes_at(ferry_device device, ferry_location at, uint64_t bytes, const char* where);

/* Has `run(argument)` called by the stream, or without one calls it when all
 * the device's work is done. */
ferry_rc submit(ferry_device device, ferry_stream stream, void (*run)(void*), void* argument);
/* Waits for a stream, or with NULL for all of the device. */
void wait_for(ferry_device device, ferry_stream stream);
/* Ends the worker when it has done what it has, and joins it. */
void stop_stream(ferry_stream stream);
/* The stream after this one on its device. */
ferry_stream next_stream(ferry_stream stream);

#endif /* FERRY_TESTS_VERIFY_PLUGIN_H */
