/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams of the test plugin: a worker thread each, that begins a little later
 * than the host asks; and events over them.
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "plugin.h"

/* From the host's call to the begin of work on an idle stream. */
enum { kLatencyMicroseconds = 200 };

struct work {
  void (*run)(void*);
  void* argument;
  struct work* next;
};

struct ferry_stream_s {
  ferry_device device;
  ferry_stream next;
  struct work* first;
  struct work* last;
  uint64_t submitted, done;
  bool closing, stopped;
  pthread_cond_t wake;
  pthread_t worker;
};

/* One recording of an event; it outlives the event where work waits for it. */
struct signal {
  int users;
  bool happened;
  double time;
};
struct ferry_event_s {
  struct signal* signal;
};

/* Something was done, somewhere. */
static pthread_cond_t progress = PTHREAD_COND_INITIALIZER;

static void* work_on(void* argument) {
  ferry_stream stream = argument;
  pthread_mutex_lock(&lock);
  for (;;) {
    const bool idle = stream->first == NULL;
    while (stream->first == NULL && !stream->closing) pthread_cond_wait(&stream->wake, &lock);
    struct work* work = stream->first;
    if (work == NULL) break;
    pthread_mutex_unlock(&lock);
    if (idle) usleep(kLatencyMicroseconds);
    work->run(work->argument);
    pthread_mutex_lock(&lock);
    stream->first = work->next;
    free(work);
    ++stream->done;
    pthread_cond_broadcast(&progress);
  }
  pthread_mutex_unlock(&lock);
  return NULL;
}

static void wait_locked(ferry_stream stream) {
  const uint64_t position = stream->submitted;
  while (stream->done < position) pthread_cond_wait(&progress, &lock);
}

void wait_for(ferry_device device, ferry_stream stream) {
  pthread_mutex_lock(&lock);
  if (stream != NULL) {
    wait_locked(stream);
  } else {
    for (ferry_stream s = device->streams; s != NULL; s = s->next) wait_locked(s);
  }
  pthread_mutex_unlock(&lock);
}

ferry_rc submit(ferry_device device, ferry_stream stream, void (*run)(void*), void* argument) {
  if (stream == NULL) {
    wait_for(device, NULL);
    run(argument);
    return FERRY_OK;
  }
  struct work* work = malloc(sizeof *work);
  if (work == NULL) return host->fail(FERRY_E_OOM, "submit", "malloc found no room");
  *work = (struct work){run, argument, NULL};
  pthread_mutex_lock(&lock);
  if (stream->first == NULL) {
    stream->first = work;
  } else {
    stream->last->next = work;
  }
  stream->last = work;
  ++stream->submitted;
  pthread_cond_signal(&stream->wake);
  pthread_mutex_unlock(&lock);
  return FERRY_OK;
}

ferry_stream next_stream(ferry_stream stream) { return stream->next; }

void stop_stream(ferry_stream stream) {
  if (stream->stopped) return;
  pthread_mutex_lock(&lock);
  stream->closing = true;
  pthread_cond_signal(&stream->wake);
  pthread_mutex_unlock(&lock);
  pthread_join(stream->worker, NULL);
  stream->stopped = true;
}

static ferry_rc stream_create(ferry_device device, int32_t priority, ferry_stream* stream) {
  (void)priority; /* a hint */
  ferry_stream created = calloc(1, sizeof *created);
  if (created == NULL) return host->fail(FERRY_E_OOM, "stream_create", "malloc found no room");
  created->device = device;
  pthread_cond_init(&created->wake, NULL);
  if (pthread_create(&created->worker, NULL, work_on, created) != 0) {
    free(created);
    return host->fail(FERRY_E_DEVICE, "stream_create", "there is no thread to have");
  }
  pthread_mutex_lock(&lock);
  created->next = device->streams;
  device->streams = created;
  pthread_mutex_unlock(&lock);
  *stream = created;
  return FERRY_OK;
}

static void stream_destroy(ferry_device device, ferry_stream stream) {
  pthread_mutex_lock(&lock);
  ferry_stream* link = &device->streams;
  while (*link != stream) link = &(*link)->next;
  *link = stream->next;
  pthread_mutex_unlock(&lock);
  if (BAD == BAD_STREAM_THREAD_LEAK) return;
  stop_stream(stream);
  pthread_cond_destroy(&stream->wake);
  free(stream);
}

static ferry_rc host_function(ferry_device device, ferry_stream stream, void (*function)(void*),
                              void* argument) {
  pthread_mutex_lock(&lock);
  const bool busy = stream != NULL && stream->first != NULL;
  pthread_mutex_unlock(&lock);
  if (BAD == BAD_FUNCTION_EARLY && busy) {
    function(argument);
    return FERRY_OK;
  }
  const ferry_rc code = submit(device, stream, function, argument);
  if (BAD == BAD_FUNCTION_TWICE && code == FERRY_OK) submit(device, stream, function, argument);
  return code;
}

