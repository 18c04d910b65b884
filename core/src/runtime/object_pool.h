// SPDX-License-Identifier: Apache-2.0
//
// ObjectPool: memory of small objects that are made and destroyed all the time,
// kept by each thread.
#ifndef FERRY_RUNTIME_OBJECT_POOL_H
#define FERRY_RUNTIME_OBJECT_POOL_H

#include <cstddef>
#include <new>

namespace ferry::detail {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kPoolObjects = false;  // so that it sees uses after the end
#elif defined(__has_feature)
inline constexpr bool kPoolObjects = !__has_feature(address_sanitizer);
#else
inline constexpr bool kPoolObjects = true;
#endif

/// For `operator new` and `operator delete` of T, which may be called on
/// different threads. A thread keeps at most kMost pieces and frees them when
/// it ends.
template <class T>
class ObjectPool {
 public:
  static void* take(size_t bytes) {
    if (kPoolObjects && free_.count > 0) return free_.pieces[--free_.count];
    return ::operator new(bytes);
  }
  static void give(void* piece) noexcept {
    if (!kPoolObjects || free_.ended || free_.count == kMost) {
      ::operator delete(piece);
      return;
    }
    ender_.armed = true;  // from now on there is something to free
    free_.pieces[free_.count++] = piece;
  }

 private:
  static constexpr size_t kMost = 32;
  // Plain data, which stays usable while the thread's other objects go.
  struct Free {
    size_t count;
    bool ended;
    void* pieces[kMost];
  };
  struct Ender {
    bool armed = false;
    ~Ender() {
      free_.ended = true;
      while (free_.count > 0) ::operator delete(free_.pieces[--free_.count]);
    }
  };
  static thread_local Free free_;
  static thread_local Ender ender_;
};

template <class T>
thread_local typename ObjectPool<T>::Free ObjectPool<T>::free_{};
template <class T>
thread_local typename ObjectPool<T>::Ender ObjectPool<T>::ender_;

}  // namespace ferry::detail

#endif  // FERRY_RUNTIME_OBJECT_POOL_H
