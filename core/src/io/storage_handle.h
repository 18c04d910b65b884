// SPDX-License-Identifier: Apache-2.0
//
// StorageHandle: owns one reference to a storage while it is being filled.
#ifndef FERRY_IO_STORAGE_HANDLE_H
#define FERRY_IO_STORAGE_HANDLE_H

#include <utility>

#include "runtime/storage.h"

namespace ferry::io {

class StorageHandle {
 public:
  StorageHandle() = default;
  /// Takes the reference over.
  explicit StorageHandle(ferry::detail::Storage* storage) noexcept : storage_(storage) {}
  StorageHandle(StorageHandle&& other) noexcept
      : storage_(std::exchange(other.storage_, nullptr)) {}
  StorageHandle& operator=(StorageHandle&& other) noexcept {
    std::swap(storage_, other.storage_);
    return *this;
  }
  ~StorageHandle() {
    if (storage_ != nullptr) ferry::detail::release(storage_);
  }
  ferry::detail::Storage* get() const noexcept { return storage_; }

 private:
  ferry::detail::Storage* storage_ = nullptr;
};

}  // namespace ferry::io

#endif  // FERRY_IO_STORAGE_HANDLE_H
