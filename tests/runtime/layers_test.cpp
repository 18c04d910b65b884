// SPDX-License-Identifier: Apache-2.0
//
// The layers around a backend made here: that none means the backend itself,
// and what the validate layer says of each mistake.
#include "runtime/layers/layer.h"

#include <array>
#include <memory>
#include <string>
#include <thread>
#include <typeinfo>
#include <vector>

#include <gtest/gtest.h>

#include "ferry/error.h"
#include "runtime/host_services.h"
#include "runtime/layers/start.h"

namespace ferry::runtime::layers {
namespace {

using hal::Status;

/// What the fake plugin does wrong next.
struct Faults {
  uint64_t next_handle = 0x1000;
  ferry_rc copy_code = FERRY_OK, launch_code = FERRY_OK;
  uint64_t free_bytes = 1, total_bytes = 2;
  int copies = 0, launches = 0;
  hal::Stream* enter_again = nullptr;
} fake;

class FakeEvent final : public hal::Event {
 public:
  Status record(hal::Stream&) override { return Status(); }
  Status synchronize() override { return Status(); }
  Status query() override { return Status(); }
  Status elapsed_since(hal::Event&, double* ms) override {
    *ms = 1;
    return Status();
  }
};
class FakeStream final : public hal::Stream {
 public:
  Status synchronize() override {
    Status inner;
    if (hal::Stream* again = std::exchange(fake.enter_again, nullptr)) {
      std::thread([&] {
        inner = again->synchronize();
        text = take_failure();
      }).join();
    }
    return inner.ok() ? Status() : hal::fail(inner.code(), "again", text.c_str());
  }
  Status wait(hal::Event&) override { return Status(); }

 private:
  std::string text;
};
class FakeDevice final : public hal::Device, public hal::Allocator {
 public:
  hal::Allocator& allocator() override { return *this; }
  Status allocate(hal::Space, uint64_t, ferry_memory* memory) override {
    memory->handle = fake.next_handle;
    fake.next_handle += 0x1000;
    return Status();
  }
  Status release(ferry_memory) override { return Status(); }
  Status copy_from_host(hal::Stream*, ferry_location, const void*, uint64_t) override {
    ++fake.copies;
    return Status(fake.copy_code);
  }
  Status copy_to_host(hal::Stream*, void*, ferry_location, uint64_t) override { return Status(); }
  Status copy(hal::Stream*, ferry_location, ferry_location, uint64_t) override { return Status(); }
  Status copy_from_peer(hal::Stream*, ferry_location, hal::Device&, ferry_location,
                        uint64_t) override {
    return Status();
  }
  Status synchronize() override { return Status(); }
  Status create_stream(int32_t, std::unique_ptr<hal::Stream>* stream) override {
    *stream = std::make_unique<FakeStream>();
    return Status();
  }
  Status create_event(std::unique_ptr<hal::Event>* event) override {
    *event = std::make_unique<FakeEvent>();
    return Status();
  }
  Status memory_info(uint64_t* free_bytes, uint64_t* total_bytes) override {
    *free_bytes = fake.free_bytes;
    *total_bytes = fake.total_bytes;
    return Status();
  }
};
class FakeKernel final : public hal::Kernel {
 public:
  FakeKernel() : Kernel({"softmax/1", FERRY_DTYPE_BIT(FERRY_F32), 0}) {}
  Status launch(const ferry_call&) const override {
    ++fake.launches;
    return Status(fake.launch_code);
  }
};
class FakeBackend final : public hal::Backend {
 public:
  uint32_t count() override { return 2; }
  Status info(uint32_t, ferry_device_info* info) override {
    info->alignment = 256;
    return Status();
  }
  Status open(uint32_t, std::unique_ptr<hal::Device>* device) override {
    *device = std::make_unique<FakeDevice>();
    return Status();
  }
  std::span<const hal::Kernel* const> kernels() override { return list_; }

