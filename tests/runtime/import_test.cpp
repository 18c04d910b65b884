// SPDX-License-Identifier: Apache-2.0
//
// C tables as hal classes: what is absent, what is short, what throws, and that
// the plugin sees its own handles.
#include "runtime/import.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ferry/log.h"
#include "runtime/host_services.h"

namespace ferry::runtime {
namespace {

/// What the fake plugin was called with last.
struct Seen {
  ferry_device device = nullptr;
  ferry_stream stream = nullptr;
  ferry_event event = nullptr;
  int closes = 0, streams_destroyed = 0, events_destroyed = 0;
} seen;

const auto kDevice = reinterpret_cast<ferry_device>(uintptr_t{0xd0});
const auto kStream = reinterpret_cast<ferry_stream>(uintptr_t{0x50});
const auto kEvent = reinterpret_cast<ferry_event>(uintptr_t{0xe0});

ferry_core_api full_core() {
  ferry_core_api core{};
  core.size = sizeof core;
  core.count = [] { return 3u; };
  core.info = [](uint32_t index, ferry_device_info* info) -> ferry_rc {
    info->compute_units = index;
    return FERRY_OK;
  };
  core.open = [](uint32_t, ferry_device* device) -> ferry_rc {
    *device = kDevice;
    return FERRY_OK;
  };
  core.close = [](ferry_device device) {
    seen.device = device;
    ++seen.closes;
  };
  core.alloc = [](ferry_device device, uint32_t, uint64_t bytes, ferry_memory* memory) -> ferry_rc {
    seen.device = device;
    memory->handle = bytes;
    return FERRY_OK;
  };
  core.release = [](ferry_device, ferry_memory memory) -> ferry_rc {
    return memory.handle == 7 ? FERRY_E_DEVICE : FERRY_OK;
  };
  core.h2d = [](ferry_device, ferry_stream stream, ferry_location, const void*,
                uint64_t) -> ferry_rc {
    seen.stream = stream;
    return FERRY_OK;
  };
  core.d2h = [](ferry_device, ferry_stream, void*, ferry_location, uint64_t) -> ferry_rc {
    return FERRY_DECLINED;
  };
  core.d2d = [](ferry_device, ferry_stream, ferry_location, ferry_location, uint64_t) -> ferry_rc {
    throw 42;
  };
  core.sync = [](ferry_device device, ferry_stream stream) -> ferry_rc {
    seen.device = device;
    seen.stream = stream;
    return FERRY_OK;
  };
  return core;
}

ferry_stream_api full_streams() {
  ferry_stream_api api{};
  api.size = sizeof api;
  api.stream_create = [](ferry_device, int32_t, ferry_stream* stream) -> ferry_rc {
    *stream = kStream;
    return FERRY_OK;
  };
  api.stream_destroy = [](ferry_device, ferry_stream stream) {
    seen.stream = stream;
    ++seen.streams_destroyed;
  };
  api.event_create = [](ferry_device, ferry_event* event) -> ferry_rc {
    *event = kEvent;
    return FERRY_OK;
  };
  api.event_destroy = [](ferry_device, ferry_event event) {
    seen.event = event;
    ++seen.events_destroyed;
  };
  api.event_record = [](ferry_device, ferry_event event, ferry_stream stream) -> ferry_rc {
    seen.event = event;
    seen.stream = stream;
    return FERRY_OK;
  };
  api.stream_wait = [](ferry_device, ferry_stream stream, ferry_event event) -> ferry_rc {
    seen.event = event;
    seen.stream = stream;
    return FERRY_OK;
  };
  api.event_sync = [](ferry_device, ferry_event) -> ferry_rc { return FERRY_OK; };
  api.event_query = [](ferry_device, ferry_event) -> ferry_rc { return FERRY_NOT_READY; };
  return api;
}

class ImportTest : public ::testing::Test {
 protected:
  ImportTest() {
    seen = Seen();
    api_.size = sizeof api_;
    api_.core = &core_;
    api_.streams = &streams_;
    desc_.name = "acme";
  }
  ~ImportTest() override { (void)take_failure(); }

  void import() { backend_ = import_plugin(desc_, api_); }
  std::unique_ptr<hal::Device> open() {
    import();
    std::unique_ptr<hal::Device> device;
    EXPECT_TRUE(backend_->open(0, &device).ok()) << take_failure();
    return device;
  }

