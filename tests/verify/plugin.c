/* SPDX-License-Identifier: Apache-2.0
 *
 * A plugin with two devices in plain C, to hold `ferry verify` against: good
 * as it is, and wrong in exactly one thing where BAD says so.
 */
#include "plugin.h"

#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const uint64_t kTotal = UINT64_C(64) << 20;
const uint64_t kAlignment = 64;
/* Around the bytes of a block, so that a variant that writes too far breaks the
 * rule and not the heap. */
enum { kMargin = 64 };

const ferry_host* host;
ferry_device open_devices[kDevices];
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void sleep_for_ever(void) {
  for (;;) pause();
}

/* Listing */

#if BAD == BAD_FORK
/* The parent holds it while it forks, and nobody lets go of it in the child. */
static pthread_mutex_t listing = PTHREAD_MUTEX_INITIALIZER;
static void before_fork(void) { pthread_mutex_lock(&listing); }
static void after_fork(void) { pthread_mutex_unlock(&listing); }
#endif

#if BAD == BAD_LISTING_THREAD
static void* look_around(void* argument) {
  usleep(500 * 1000);
  return argument;
}
#endif

static uint32_t count(void) {
#if BAD == BAD_FORK
  pthread_mutex_lock(&listing);
  pthread_mutex_unlock(&listing);
#endif
  static int calls = 0;
  ++calls;
  if (BAD == BAD_COUNT_CHANGES && calls % 3 == 0) return kDevices - 1;
#if BAD == BAD_LISTING_THREAD
  pthread_t thread;
  if (calls == 1 && pthread_create(&thread, NULL, look_around, NULL) == 0) pthread_detach(thread);
#endif
  return kDevices;
}

static void describe(uint32_t index, ferry_device_info* out) {
  out->kind = FERRY_KIND_SIMULATED;
  out->priority = kDevices - index;
  out->memory_total = out->max_alloc = kTotal;
  out->alignment = BAD == BAD_ALIGNMENT ? 48 : kAlignment;
  snprintf(out->name, sizeof out->name, "Paper device %u", (unsigned)index);
  if (BAD == BAD_NAME_WITHOUT_END) memset(out->name, 'n', sizeof out->name);
  strcpy(out->vendor, "Acme");
  snprintf(out->uuid, sizeof out->uuid, "paper-%u", (unsigned)index);
  strcpy(out->arch, "paper");
  strcpy(out->driver, "1.0");
  /* Another text on each third call. */
  static unsigned calls = 0;
  if (BAD == BAD_INFO_CHANGES) snprintf(out->driver, sizeof out->driver, "1.%u", calls++ / 3);
}

static ferry_rc info(uint32_t index, ferry_device_info* out) {
  if (index >= kDevices && BAD != BAD_INDEX_ACCEPTED) {
    return host->fail(FERRY_E_ARG, "info", "there are two devices");
  }
  ferry_device_info full = {0};
  describe(index, &full);
  full.size = out->size;
  const size_t known =
      BAD == BAD_INFO_PAST_SIZE || out->size > sizeof full ? sizeof full : out->size;
  memcpy(out, &full, known);
  return FERRY_OK;
}

/* Opening */

static ferry_rc open_device(uint32_t index, ferry_device* device) {
  if (BAD == BAD_OPEN_WRITES_ON_FAILURE) *device = NULL;
  if (index >= kDevices) {
    const bool first_thread = gettid() == getpid();
    if (BAD == BAD_NO_TEXT && !first_thread) return FERRY_E_ARG;
    const ferry_rc told = BAD == BAD_OTHER_CODE ? FERRY_E_OTHER : FERRY_E_ARG;
    host->fail(told, "open", "there are two devices");
    return FERRY_E_ARG;
  }
  static int inside = 0;
  const int others = __atomic_fetch_add(&inside, 1, __ATOMIC_SEQ_CST);
  if (BAD == BAD_OPEN_ALONE) usleep(200);
  __atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST);
  if (BAD == BAD_OPEN_ALONE && others != 0) {
    return host->fail(FERRY_E_DEVICE, "open", "another thread opens a device");
  }
  if (BAD == BAD_DESCRIPTOR_LEAK && open("/dev/null", O_RDONLY) < 0) {
    return host->fail(FERRY_E_DEVICE, "open", "/dev/null does not open");
  }
  ferry_device opened = calloc(1, sizeof *opened);
  if (opened == NULL) return host->fail(FERRY_E_OOM, "open", "malloc found no room");
  opened->index = index;
  pthread_mutex_lock(&lock);
  open_devices[index] = opened;
  pthread_mutex_unlock(&lock);
  *device = opened;
  return FERRY_OK;
}

