// SPDX-License-Identifier: Apache-2.0
//
// One simulated device: its memory and the streams it has.
#ifndef FERRY_SIM_DEVICE_H
#define FERRY_SIM_DEVICE_H

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ferry/hal/device.h"
#include "memory.h"
#include "stream.h"

namespace ferry::sim {

class SimDevice final : public hal::Device {
 public:
  explicit SimDevice(uint32_t index);
  ~SimDevice() override;
  SimDevice(const SimDevice&) = delete;
  SimDevice& operator=(const SimDevice&) = delete;

  hal::Allocator& allocator() override { return memory_; }
  hal::Status copy_from_host(hal::Stream* stream, ferry_location dst, const void* src,
                             uint64_t bytes) override;
  hal::Status copy_to_host(hal::Stream* stream, void* dst, ferry_location src,
                           uint64_t bytes) override;
  hal::Status copy(hal::Stream* stream, ferry_location dst, ferry_location src,
                   uint64_t bytes) override;
  hal::Status fill(hal::Stream* stream, ferry_location dst, uint8_t value, uint64_t bytes) override;
  hal::Status copy_from_peer(hal::Stream* stream, ferry_location dst, hal::Device& source,
                             ferry_location src, uint64_t bytes) override;
  hal::Status synchronize() override;
  hal::Status create_stream(int32_t priority, std::unique_ptr<hal::Stream>* stream) override;
  hal::Status create_event(std::unique_ptr<hal::Event>* event) override;
  hal::Status memory_info(uint64_t* free_bytes, uint64_t* total_bytes) override;

  Memory& memory() noexcept { return memory_; }
  const std::string& name() const noexcept { return name_; }

  /// Ends the threads of all streams, after their work. Nothing follows.
  void quiesce();

  /// Gives work to the stream, or with null does it now, after all other work.
  hal::Status run(hal::Stream* stream, const char* where, Work work);

 private:
  Outcome copy_now(char* dst, const char* src, uint64_t bytes);
  /// Blocks until all work is done; leaves its errors where they are.
  std::vector<std::shared_ptr<Queue>> wait_idle();
  hal::Status require_present(const char* where);

  std::string name_;
  Memory memory_;
  const LostFlag lost_ = std::make_shared<std::atomic<bool>>(false);
  std::mutex mutex_;
  std::vector<std::weak_ptr<Queue>> queues_;
};

/// SimDevice::quiesce() of every open device.
void quiesce_devices();

}  // namespace ferry::sim

#endif  // FERRY_SIM_DEVICE_H
