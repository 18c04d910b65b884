// SPDX-License-Identifier: Apache-2.0
//
// The random operations, each beside what it does to the expected elements.
#include "player.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ferry/error.h"
#include "ferry/memory.h"
#include "ferry/ops.h"

namespace ferry::stress {
namespace {

constexpr int64_t kMostToys = 24;
constexpr int32_t kMostValue = 1 << 20;
constexpr DType kDTypes[] = {kI32, kI64, kF32, kF64};

std::vector<int32_t> read(const Tensor& tensor) { return tensor.to(kI32).to_vector<int32_t>(); }

}  // namespace

void Playground::complain(const std::string& text) {
  const std::lock_guard lock(mutex);
  if (wrong.empty()) wrong = text;
  stop = true;
}

void Playground::collect_faults() {
  for (const Device& device : devices) {
    try {
      synchronize(device);
    } catch (const DeviceError&) {
      ++reported;
    }
  }
}

const Device& Player::any_device() {
  const auto most = static_cast<int64_t>(ground_.devices.size());
  return ground_.devices[static_cast<size_t>(random_.below(most))];
}

void Player::create() {
  const int64_t most = random_.chance(64) ? ground_.largest * 64 : ground_.largest;
  const int64_t n = random_.chance(50) ? 0 : 1 + random_.below(random_.chance(2) ? 64 : most);
  const DType dtype = kDTypes[random_.below(4)];
  const auto first = static_cast<int32_t>(random_.below(1000));
  Toy toy;
  toy.known_at = ground_.reported;
  toy.values.assign(static_cast<size_t>(n), first);
  const TensorOptions options(dtype, any_device());
  if (random_.chance(3)) {
    for (size_t i = 0; i < toy.values.size(); ++i) toy.values[i] += static_cast<int32_t>(i);
    toy.tensor = arange(first, first + n, 1, options);
  } else if (random_.chance(2)) {
    for (int32_t& v : toy.values) v = static_cast<int32_t>(random_.below(1000));
    toy.tensor = from_host(toy.values.data(), kI32, {n}, any_device());
  } else {
    toy.tensor = full({n}, first, options);
  }
  toys_.push_back(std::move(toy));
}

void Player::move(Toy& toy) {
  const Device& target = any_device();
  const ToOptions options{.non_blocking = random_.chance(2), .copy = random_.chance(4)};
  if (random_.chance(8)) toy.tensor = toy.tensor.cpu().pin_memory();
  if (random_.chance(3)) {
    toy.tensor = toy.tensor.to(target, kDTypes[random_.below(4)], options);
  } else {
    toy.tensor = toy.tensor.to(target, options);
  }
}

void Player::compute(Toy& toy) {
  const int32_t by = 1 + static_cast<int32_t>(random_.below(3));
  toy.tensor = toy.tensor * by - 7;
  bool large = false;
  for (int32_t& v : toy.values) {
    v = v * by - 7;
    large = large || v > kMostValue;
  }
  if (!large) return;
  toy.tensor = minimum(toy.tensor, 1000);
  for (int32_t& v : toy.values) v = std::min(v, 1000);
}

void Player::write(Toy& toy) {
  const int64_t n = toy.tensor.dim() == 1 ? toy.tensor.numel() : 0;
  if (n == 0) return;
  const int64_t begin = random_.below(n);
  const int64_t step = 1 + random_.below(3);
  const Tensor part = toy.tensor.slice(0, begin, n, step);
  const auto value = static_cast<int32_t>(random_.below(1000));
  // From another device now and then.
  if (random_.chance(2)) {
    part.fill_(value);
  } else {
    part.copy_(full({1}, value, TensorOptions(kI32, any_device())));
  }
  for (int64_t i = begin; i < n; i += step) toy.values[static_cast<size_t>(i)] = value;
}

void Player::combine(Toy& toy) {
  Toy& other = any_toy();
  if (other.values.size() != toy.values.size() || other.tensor.shape() != toy.tensor.shape()) {
    return;
  }
  const Tensor there = other.tensor.to(toy.tensor.device(), {.non_blocking = random_.chance(2)});
  toy.tensor = maximum(toy.tensor, there);
  toy.known_at = std::min(toy.known_at, other.known_at);
  for (size_t i = 0; i < toy.values.size(); ++i) {
    toy.values[i] = std::max(toy.values[i], other.values[i]);
  }
}

void Player::cut(Toy& toy) {
  if (toy.tensor.dim() != 1 || toy.values.empty()) return;
  const auto n = static_cast<int64_t>(toy.values.size());
  const int64_t begin = random_.below(n);
  const int64_t length = random_.below(n - begin) + 1;
  Tensor part = toy.tensor.narrow(0, begin, length);
  toy.tensor = random_.chance(2) ? part : part.clone();
  toy.values = {toy.values.begin() + begin, toy.values.begin() + begin + length};
}

/// [n] to [c, r], which lies as [r, c] did; and back.
void Player::turn(Toy& toy) {
  if (toy.tensor.dim() == 2) {
    toy.tensor = toy.tensor.contiguous().flatten();
    return;
  }
  const auto n = static_cast<int64_t>(toy.values.size());
  const int64_t rows = 2 + random_.below(5);
  if (n == 0 || n % rows != 0) return;
  const int64_t columns = n / rows;
  toy.tensor = toy.tensor.contiguous().view({rows, columns}).t();
  std::vector<int32_t> turned;
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = 0; r < rows; ++r) {
      turned.push_back(toy.values[static_cast<size_t>(r * columns + c)]);
    }
  }
  toy.values = std::move(turned);
}