static void free_block(struct block* block) {
  if (BAD != BAD_MEMORY_LEAK && !block->shared) free(block->data - kMargin);
  free(block);
}

static void close_device(ferry_device device) {
  pthread_mutex_lock(&lock);
  open_devices[device->index] = NULL;
  pthread_mutex_unlock(&lock);
  while (device->blocks != NULL) {
    struct block* block = device->blocks;
    device->blocks = block->next;
    free_block(block);
  }
  free(device);
}

/* Memory */

static ferry_rc no_room(ferry_device device, uint64_t bytes, ferry_memory* memory) {
  /* More than there ever is; what no machine has is refused well. */
  const bool absurd = bytes > kTotal && bytes < UINT64_C(1) << 40;
  if (BAD == BAD_OOM_ABORTS && absurd) abort();
  if (BAD == BAD_OOM_WRITES_OUT && absurd) memory->handle = 0;
  if (BAD == BAD_OOM_IS_OK && absurd) {
    memory->handle = 0;
    return FERRY_OK;
  }
  if (BAD == BAD_OOM_KEEPS && bytes <= kTotal) device->used += bytes;
  return host->fail(FERRY_E_OOM, "alloc", "the device has no room for this block");
}

/* Whether the next block gets the bytes of the one before it. */
static bool overlaps(const ferry_device device, uint64_t bytes) {
  if (BAD != BAD_OVERLAP) return false;
  int live = 0;
  for (const struct block* b = device->blocks; b != NULL; b = b->next) ++live;
  return live >= 64 && device->blocks->bytes >= bytes;
}

/* Room for one block with its margins, or NULL. */
static char* new_bytes(uint64_t bytes) {
  void* data = NULL;
  if (posix_memalign(&data, kAlignment, bytes + 2 * kMargin) != 0) return NULL;
  return (char*)data + kMargin;
}

static ferry_rc alloc_memory(ferry_device device, uint32_t space, uint64_t bytes,
                             ferry_memory* memory) {
  static uint64_t last = 0;
  if (space > FERRY_SPACE_PINNED) return host->fail(FERRY_E_ARG, "alloc", "no such space");
  pthread_mutex_lock(&lock);
  if (bytes > kTotal || device->used + bytes > kTotal) {
    const ferry_rc code = no_room(device, bytes, memory);
    pthread_mutex_unlock(&lock);
    return code;
  }
  struct block* block = malloc(sizeof *block);
  const bool shared = overlaps(device, bytes);
  char* data = block == NULL ? NULL : shared ? device->blocks->data : new_bytes(bytes);
  if (data == NULL) {
    free(block);
    pthread_mutex_unlock(&lock);
    return host->fail(FERRY_E_OOM, "alloc", "malloc found no room");
  }
  const bool address = space == FERRY_SPACE_PINNED && BAD != BAD_PINNED_HANDLE;
  *block = (struct block){address ? (uint64_t)(uintptr_t)data : ++last, bytes, data, shared,
                          device->blocks};
  device->blocks = block;
  device->used += bytes;
  memory->handle = block->handle;
  pthread_mutex_unlock(&lock);
  return FERRY_OK;
}

