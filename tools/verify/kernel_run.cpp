// SPDX-License-Identifier: Apache-2.0
//
// Placing tensors, launching, and reading back.
#include "kernel_run.h"

#include <cstring>

#include "check.h"
#include "ferry/dtype.h"

namespace ferry::verify {
namespace {

template <class T>
void put(uint8_t* to, T value) {
  std::memcpy(to, &value, sizeof value);
}
template <class T>
T take(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// `value` is one that the dtype holds.
void encode(ferry_dtype dtype, double value, uint8_t* to) {
  switch (dtype) {
    case FERRY_I8:
      return put(to, static_cast<int8_t>(value));
    case FERRY_I16:
      return put(to, static_cast<int16_t>(value));
    case FERRY_I32:
      return put(to, static_cast<int32_t>(value));
    case FERRY_I64:
      return put(to, static_cast<int64_t>(value));
    case FERRY_F16:
      return put(to, Half(static_cast<float>(value)).bits);
    case FERRY_BF16:
      return put(to, BFloat16(static_cast<float>(value)).bits);
    case FERRY_F32:
      return put(to, static_cast<float>(value));
    case FERRY_F64:
      return put(to, value);
    default:
      return put(to, static_cast<uint8_t>(value));
  }
}

double decode(ferry_dtype dtype, const uint8_t* from) {
  Half half;
  BFloat16 brain;
  switch (dtype) {
    case FERRY_I8:
      return take<int8_t>(from);
    case FERRY_I16:
      return take<int16_t>(from);
    case FERRY_I32:
      return take<int32_t>(from);
    case FERRY_I64:
      return static_cast<double>(take<int64_t>(from));
    case FERRY_F16:
      half.bits = take<uint16_t>(from);
      return static_cast<float>(half);
    case FERRY_BF16:
      brain.bits = take<uint16_t>(from);
      return static_cast<float>(brain);
    case FERRY_F32:
      return take<float>(from);
    case FERRY_F64:
      return take<double>(from);
    default:
      return take<uint8_t>(from);
  }
}

}  // namespace

/// A tensor in a block of its own, and the block's bytes as they were.
struct KernelRunner::Placed {
  ferry_tensor tensor{};
  Bytes image;