void Player::pass_on() {
  Toy mine = std::move(any_toy());
  std::erase_if(toys_, [](const Toy& t) { return !t.tensor.defined(); });
  Toy other;
  {
    const std::lock_guard lock(ground_.mutex);
    ground_.passed_on.push_back(std::move(mine));
    if (ground_.passed_on.size() > 8) {
      other = std::move(ground_.passed_on.front());
      ground_.passed_on.pop_front();
    }
  }
  if (other.tensor.defined()) toys_.push_back(std::move(other));
}

void Player::check(Toy& toy) {
  ++ground_.checks;
  const int64_t before = ground_.reported;
  if (read(toy.tensor) == toy.values) {
    toy.known_at = std::max(toy.known_at, before);
    return;
  }
  // A wrong result must have been announced by an error, to whichever thread.
  ground_.collect_faults();
  if (ground_.faults && ground_.reported > toy.known_at) {
    ++ground_.spoilt;
    forget(toy);
    return;
  }
  const std::vector<int32_t> got = read(toy.tensor);
  const size_t at = static_cast<size_t>(
      std::mismatch(got.begin(), got.end(), toy.values.begin(), toy.values.end()).first -
      got.begin());
  ground_.complain("element " + std::to_string(at) + " of " + std::to_string(toy.values.size()) +
                   " on " + toy.tensor.device().str() + " is " +
                   (at < got.size() ? std::to_string(got[at]) : "absent") + ", not " +
                   (at < toy.values.size() ? std::to_string(toy.values[at]) : "absent"));
}

void Player::check_all() {
  while (!toys_.empty()) {
    try {
      check(toys_.back());
    } catch (const DeviceError&) {
      ++ground_.reported;
    } catch (const OutOfMemoryError&) {
      ++ground_.out_of_memory;
    }
    if (!toys_.empty()) toys_.pop_back();
  }
}

void Player::forget(const Toy& toy) {
  const Toy* const end = toys_.data() + toys_.size();
  if (&toy >= toys_.data() && &toy < end) toys_.erase(toys_.begin() + (&toy - toys_.data()));
}

void Player::tidy() {
  if (random_.chance(4)) {
    empty_cache(any_device());
  } else if (random_.chance(4)) {
    synchronize(any_device());
  } else {
    (void)memory_snapshot(any_device());
    (void)memory_stats(any_device());
  }
}

void Player::drop_some() {
  while (count() > kMostToys / 3) toys_.erase(toys_.begin() + random_.below(count()));
}

void Player::step() {
  std::optional<StreamGuard> guard;
  if (!random_.chance(4)) {
    const auto most = static_cast<int64_t>(ground_.streams.size());
    guard.emplace(ground_.streams[static_cast<size_t>(random_.below(most))]);
  }
  if (count() >= kMostToys) drop_some();
  if (toys_.empty() || random_.chance(4)) return create();
  if (random_.chance(300)) return tidy();
  if (random_.chance(60)) return pass_on();
  // On a copy: where the operation fails, nothing is known of its target.
  Toy& chosen = any_toy();
  Toy toy = std::move(chosen);
  chosen = std::move(toys_.back());
  toys_.pop_back();
  switch (toys_.empty() ? random_.below(6) : random_.below(8)) {
    case 0:
    case 1:
      move(toy);
      break;
    case 2:
      compute(toy);
      break;
    case 3:
      write(toy);
      break;
    case 4:
      cut(toy);
      break;
    case 5:
      turn(toy);
      break;
    case 6:
      combine(toy);
      break;
    default:
      toys_.push_back(std::move(toy));
      return check(toys_.back());
  }
  toys_.push_back(std::move(toy));
}

void Player::play(int64_t operations) {
  for (int64_t i = 0; i < operations && !ground_.stop; ++i) {
    try {
      step();
    } catch (const OutOfMemoryError&) {
      ++ground_.out_of_memory;
      drop_some();
    } catch (const DeviceError& e) {
      ++ground_.reported;
      if (!ground_.faults) ground_.complain(e.what());
    } catch (const std::exception& e) {
      ground_.complain(e.what());
    }
    ++ground_.operations;
  }
}

}  // namespace ferry::stress