/* Events */

static void drop(struct signal* signal) {
  if (signal != NULL && --signal->users == 0) free(signal);
}

static ferry_rc event_create(ferry_device device, ferry_event* event) {
  (void)device;
  ferry_event created = calloc(1, sizeof *created);
  if (created == NULL) return host->fail(FERRY_E_OOM, "event_create", "malloc found no room");
  *event = created;
  return FERRY_OK;
}

static void event_destroy(ferry_device device, ferry_event event) {
  (void)device;
  pthread_mutex_lock(&lock);
  drop(event->signal);
  pthread_mutex_unlock(&lock);
  free(event);
}

static void run_signal(void* argument) {
  struct signal* signal = argument;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  pthread_mutex_lock(&lock);
  signal->time = 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
  signal->happened = true;
  drop(signal);
  pthread_cond_broadcast(&progress);
  pthread_mutex_unlock(&lock);
}

static void run_wait(void* argument) {
  struct signal* signal = argument;
  pthread_mutex_lock(&lock);
  while (!signal->happened) pthread_cond_wait(&progress, &lock);
  drop(signal);
  pthread_mutex_unlock(&lock);
}

static ferry_rc event_record(ferry_device device, ferry_event event, ferry_stream stream) {
  struct signal* signal = calloc(1, sizeof *signal);
  if (signal == NULL) return host->fail(FERRY_E_OOM, "event_record", "malloc found no room");
  signal->users = 2;
  const ferry_rc code = submit(device, stream, run_signal, signal);
  if (code != FERRY_OK) {
    free(signal);
    return code;
  }
  pthread_mutex_lock(&lock);
  drop(event->signal);
  event->signal = signal;
  pthread_mutex_unlock(&lock);
  return FERRY_OK;
}

static ferry_rc stream_wait(ferry_device device, ferry_stream stream, ferry_event event) {
  if (BAD == BAD_WAIT_NOTHING) return FERRY_OK;
  pthread_mutex_lock(&lock);
  struct signal* signal = event->signal;
  if (signal != NULL) ++signal->users;
  pthread_mutex_unlock(&lock);
  if (signal == NULL) return FERRY_OK; /* never recorded: nothing to wait for */
  const ferry_rc code = submit(device, stream, run_wait, signal);
  if (code == FERRY_OK) return code;
  pthread_mutex_lock(&lock);
  drop(signal);
  pthread_mutex_unlock(&lock);
  return code;
}

static ferry_rc event_sync(ferry_device device, ferry_event event) {
  (void)device;
  if (BAD == BAD_EVENT_SYNC_EARLY) return FERRY_OK;
  pthread_mutex_lock(&lock);
  while (event->signal != NULL && !event->signal->happened) pthread_cond_wait(&progress, &lock);
  pthread_mutex_unlock(&lock);
  return FERRY_OK;
}

static ferry_rc event_query(ferry_device device, ferry_event event) {
  (void)device;
  if (BAD == BAD_EVENT_QUERY_EARLY) return FERRY_OK;
  static unsigned calls = 0;
  if (BAD == BAD_QUERY_FORGETS && calls++ % 2 == 0) return FERRY_NOT_READY;
  pthread_mutex_lock(&lock);
  const bool happened = event->signal == NULL || event->signal->happened;
  pthread_mutex_unlock(&lock);
  return happened ? FERRY_OK : FERRY_NOT_READY;
}

static ferry_rc event_elapsed(ferry_device device, ferry_event begin, ferry_event end, double* ms) {
  (void)device;
  pthread_mutex_lock(&lock);
  const bool known = begin->signal != NULL && end->signal != NULL;
  if (known) {
    while (!begin->signal->happened || !end->signal->happened) pthread_cond_wait(&progress, &lock);
    *ms = end->signal->time - begin->signal->time;
    if (BAD == BAD_ELAPSED) *ms = -*ms;
  }
  pthread_mutex_unlock(&lock);
  if (known) return FERRY_OK;
  return host->fail(FERRY_E_ARG, "event_elapsed", "an event was not recorded");
}

const ferry_stream_api stream_api = {sizeof stream_api,
                                     0,
                                     stream_create,
                                     stream_destroy,
                                     event_create,
                                     event_destroy,
                                     event_record,
                                     stream_wait,
                                     event_sync,
                                     event_query,
                                     event_elapsed,
                                     host_function,
                                     NULL};