  uint64_t numel() const {
    uint64_t n = 1;
    for (uint32_t d = 0; d < tensor.ndim; ++d) n *= static_cast<uint64_t>(tensor.shape[d]);
    return n;
  }
  /// Where element `number`, in row-major order, begins in the block.
  uint64_t byte_of(uint64_t number) const {
    auto rest = static_cast<int64_t>(number);
    int64_t at = 0;
    for (uint32_t d = tensor.ndim; d-- > 0;) {
      at += rest % tensor.shape[d] * tensor.stride[d];
      rest /= tensor.shape[d];
    }
    return tensor.at.offset + static_cast<uint64_t>(at) * item_size(tensor.dtype);
  }
};

KernelRunner::KernelRunner(const std::string& path) : bench_(path) {
  try {
    stream_ = std::make_unique<OpenStream>(streams_of(bench_.plugin, bench_.device), bench_.device);
  } catch (const NotApplicable&) {
    // Then all launches are synchronous.
  }
}

std::vector<const ferry_kernel*> KernelRunner::kernels_of(const std::string& family) const {
  std::vector<const ferry_kernel*> out;
  for (const ferry_kernel* kernel : bench_.plugin.kernels()) {
    const std::string name = kernel->family == nullptr ? "" : kernel->family;
    if (name.substr(0, name.find('/')) == family && kernel->launch != nullptr) {
      out.push_back(kernel);
    }
  }
  return out;
}

KernelRunner::Placed KernelRunner::place(ferry_dtype dtype, const std::vector<int64_t>& shape,
                                         uint32_t repeated, const Layout& layout) {
  Placed placed;
  ferry_tensor& t = placed.tensor;
  t.dtype = dtype;
  t.ndim = static_cast<uint32_t>(shape.size());
  int64_t next = layout.strides == Layout::kGaps ? 2 : 1;
  int64_t last = 0;
  for (uint32_t k = 0; k < t.ndim; ++k) {
    const uint32_t d = layout.strides == Layout::kTurned ? k : t.ndim - 1 - k;
    t.shape[d] = shape[d];
    const bool repeats = layout.strides != Layout::kContiguous && (repeated >> d & 1) != 0;
    t.stride[d] = repeats ? 0 : next;
    last += (shape[d] - 1) * t.stride[d];
    if (!repeats) next *= shape[d] + (layout.strides == Layout::kGaps ? 1 : 0);
  }
  const uint64_t item = item_size(dtype);
  const uint64_t bytes = (layout.before + static_cast<uint64_t>(last) + 1) * item + layout.after;
  placed.image = pattern(bytes, static_cast<uint32_t>(bytes));
  t.at = {bench_.device.alloc(bytes), layout.before * item};
  return placed;
}

void KernelRunner::look(const KernelCase& c, std::vector<Placed>& in, std::vector<Placed>& out,
                        Seen* seen) {
  for (const Placed& placed : in) {
    const Bytes now = bench_.device.read(placed.tensor.at.memory, placed.image.size());
    const std::string wrong = difference(now, placed.image);
    if (seen->inputs.empty() && !wrong.empty()) {
      seen->inputs = fmt::format("{}: of an input's block {}", c.name, wrong);
    }
  }
  for (Placed& placed : out) {
    Bytes now = bench_.device.read(placed.tensor.at.memory, placed.image.size());
    const uint64_t item = item_size(placed.tensor.dtype);
    Array values(
        std::vector<int64_t>(placed.tensor.shape, placed.tensor.shape + placed.tensor.ndim));
    Bytes raw;
    for (uint64_t i = 0; i < placed.numel(); ++i) {
      uint8_t* const at = now.data() + placed.byte_of(i);
      values.data[i] = decode(placed.tensor.dtype, at);
      raw.insert(raw.end(), at, at + item);
      std::memcpy(at, placed.image.data() + placed.byte_of(i), item);
    }
    seen->out.push_back(std::move(values));
    seen->raw.push_back(std::move(raw));
    const std::string wrong = difference(now, placed.image);
    if (!seen->outside.empty() || wrong.empty()) continue;
    seen->outside =
        fmt::format("{}: of an output's block, whose elements begin at byte {} and number {}, {}",
                    c.name, placed.tensor.at.offset, placed.numel(), wrong);
  }
}

ferry_rc KernelRunner::answer_of(const ferry_kernel& kernel, const KernelCase& c,
                                 const Layout& layout, Seen* seen, bool* declined) {
  OpenDevice& device = bench_.device;
  std::vector<Placed> in, out;
  std::vector<ferry_tensor> in_tensors, out_tensors;
  for (const Operand& operand : c.in) {
    Placed placed = place(operand.dtype, operand.values.shape, operand.repeated, layout);
    for (uint64_t i = 0; i < placed.numel(); ++i) {
      encode(operand.dtype, operand.values.data[i], placed.image.data() + placed.byte_of(i));
    }
    in_tensors.push_back(placed.tensor);
    in.push_back(std::move(placed));
  }
  for (const Output& output : c.out) {
    out.push_back(place(output.dtype, output.shape, 0, layout));
    out_tensors.push_back(out.back().tensor);
  }
  for (std::vector<Placed>* list : {&in, &out}) {
    for (Placed& p : *list) device.h2d({p.tensor.at.memory, 0}, p.image.data(), p.image.size());
  }
  std::optional<ferry_program> program;
  if (c.map) program = c.map->table();
  std::vector<uint64_t> attr = c.attr;
  ferry_call call{};
  call.size = sizeof call;
  call.n_in = static_cast<uint32_t>(in_tensors.size());
  call.n_out = static_cast<uint32_t>(out_tensors.size());
  call.in = in_tensors.data();
  call.out = out_tensors.data();
  call.attr = attr.empty() ? nullptr : attr.data();
  call.map = program ? &*program : nullptr;
  call.device = device.handle();
  call.stream = layout.on_stream && stream_ ? stream_->handle() : nullptr;
  ferry_rc rc = FERRY_OK;
  *declined = true;
  if (kernel.check != nullptr) {
    step("check of " + c.name);
    rc = kernel.check(&kernel, &call);
  }
  if (rc == FERRY_OK && kernel.scratch != nullptr) {
    call.scratch_bytes = kernel.scratch(&kernel, &call);
    if (call.scratch_bytes > 0) call.scratch.memory = device.alloc(call.scratch_bytes);
  }
  if (rc == FERRY_OK) {
    step("launch of " + c.name);
    rc = kernel.launch(&kernel, &call);
    *declined = rc == FERRY_DECLINED && kernel.check == nullptr;
  }
  // The host's arrays live until the call returns, and no longer.
  std::memset(in_tensors.data(), 0xee, in_tensors.size() * sizeof(ferry_tensor));
  std::memset(out_tensors.data(), 0xee, out_tensors.size() * sizeof(ferry_tensor));
  for (uint64_t& word : attr) word = ~uint64_t{0};
  if (program) std::memset(&*program, 0xee, sizeof *program);
  if (rc == FERRY_OK) {
    step("waiting for " + c.name);
    rc = device.core().sync(device.handle(), call.stream);
  }
  look(c, in, out, seen);
  for (std::vector<Placed>* list : {&in, &out}) {
    for (Placed& p : *list) device.release(p.tensor.at.memory);
  }
  if (call.scratch.memory.handle != 0) device.release(call.scratch.memory);
  return rc;
}

bool KernelRunner::run(const ferry_kernel& kernel, const KernelCase& c, const Layout& layout,
                       Seen* seen) {
  *seen = Seen();
  bool declined = false;
  const ferry_rc rc = answer_of(kernel, c, layout, seen, &declined);
  if (rc == FERRY_DECLINED && declined) return false;
  expect(rc != FERRY_DECLINED, "{}: launch gives FERRY_DECLINED for a call that check accepted",
         c.name);
  expect(rc == FERRY_OK, "{}: gives {}, not FERRY_OK{}", c.name, rc_name(rc), own_words());
  return true;
}

ferry_rc KernelRunner::try_run(const ferry_kernel& kernel, const KernelCase& c, Seen* seen) {
  *seen = Seen();
  bool declined = false;
  return answer_of(kernel, c, Layout{64, 64}, seen, &declined);
}

}  // namespace ferry::verify
