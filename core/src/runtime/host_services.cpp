// SPDX-License-Identifier: Apache-2.0
//
// The table of host services, one for each plugin name.
#include "runtime/host_services.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>

#include "ferry/hal/status.h"
#include "runtime/log.h"

namespace ferry::runtime {
namespace {

// Fixed sizes: reporting a failure must work without memory, and a plugin's
// text may have any length. No destructor, so that it works at thread exit.
struct ThreadTexts {
  char where[64];
  char text[2048];
  char log_line[512];
};
thread_local ThreadTexts texts;

template <size_t N>
void copy_text(char (&dst)[N], const char* src) noexcept {
  const size_t length = src == nullptr ? 0 : strnlen(src, N);
  size_t kept = std::min(length, N - 1);
  if (length == N) {
    // Not into the middle of a UTF-8 sequence.
    while (kept > 0 && (static_cast<unsigned char>(src[kept]) & 0xc0) == 0x80) --kept;
  }
  if (kept > 0) std::memcpy(dst, src, kept);
  dst[kept] = '\0';
}

ferry_rc keep_failure(ferry_rc code, const char* where, const char* text) noexcept {
  copy_text(texts.where, where);
  copy_text(texts.text, text);
  return code;
}

std::atomic<DeviceLostHandler> lost_handler{nullptr};

// A C function has no context argument, so each plugin name gets functions of
// its own: instantiation I serves the name in slot I. Slot 0 has none.
constexpr size_t kSlots = 128;
struct Slots {
  std::mutex mutex;
  size_t used = 1;
  std::array<std::string, kSlots> names;
};
Slots& slots() {
  static auto* const object = new Slots();
  return *object;
}

void log_for(const std::string& name, int32_t level, const char* text) noexcept {
  if (text == nullptr) return;
  copy_text(texts.log_line, text);
  const int32_t known = std::clamp<int32_t>(level, FERRY_LOG_ERROR, FERRY_LOG_DEBUG);
  log(static_cast<LogLevel>(known), name.empty() ? std::string_view("plugin") : name, text);
}

const char* option_for(const std::string& name, const char* key) noexcept {
  if (key == nullptr || name.empty()) return nullptr;
  try {
    thread_local std::string value;
    std::string variable = "FERRY_" + name + "_" + key;
    for (char& c : variable) {
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
    const char* found = secure_getenv(variable.c_str());
    if (found == nullptr) return nullptr;
    value = found;
    return value.c_str();
  } catch (...) {
    return nullptr;
  }
}

void device_lost_for(const std::string& name, ferry_device device, const char* text) noexcept {
  const char* reason = text == nullptr ? "no reason given" : text;
  log_for(name, FERRY_LOG_ERROR, reason);
  if (DeviceLostHandler handler = lost_handler.load(std::memory_order_acquire)) {
    (void)guarded("device_lost", [&] {
      handler(device, reason);
      return FERRY_OK;
    });
  }
}

template <size_t I>
constexpr ferry_host make_host() {
  return {sizeof(ferry_host),
          FERRY_ABI_MINOR,
          &keep_failure,
          [](int32_t level, const char* text) { log_for(slots().names[I], level, text); },
          [](const char* key) { return option_for(slots().names[I], key); },
          [](ferry_device device, const char* text) {
            device_lost_for(slots().names[I], device, text);
          }};
}

template <size_t... I>
constexpr std::array<ferry_host, kSlots> make_hosts(std::index_sequence<I...>) {
  return {make_host<I>()...};
}

constexpr std::array<ferry_host, kSlots> kHosts = make_hosts(std::make_index_sequence<kSlots>());

}  // namespace

const ferry_host& host_services() {
  static const bool bound = [] {
    hal::fail_function() = &keep_failure;
    return true;
  }();
  (void)bound;
  return kHosts[0];
}

const ferry_host* host_services_for(std::string_view name) {
  (void)host_services();
  Slots& table = slots();
  std::lock_guard lock(table.mutex);
  for (size_t i = 1; i < table.used; ++i) {
    if (table.names[i] == name) return &kHosts[i];
  }
  if (table.used == kSlots) return nullptr;
  table.names[table.used] = name;
  return &kHosts[table.used++];
}

std::string take_failure() {
  std::string result = texts.where;
  if (!result.empty() && texts.text[0] != '\0') result += ": ";
  result += texts.text;
  texts.where[0] = texts.text[0] = '\0';
  return result;
}

std::string take_log_line() {
  std::string result = texts.log_line;
  texts.log_line[0] = '\0';
  return result;
}

void set_device_lost_handler(DeviceLostHandler handler) noexcept {
  lost_handler.store(handler, std::memory_order_release);
}

ferry_rc fail_from_exception(const char* where) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return keep_failure(FERRY_E_OOM, where, "the plugin threw std::bad_alloc");
  } catch (const std::exception& e) {
    char text[sizeof texts.text] = "the plugin threw an exception: ";
    std::strncat(text, e.what(), sizeof text - std::strlen(text) - 1);
    return keep_failure(FERRY_E_OTHER, where, text);
  } catch (...) {
    return keep_failure(FERRY_E_OTHER, where, "the plugin threw something that is no exception");
  }
}

}  // namespace ferry::runtime