  ferry_core_api core_ = full_core();
  ferry_stream_api streams_ = full_streams();
  ferry_plugin_api api_{};
  ferry_plugin_desc desc_{};
  std::unique_ptr<hal::Backend> backend_;
};

TEST_F(ImportTest, NamesTheMissingFunction) {
  EXPECT_EQ(missing_core_function(api_), nullptr);
  core_.size = offsetof(ferry_core_api, fill);
  EXPECT_EQ(missing_core_function(api_), nullptr);
  core_.size = offsetof(ferry_core_api, sync) + sizeof(void*) - 1;
  EXPECT_STREQ(missing_core_function(api_), "sync");
  core_.size = sizeof core_;
  core_.d2d = nullptr;
  EXPECT_STREQ(missing_core_function(api_), "d2d");
  api_.core = nullptr;
  EXPECT_STREQ(missing_core_function(api_), "count");
  api_.size = 4;
  EXPECT_STREQ(missing_core_function(api_), "count");
}

TEST_F(ImportTest, ThePluginSeesItsOwnHandles) {
  auto device = open();
  EXPECT_EQ(backend_->count(), 3u);
  ferry_device_info info{};
  info.size = sizeof info;
  EXPECT_TRUE(backend_->info(2, &info).ok());
  EXPECT_EQ(info.compute_units, 2u);
  EXPECT_EQ(device->handle(), kDevice);

  std::unique_ptr<hal::Stream> stream;
  std::unique_ptr<hal::Event> event;
  ASSERT_TRUE(device->create_stream(0, &stream).ok());
  ASSERT_TRUE(device->create_event(&event).ok());
  EXPECT_EQ(stream->handle(), kStream);
  EXPECT_EQ(event->handle(), kEvent);
  EXPECT_TRUE(event->record(*stream).ok());
  EXPECT_EQ(seen.event, kEvent);
  EXPECT_EQ(seen.stream, kStream);
  seen = Seen();
  EXPECT_TRUE(stream->wait(*event).ok());
  EXPECT_EQ(seen.event, kEvent);
  EXPECT_EQ(event->query().code(), FERRY_NOT_READY);
  EXPECT_TRUE(stream->synchronize().ok());
  EXPECT_EQ(seen.stream, kStream);
  EXPECT_TRUE(device->synchronize().ok());
  EXPECT_EQ(seen.stream, nullptr);
  EXPECT_TRUE(device->copy_from_host(stream.get(), {}, nullptr, 1).ok());
  EXPECT_EQ(seen.stream, kStream);
  EXPECT_TRUE(device->copy_from_host(nullptr, {}, nullptr, 1).ok());
  EXPECT_EQ(seen.stream, nullptr);

  ferry_memory memory{0};
  EXPECT_TRUE(device->allocator().allocate(hal::Space::kDevice, 99, &memory).ok());
  EXPECT_EQ(memory.handle, 99u);
  event.reset();
  stream.reset();
  EXPECT_EQ(seen.events_destroyed, 1);
  EXPECT_EQ(seen.streams_destroyed, 1);
  seen.device = nullptr;
  device.reset();
  EXPECT_EQ(seen.closes, 1);
  EXPECT_EQ(seen.device, kDevice);
}

TEST_F(ImportTest, AbsentFunctionsAnswerMissing) {
  api_.streams = nullptr;
  auto device = open();
  std::unique_ptr<hal::Stream> stream;
  std::unique_ptr<hal::Event> event;
  EXPECT_EQ(device->create_stream(0, &stream).code(), FERRY_E_MISSING);
  EXPECT_EQ(device->create_event(&event).code(), FERRY_E_MISSING);
  uint64_t free_bytes = 0, total_bytes = 0;
  EXPECT_EQ(device->memory_info(&free_bytes, &total_bytes).code(), FERRY_E_MISSING);
  EXPECT_EQ(take_failure(), "memory_info: the plugin does not have this function");
  backend_->quiesce();
}

TEST_F(ImportTest, AShorterTableIsNotReadBehindItsEnd) {
  core_.memory_info = [](ferry_device, uint64_t*, uint64_t*) -> ferry_rc { return FERRY_OK; };
  core_.size = offsetof(ferry_core_api, memory_info);
  streams_.size = offsetof(ferry_stream_api, event_create);
  auto device = open();
  uint64_t free_bytes = 0, total_bytes = 0;
  EXPECT_EQ(device->memory_info(&free_bytes, &total_bytes).code(), FERRY_E_MISSING);
  std::unique_ptr<hal::Stream> stream;
  std::unique_ptr<hal::Event> event;
  EXPECT_TRUE(device->create_stream(0, &stream).ok());
  EXPECT_EQ(device->create_event(&event).code(), FERRY_E_MISSING);
  uint64_t native = 0;
  EXPECT_EQ(stream->native(&native).code(), FERRY_E_MISSING);
}

TEST_F(ImportTest, NoExceptionGetsThrough) {
  auto device = open();
  EXPECT_EQ(device->copy(nullptr, {}, {}, 1).code(), FERRY_E_OTHER);
  EXPECT_EQ(take_failure(), "d2d: the plugin threw something that is no exception");
  core_.open = [](uint32_t, ferry_device*) -> ferry_rc { throw std::bad_alloc(); };
  core_.count = []() -> uint32_t { throw std::runtime_error("count me out"); };
  // What is made from a backend goes before it.
  device.reset();
  import();
  std::unique_ptr<hal::Device> none;
  EXPECT_EQ(backend_->open(0, &none).code(), FERRY_E_OOM);
  EXPECT_EQ(backend_->count(), 0u);
  EXPECT_EQ(take_failure(), "count: the plugin threw an exception: count me out");
  // Not even out of a destructor.
  core_ = full_core();
  core_.close = [](ferry_device) { throw 1; };
  open().reset();
}

TEST_F(ImportTest, AnswersWithoutAMeaningAreErrors) {
  auto device = open();
  EXPECT_EQ(device->allocator().release({7}).code(), FERRY_E_DEVICE);
  // d2h "declines", which a copy cannot.
  EXPECT_EQ(device->copy_to_host(nullptr, nullptr, {}, 1).code(), FERRY_E_OTHER);
  // Success without a device.
  core_.open = [](uint32_t, ferry_device*) -> ferry_rc { return FERRY_OK; };
  device.reset();
  import();
  std::unique_ptr<hal::Device> none;
  EXPECT_EQ(backend_->open(0, &none).code(), FERRY_E_OTHER);
  EXPECT_EQ(none, nullptr);
}

TEST_F(ImportTest, SuccessWithoutMemoryIsAnError) {
  core_.alloc = [](ferry_device, uint32_t, uint64_t, ferry_memory*) -> ferry_rc { return 0; };
  auto device = open();
  ferry_memory memory{5};
  EXPECT_EQ(device->allocator().allocate(hal::Space::kDevice, 1, &memory).code(), FERRY_E_OTHER);
  EXPECT_EQ(memory.handle, 5u);
}

/// A kernel of a later minor: more members than this host knows.
struct LargerKernel {
  ferry_kernel kernel;
  uint64_t more[3];
};

ferry_kernel make_kernel(const char* family, uint32_t size = sizeof(ferry_kernel)) {
  ferry_kernel kernel{};
  kernel.size = size;
  kernel.flags = FERRY_KERNEL_INPLACE;
  kernel.family = family;
  kernel.dtypes = FERRY_DTYPE_BIT(FERRY_F32);
  kernel.launch = [](const ferry_kernel* self, const ferry_call*) -> ferry_rc {
    return std::strcmp(self->family, "declining/1") == 0 ? FERRY_DECLINED : FERRY_OK;
  };
  return kernel;
}

TEST_F(ImportTest, WalksKernelsByTheirOwnSize) {
  LargerKernel kernels[4] = {};
  const char* const families[] = {"map/1", "nothing/1", "declining/1", nullptr};
  for (int i = 0; i < 4; ++i) kernels[i].kernel = make_kernel(families[i], sizeof(LargerKernel));
  kernels[1].kernel.launch = nullptr;
  kernels[0].kernel.check = [](const ferry_kernel*, const ferry_call*) -> ferry_rc {
    return FERRY_DECLINED;
  };
  kernels[0].kernel.scratch = [](const ferry_kernel*, const ferry_call*) -> uint64_t { return 64; };
  api_.kernels = &kernels[0].kernel;
  api_.n_kernels = 4;
  std::vector<std::string> lines;
  set_log_callback([&](LogLevel, std::string_view component, std::string_view text) {
    lines.push_back(std::string(component) + ": " + std::string(text));
  });
  import();
  set_log_callback({});
  // Two are dropped, each with a line.
  const auto list = backend_->kernels();
  ASSERT_EQ(list.size(), 2u);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].find("acme: kernel 1"), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find("acme: kernel 3"), std::string::npos) << lines[1];
  EXPECT_STREQ(list[0]->traits().family, "map/1");
  EXPECT_EQ(list[0]->traits().flags, uint32_t{FERRY_KERNEL_INPLACE});
  EXPECT_EQ(list[0]->traits().dtypes, FERRY_DTYPE_BIT(FERRY_F32));
  ferry_call call{};
  call.size = sizeof call;
  EXPECT_EQ(list[0]->check(call).code(), FERRY_DECLINED);
  EXPECT_EQ(list[0]->scratch(call), 64u);
  EXPECT_TRUE(list[0]->launch(call).ok());
  // Without a check everything is taken; launch gets the plugin's own element.
  EXPECT_TRUE(list[1]->check(call).ok());
  EXPECT_EQ(list[1]->scratch(call), 0u);
  EXPECT_EQ(list[1]->launch(call).code(), FERRY_DECLINED);
}

TEST_F(ImportTest, StopsAtAKernelWithoutASoundSize) {
  ferry_kernel kernels[3] = {make_kernel("map/1"), make_kernel("reduce/1", 0),
                             make_kernel("matmul/1")};
  api_.kernels = kernels;
  api_.n_kernels = 3;
  import();
  ASSERT_EQ(backend_->kernels().size(), 1u);
  kernels[1].size = sizeof(ferry_kernel) - 3;
  import();
  EXPECT_EQ(backend_->kernels().size(), 1u);
}

TEST_F(ImportTest, AShortApiHasNoKernels) {
  ferry_kernel kernel = make_kernel("map/1");
  api_.kernels = &kernel;
  api_.n_kernels = 1;
  api_.size = offsetof(ferry_plugin_api, kernels);
  import();
  EXPECT_TRUE(backend_->kernels().empty());
  EXPECT_EQ(backend_->count(), 3u);
}

}  // namespace
}  // namespace ferry::runtime