 private:
  FakeKernel kernel_;
  std::array<const hal::Kernel*, 1> list_{&kernel_};
};

TEST(Layers, NoneIsTheBackendItself) {
  const Stack none;
  auto backend = std::make_unique<FakeBackend>();
  hal::Backend* const raw = backend.get();
  const auto same = wrap(std::move(backend), "acme", none);
  EXPECT_EQ(same.get(), raw);
  std::unique_ptr<hal::Device> device;
  ASSERT_TRUE(same->open(0, &device).ok());
  EXPECT_EQ(typeid(*device), typeid(FakeDevice));
  EXPECT_EQ(typeid(*same->kernels()[0]), typeid(FakeKernel));
}

TEST(Layers, WordsAreSortedAndChecked) {
  EXPECT_EQ(parse(""), std::vector<std::string>());
  EXPECT_EQ(parse("trace, validate,,trace"), (std::vector<std::string>{"validate", "trace"}));
  EXPECT_THROW(parse("validate;trace"), InvalidArgument);
  EXPECT_THROW(parse("Trace"), InvalidArgument);
}

class Validate : public ::testing::Test {
 protected:
  void SetUp() override {
    (void)host_services();
    fake = Faults();
    // Kept for the process, as the runtime keeps them.
    auto* stack = new Stack();
    stack->push_back(make_validate_layer());
    layer_ = stack->front().get();
    backend_ = wrap(std::make_unique<FakeBackend>(), "acme", *stack);
    ASSERT_TRUE(backend_->open(0, &device_).ok());
    ASSERT_TRUE(backend_->open(1, &other_).ok());
    ASSERT_TRUE(device_->create_stream(0, &stream_).ok());
    ASSERT_TRUE(device_->allocator().allocate(hal::Space::kDevice, 1024, &block_).ok());
    (void)take_failure();
  }
  void TearDown() override {
    // Layers keep what they know of a device for the process, as the runtime
    // keeps devices.
    static auto& backends = *new std::vector<std::unique_ptr<hal::Backend>>();
    static auto& devices = *new std::vector<std::unique_ptr<hal::Device>>();
    stream_.reset();
    devices.push_back(std::move(device_));
    devices.push_back(std::move(other_));
    backends.push_back(std::move(backend_));
  }
  void expect(Status status, ferry_rc code, std::vector<std::string> parts) {
    EXPECT_EQ(status.code(), code);
    const std::string text = take_failure();
    for (const std::string& part : parts) {
      EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' in: " << text;
    }
  }
  Status upload(uint64_t offset, uint64_t bytes, hal::Stream* stream = nullptr) {
    return device_->copy_from_host(stream, {block_, offset}, host_.data(), bytes);
  }
  static ferry_tensor tensor(ferry_memory memory, uint64_t offset, int64_t n) {
    ferry_tensor t{};
    t.at = {memory, offset};
    t.dtype = FERRY_F32;
    t.ndim = 1;
    t.shape[0] = n;
    t.stride[0] = 1;
    return t;
  }
  Status launch(const ferry_tensor& in, const ferry_tensor& out, uint32_t axis = 0) {
    const ferry_softmax_attr attr{sizeof attr, axis, 0, 0};
    ferry_call call{};
    call.size = sizeof call;
    call.n_in = call.n_out = 1;
    call.in = &in;
    call.out = &out;
    call.attr = &attr;
    call.device = device_->handle();
    call.stream = stream_->handle();
    return backend_->kernels()[0]->launch(call);
  }