static ferry_rc release(ferry_device device, ferry_memory memory) {
  pthread_mutex_lock(&lock);
  struct block** link = &device->blocks;
  while (*link != NULL && (*link)->handle != memory.handle) link = &(*link)->next;
  struct block* found = *link;
  if (found != NULL) {
    *link = found->next;
    device->used -= found->bytes;
    free_block(found);
  }
  pthread_mutex_unlock(&lock);
  if (found != NULL) return FERRY_OK;
  return host->fail(FERRY_E_ARG, "release", "this is no block of the device");
}

char* bytes_at(ferry_device device, ferry_location at, uint64_t bytes, const char* where) {
  pthread_mutex_lock(&lock);
  const struct block* block = device->blocks;
  while (block != NULL && block->handle != at.memory.handle) block = block->next;
  char* data = NULL;
  if (block != NULL && at.offset <= block->bytes && bytes <= block->bytes - at.offset) {
    data = block->data + at.offset;
  }
  pthread_mutex_unlock(&lock);
  if (data == NULL) host->fail(FERRY_E_ARG, where, "the range is in no block of the device");
  return data;
}

/* Copies */

struct copy {
  char* dst;
  const char* src; /* NULL: fill with `value` */
  uint64_t bytes;
  int value;
};

static void run_copy(void* argument) {
  struct copy* copy = argument;
  if (copy->src == NULL) {
    memset(copy->dst, copy->value, copy->bytes);
  } else {
    memcpy(copy->dst, copy->src, copy->bytes);
  }
  free(copy);
}

static ferry_rc submit_copy(ferry_device device, ferry_stream stream, struct copy copy) {
  if (copy.dst == NULL) return FERRY_E_ARG; /* bytes_at said why */
  struct copy* later = malloc(sizeof *later);
  if (later == NULL) return host->fail(FERRY_E_OOM, "copy", "malloc found no room");
  *later = copy;
  const ferry_rc code = submit(device, stream, run_copy, later);
  if (code != FERRY_OK) free(later);
  return code;
}

static ferry_rc h2d(ferry_device device, ferry_stream stream, ferry_location dst, const void* src,
                    uint64_t bytes) {
  struct copy copy = {bytes_at(device, dst, bytes, "h2d"), src, bytes, 0};
  if (BAD == BAD_H2D_TOO_LONG) ++copy.bytes;
  if (BAD == BAD_ODD_SIZES && bytes > 4096 && bytes % 4096 == 1) --copy.bytes;
  return submit_copy(device, stream, copy);
}

static ferry_rc d2h(ferry_device device, ferry_stream stream, void* dst, ferry_location src,
                    uint64_t bytes) {
  struct copy copy = {dst, bytes_at(device, src, bytes, "d2h"), bytes, 0};
  if (copy.src == NULL) return FERRY_E_ARG;
  /* By words, which stays inside of what the host's malloc gave. */
  if (BAD == BAD_D2H_TOO_LONG) copy.bytes = (bytes + 3) / 4 * 4;
  /* Small copies take a short way past the queue. */
  if (BAD == BAD_ORDER && stream != NULL && bytes <= 64 << 10) {
    memcpy(copy.dst, copy.src, copy.bytes);
    return FERRY_OK;
  }
  return submit_copy(device, stream, copy);
}

static ferry_rc d2d(ferry_device device, ferry_stream stream, ferry_location dst,
                    ferry_location src, uint64_t bytes) {
  struct copy copy = {bytes_at(device, dst, bytes, "d2d"), bytes_at(device, src, bytes, "d2d"),
                      bytes, 0};
  if (copy.dst == NULL || copy.src == NULL) return FERRY_E_ARG;
  if (BAD == BAD_DST_OFFSET) copy.dst -= dst.offset;
  if (BAD == BAD_SRC_OFFSET) copy.src -= src.offset;
  if (BAD == BAD_D2D_TOO_LONG) ++copy.bytes;
  return submit_copy(device, stream, copy);
}

static ferry_rc fill(ferry_device device, ferry_stream stream, ferry_location dst, uint8_t value,
                     uint64_t bytes) {
  struct copy copy = {bytes_at(device, dst, bytes, "fill"), NULL, bytes, value};
  if (BAD == BAD_FILL_VALUE) copy.value &= 0x7f;
  return submit_copy(device, stream, copy);
}

static ferry_rc sync_device(ferry_device device, ferry_stream stream) {
  if (BAD == BAD_SYNC_ALL && stream == NULL) return FERRY_OK;
  wait_for(device, stream);
  return FERRY_OK;
}

static ferry_rc memory_info(ferry_device device, uint64_t* free_bytes, uint64_t* total_bytes) {
  pthread_mutex_lock(&lock);
  *free_bytes = kTotal - (BAD == BAD_FREE_BYTES ? 0 : device->used);
  pthread_mutex_unlock(&lock);
  *total_bytes = kTotal;
  return FERRY_OK;
}

static void quiesce(void) {
  if (BAD == BAD_QUIESCE) sleep_for_ever();
  for (uint32_t i = 0; i < kDevices; ++i) {
    if (open_devices[i] == NULL) continue;
    ferry_stream stream = open_devices[i]->streams;
    for (; stream != NULL; stream = next_stream(stream)) stop_stream(stream);
  }
}

/* The plugin */

static const ferry_core_api core = {sizeof core,
                                    0,
                                    count,
                                    info,
                                    open_device,
                                    close_device,
                                    BAD == BAD_NULL_SLOT ? NULL : alloc_memory,
                                    release,
                                    h2d,
                                    d2h,
                                    d2d,
                                    sync_device,
                                    fill,
                                    memory_info,
                                    quiesce};

#if BAD == BAD_EXIT
__attribute__((destructor)) static void at_exit(void) {
  for (uint32_t i = 0; i < kDevices; ++i) {
    if (open_devices[i] != NULL) sleep_for_ever();
  }
}
#endif
#if BAD == BAD_TWO_SYMBOLS
FERRY_PLUGIN_EXPORT const int acme_helper = 1;
#endif
#if BAD == BAD_SIGNAL
static void on_signal(int number) { (void)number; }
#endif
#if BAD == BAD_HOST_SYMBOL
/* ferry::empty_cache() of the library, so that the loading itself succeeds. */
extern void needed_of_the_host(void) __asm__("_ZN5ferry11empty_cacheEv");
#endif

static ferry_rc init(const ferry_host* services, ferry_plugin_api* api) {
  host = services;
#if BAD == BAD_FORK
  pthread_atfork(before_fork, after_fork, NULL);
#endif
#if BAD == BAD_HOST_SYMBOL
  if (services == NULL) needed_of_the_host();
#endif
#if BAD == BAD_SIGNAL
  signal(SIGUSR1, on_signal);
#endif
  if (BAD == BAD_PRINTS) puts("Paper devices 1.0 at your service");
  if (BAD == BAD_DIRECTORY && chdir("/") != 0) return host->fail(FERRY_E_OTHER, "init", "chdir");
  if (BAD == BAD_LOCALE) setlocale(LC_ALL, "C.UTF-8");
  if (BAD == BAD_OLD_HOST && host->device_lost != NULL) host->device_lost(NULL, "nothing is lost");
  if (BAD == BAD_NEW_HOST) memset(&api->n_kernels, 0, api->size - sizeof api->size);
  api->core = &core;
  api->streams = &stream_api;
  api->kernels = kernels;
  api->n_kernels = kKernels;
  return FERRY_OK;
}

FERRY_PLUGIN_EXPORT const ferry_plugin_desc ferry_plugin_v1 = {
    .magic = FERRY_PLUGIN_MAGIC,
    .size = sizeof(ferry_plugin_desc),
    .major = FERRY_ABI_MAJOR,
    .minor_built = FERRY_ABI_MINOR,
    .name = "paper",
    .version = "1.0",
    .vendor = BAD == BAD_VENDOR_TEXT ? "Acm\xe9" : "Acme",
    .requires_text = "nothing",
    .init = init,
    .reserved = {0, 0, BAD == BAD_RESERVED_WORD}};