  Layer* layer_ = nullptr;
  std::unique_ptr<hal::Backend> backend_;
  std::unique_ptr<hal::Device> device_, other_;
  std::unique_ptr<hal::Stream> stream_;
  ferry_memory block_{};
  std::array<char, 4096> host_{};
};

TEST_F(Validate, GoodCallsPass) {
  EXPECT_TRUE(upload(0, 1024, stream_.get()).ok());
  EXPECT_TRUE(device_->copy(nullptr, {block_, 0}, {block_, 512}, 512).ok());
  EXPECT_TRUE(launch(tensor(block_, 0, 8), tensor(block_, 512, 8)).ok());
  EXPECT_TRUE(stream_->synchronize().ok());
  EXPECT_TRUE(device_->allocator().release(block_).ok());
}

TEST_F(Validate, RangesAndPointers) {
  expect(upload(1000, 100), FERRY_E_ARG, {"acme:0", "h2d", "dst", "1000 to 1100", "1024 bytes"});
  expect(upload(0, 0), FERRY_E_ARG, {"bytes"});
  expect(upload(UINT64_MAX, 2), FERRY_E_ARG, {"outside"});
  expect(device_->copy_from_host(nullptr, {block_, 0}, nullptr, 4), FERRY_E_ARG, {"src", "null"});
  expect(device_->copy(nullptr, {block_, 0}, {block_, 4}, 8), FERRY_E_ARG, {"d2d", "overlap"});
  expect(device_->copy_from_host(nullptr, {{99}, 0}, host_.data(), 4), FERRY_E_ARG,
         {"no memory of this device"});
  expect(other_->copy_from_host(nullptr, {block_, 0}, host_.data(), 4), FERRY_E_ARG,
         {"memory of acme:0"});
  EXPECT_EQ(fake.copies, 0);  // nothing got through
}

TEST_F(Validate, UseAfterFreeAndDoubleFree) {
  ASSERT_TRUE(device_->allocator().release(block_).ok());
  expect(upload(0, 4), FERRY_E_ARG, {"after it was released", "block 1 of 1024 bytes"});
  expect(device_->allocator().release(block_), FERRY_E_ARG, {"release", "already", "allocated"});
  expect(device_->allocator().release({77}), FERRY_E_ARG, {"no memory"});
}

TEST_F(Validate, BlocksInsideASegment) {
  const auto block = [&](BlockEvent::Kind kind, uint64_t offset) {
    layer_->on_block({kind, "acme:0", false, block_.handle, offset, 256, 0, 0});
  };
  block(BlockEvent::Kind::kAllocate, 0);
  block(BlockEvent::Kind::kAllocate, 256);
  EXPECT_TRUE(upload(256, 256).ok());
  expect(upload(0, 300), FERRY_E_ARG, {"44 bytes beyond the end"});
  expect(upload(600, 8), FERRY_E_ARG, {"no live block"});
  block(BlockEvent::Kind::kFree, 256);
  expect(upload(256, 8), FERRY_E_ARG, {"was freed"});
  expect(device_->allocator().release(block_), FERRY_E_ARG, {"still holds"});
}

TEST_F(Validate, StreamsAndEvents) {
  std::unique_ptr<hal::Event> event;
  ASSERT_TRUE(device_->create_event(&event).ok());
  expect(stream_->wait(*event), FERRY_E_ARG, {"stream_wait", "never recorded"});
  EXPECT_TRUE(event->synchronize().ok());  // has happened, by the contract
  EXPECT_TRUE(event->record(*stream_).ok());
  EXPECT_TRUE(stream_->wait(*event).ok());
  std::unique_ptr<hal::Stream> theirs;
  ASSERT_TRUE(other_->create_stream(0, &theirs).ok());
  expect(upload(0, 4, theirs.get()), FERRY_E_ARG, {"stream 0 of acme:1"});
  expect(event->record(*theirs), FERRY_E_ARG, {"stream 0 of acme:1"});
  expect(theirs->wait(*event), FERRY_E_ARG, {"of acme:0"});
  fake.enter_again = stream_.get();
  expect(stream_->synchronize(), FERRY_E_ARG, {"in use by another thread"});
  EXPECT_TRUE(stream_->synchronize().ok());
}

TEST_F(Validate, Kernels) {
  const ferry_tensor a = tensor(block_, 0, 8), b = tensor(block_, 512, 8);
  expect(launch(a, a), FERRY_E_ARG, {"softmax", "out[0] is in[0]", "INPLACE"});
  expect(launch(a, tensor(block_, 16, 8)), FERRY_E_ARG, {"overlaps"});
  expect(launch(tensor(block_, 0, 300), b), FERRY_E_ARG, {"in[0]", "f32[300]", "outside"});
  expect(launch(a, b, 3), FERRY_E_ARG, {"attr", "axis 3"});
  ferry_tensor wrong = a;
  wrong.dtype = FERRY_I64;
  expect(launch(wrong, b), FERRY_E_ARG, {"dtype"});
  wrong = a;
  wrong.stride[0] = 2;
  expect(launch(wrong, b), FERRY_E_ARG, {"not contiguous"});
  wrong = a;
  wrong.shape[0] = 0;
  expect(launch(wrong, b), FERRY_E_ARG, {"empty"});
  EXPECT_EQ(fake.launches, 0);
  fake.launch_code = FERRY_DECLINED;
  expect(launch(a, b), FERRY_E_OTHER, {"check accepted"});
}

TEST_F(Validate, WhatThePluginReturns) {
  ferry_memory memory{};
  fake.next_handle = block_.handle;
  expect(device_->allocator().allocate(hal::Space::kDevice, 8, &memory), FERRY_E_OTHER,
         {"alloc", "which is alive"});
  fake.copy_code = -1234;
  expect(upload(0, 4), FERRY_E_OTHER, {"unknown code -1234"});
  fake.free_bytes = 3;
  uint64_t free_bytes = 0, total = 0;
  expect(device_->memory_info(&free_bytes, &total), FERRY_E_OTHER, {"3 of 2 bytes"});
  std::unique_ptr<hal::Device> device;
  expect(backend_->open(2, &device), FERRY_E_ARG, {"index 2 of 2"});
}

}  // namespace
}  // namespace ferry::runtime::layers
