// SPDX-License-Identifier: Apache-2.0
//
// Convolution through oneDNN: serial primitives, kept for the next call of the
// same shape, on parts of the batch and of the output channels.
#include <algorithm>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "conv_shape.h"
#include "matmul_product.h"
#include "onednn.h"
#include "parallel.h"

namespace ferry::cpu {
namespace {

using dnnl::memory;
using Primitive = dnnl::convolution_forward;

constexpr int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// A part of a call: `images` of the batch, and `groups` of its groups or, where
/// there is one group, `outputs` of its output channels.
struct Part {
  ConvShape whole;
  int64_t images, groups, outputs;

  bool operator==(const Part&) const = default;
  int64_t channels() const { return groups * whole.group_channels(); }
};

/// A change of layout.
struct Order {
  memory::desc from, to;
  dnnl::reorder::primitive_desc desc;
  dnnl::reorder primitive;

  Order(const memory::desc& from, const memory::desc& to);
  void run(const void* source, void* target) const;
};

/// A serial convolution of one Part, with the changes of layout that its fast
/// implementation wants. Immutable; any thread may execute it.
class SerialConv {
 public:
  /// Throws dnnl::error where oneDNN has none.
  explicit SerialConv(const Part& part);

  /// False where only oneDNN's slow reference code would do it.
  bool fast() const { return primitive_.has_value(); }
  /// Bytes of an operand in the layout that execute() wants; 0 where that is
  /// the plain one.
  int64_t x_bytes() const { return bytes(x_order_); }
  int64_t weight_bytes() const { return bytes(weight_order_); }
  void arrange_x(const void* x, void* to) const { x_order_->run(x, to); }
  void arrange_weight(const void* weight, void* to) const { weight_order_->run(weight, to); }
  void execute(const void* x, const void* weight, const void* bias, void* out) const;

 private:
  static int64_t bytes(const std::optional<Order>& order) {
    return order ? static_cast<int64_t>(order->to.get_size()) : 0;
  }
  static void set_order(std::optional<Order>& order, const memory::desc& from,
                        const memory::desc& to) {
    if (!(from == to)) order.emplace(from, to);
  }

  memory::desc bias_, plain_out_;
  Primitive::primitive_desc conv_;
  std::optional<Primitive> primitive_;
  std::optional<Order> x_order_, weight_order_, out_order_;
};

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attr;
  // Memory of each execution's own, so that threads may share a primitive.
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

/// `front`, then the spatial sizes that the call has.
memory::dims dims(std::initializer_list<int64_t> front, const ConvShape::Sizes& sizes,
                  int64_t spatial) {
  memory::dims all(front);
  all.insert(all.end(), sizes.end() - spatial, sizes.end());
  return all;
}

/// A dense tensor [batch, channels, area] seen as `shape`, a part of it.
memory::desc plain(const memory::dims& shape, int64_t all_channels) {
  memory::dims strides(shape.size(), 1);
  for (size_t d = shape.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * shape[d + 1];
  strides[0] = strides[1] * all_channels;
  return {shape, memory::data_type::f32, strides};
}

/// The layout that oneDNN likes best.
memory::desc any(const memory::dims& shape) {
  return {shape, memory::data_type::f32, memory::format_tag::any};
}

memory::dims weight_dims(const Part& p) {
  const ConvShape& s = p.whole;
  if (s.groups == 1) return dims({p.outputs, s.channels}, s.kernel, s.spatial);
  return dims({p.groups, s.group_outputs(), s.group_channels()}, s.kernel, s.spatial);
}

Primitive::primitive_desc describe(const ConvShape& s, const memory::desc& x,
                                   const memory::desc& weight, const memory::desc& bias,
                                   const memory::desc& out) {
  const auto kind = dnnl::prop_kind::forward_inference;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const memory::dims stride = dims({}, s.stride, s.spatial);
  const memory::dims padding = dims({}, s.padding, s.spatial);
  memory::dims dilation = dims({}, s.dilation, s.spatial);
  for (int64_t& d : dilation) --d;  // oneDNN counts the gaps
  const dnnl::engine& engine = onednn_engine();
#if DNNL_VERSION_MAJOR >= 3
  if (s.has_bias != 0) {
    return {engine, kind,   algorithm, x,       weight,  bias,
            out,    stride, dilation,  padding, padding, attributes()};
  }
  return {engine, kind,     algorithm, x,       weight,      out,
          stride, dilation, padding,   padding, attributes()};
#else
  if (s.has_bias != 0) {
    return {{kind, algorithm, x, weight, bias, out, stride, dilation, padding, padding},
            attributes(),
            engine};
  }
  return {
      {kind, algorithm, x, weight, out, stride, dilation, padding, padding}, attributes(), engine};
#endif
}

/// oneDNN only reads what is an input.
memory wrap(const memory::desc& desc, const void* data) {
  return {desc, onednn_engine(), const_cast<void*>(data)};
}

Order::Order(const memory::desc& source, const memory::desc& target)
    : from(source),
      to(target),
      desc(onednn_engine(), source, onednn_engine(), target, attributes()),
      primitive(desc) {}

void Order::run(const void* source, void* target) const {
  run_serial([&] {
    const memory::desc scratch = desc.scratchpad_desc();
    const Workspace space(static_cast<int64_t>(scratch.get_size()));
    primitive.execute(onednn_stream(), {{DNNL_ARG_FROM, wrap(from, source)},
                                        {DNNL_ARG_TO, wrap(to, target)},
                                        {DNNL_ARG_SCRATCHPAD, wrap(scratch, space.data())}});
    onednn_stream().wait();
  });
}

SerialConv::SerialConv(const Part& p) {
  const ConvShape& s = p.whole;
  const memory::dims x_dims = dims({p.images, p.channels()}, s.in, s.spatial);
  const memory::dims out_dims = dims({p.images, p.outputs}, s.out, s.spatial);
  const memory::dims w_dims = weight_dims(p);
  plain_out_ = plain(out_dims, s.outputs);
  bias_ = memory::desc({p.outputs}, memory::data_type::f32, memory::format_tag::x);
  run_serial([&] {
    conv_ = describe(s, any(x_dims), any(w_dims), bias_, any(out_dims));
    const std::string_view name = conv_.impl_info_str();
    if (name.substr(0, 3) == "ref") return;
    set_order(x_order_, plain(x_dims, s.channels), conv_.src_desc());
    set_order(weight_order_, plain(w_dims, w_dims[1]), conv_.weights_desc());
    set_order(out_order_, conv_.dst_desc(), plain_out_);
    primitive_.emplace(conv_);
  });
}

void SerialConv::execute(const void* x, const void* weight, const void* bias, void* out) const {
  run_serial([&] {
    const memory::desc scratch = conv_.scratchpad_desc();
    const Workspace space(static_cast<int64_t>(scratch.get_size()));
    const Workspace ordered(out_order_ ? static_cast<int64_t>(conv_.dst_desc().get_size()) : 0);
    void* const target = out_order_ ? ordered.data() : out;
    std::unordered_map<int, memory> arguments = {
        {DNNL_ARG_SRC, wrap(conv_.src_desc(), x)},
        {DNNL_ARG_WEIGHTS, wrap(conv_.weights_desc(), weight)},
        {DNNL_ARG_DST, wrap(conv_.dst_desc(), target)},
        {DNNL_ARG_SCRATCHPAD, wrap(scratch, space.data())}};
    if (bias != nullptr) arguments.emplace(DNNL_ARG_BIAS, wrap(bias_, bias));
    primitive_->execute(onednn_stream(), arguments);
    onednn_stream().wait();
    if (out_order_) out_order_->run(target, out);
  });
}

/// The convolutions of the shapes used last.
class Cache {
 public:
  using Entry = std::shared_ptr<const SerialConv>;

  /// Null where oneDNN has no fast implementation.
  Entry get(const Part& part) {
    if (const std::optional<Entry> found = find(part)) return *found;
    // Made without the lock: code generation takes milliseconds.
    Entry made;
    try {
      made = std::make_shared<const SerialConv>(part);
      if (!made->fast()) made = nullptr;
    } catch (const dnnl::error& e) {
      if (e.status == dnnl_out_of_memory) throw std::bad_alloc();
      if (e.status != dnnl_unimplemented && e.status != dnnl_invalid_arguments) throw;
    }
    const std::lock_guard lock(mutex_);
    entries_.emplace_front(part, made);
    if (entries_.size() > kMost) entries_.pop_back();
    return made;
  }

 private:
  static constexpr size_t kMost = 256;

  std::optional<Entry> find(const Part& part) {
    const std::lock_guard lock(mutex_);
    for (auto i = entries_.begin(); i != entries_.end(); ++i) {
      if (!(i->first == part)) continue;
      entries_.splice(entries_.begin(), entries_, i);
      return i->second;
    }
    return std::nullopt;
  }

  std::mutex mutex_;
  std::list<std::pair<Part, Entry>> entries_;
};

Cache& cache() {
  static auto* const object = new Cache();
  return *object;
}

/// The largest number of equal parts of `n`, at most `most`, of `least` or more.
int64_t equal_parts(int64_t n, int64_t most, int64_t least) {
  int64_t parts = std::min(most, n / least);
  while (parts > 1 && n % parts != 0) --parts;
  return std::max<int64_t>(parts, 1);
}

/// By the shape alone, so that the bits do not depend on the number of threads.
Part choose_part(const ConvShape& s) {
  constexpr int64_t kPieces = 16;
  constexpr int64_t kLeastProducts = int64_t{1} << 21;
  const int64_t products = s.image_products();
  Part part{s, 1, s.groups, s.outputs};
  part.whole.batch = 0;  // whatever it is, the part is the same
  part.images = std::clamp<int64_t>(kLeastProducts / 2 / products, 1, s.batch);
  if (s.batch >= kPieces || part.images > 1) return part;
  const int64_t wanted = std::min(divide_up(kPieces, s.batch), products / kLeastProducts);
  // Registers take 32 or 64 output channels at once; groups come by 16 where
  // they are narrow.
  if (s.groups == 1)
    part.outputs /= equal_parts(s.outputs, wanted, 32);
  else
    part.groups /= equal_parts(s.groups, wanted, s.group_outputs() < 16 ? 16 : 1);
  if (s.groups > 1) part.outputs = part.groups * s.group_outputs();
  return part;
}

/// A call in progress: parts of the output channels times pieces of the batch.
class Run {
 public:
  Run(const ConvShape& shape, const ConvData& data, const Part& part)
      : s_(shape),
        data_(data),
        part_(part),
        parts_(s_.outputs / part.outputs),
        shared_x_(s_.groups == 1 && parts_ > 1) {}

  bool prepare();
  void execute();

 private:
  const char* x_at(int64_t image, int64_t part) const {
    const int64_t channel = s_.groups == 1 ? 0 : part * part_.channels();
    return static_cast<const char*>(data_.x) + (image * s_.channels + channel) * s_.in_area() * 4;
  }
  void piece(int64_t first, int64_t part, const char* weights, const char* images) const;

  const ConvShape& s_;
  const ConvData& data_;
  const Part part_;
  const int64_t parts_;
  const bool shared_x_;  // all parts read the same channels
  Cache::Entry main_, last_;
};

bool Run::prepare() {
  main_ = cache().get(part_);
  if (main_ == nullptr) return false;
  Part rest = part_;
  rest.images = s_.batch % part_.images;
  last_ = rest.images == 0 ? main_ : cache().get(rest);
  return last_ != nullptr;
}

void Run::execute() {
  const int64_t pieces = divide_up(s_.batch, part_.images);
  // Weights in their layout, for the main primitive; the last one's may differ.
  const int64_t weight_bytes = main_->weight_bytes();
  const int64_t weight_step = part_.outputs * s_.group_channels() * s_.kernel_area() * 4;
  const Workspace weights(weight_bytes * parts_);
  const auto* plain = static_cast<const char*>(data_.weight);
  if (weight_bytes > 0) {
    parallel_for(parts_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        main_->arrange_weight(plain + i * weight_step, weights.as<char>() + i * weight_bytes);
      }
    });
  }
  const int64_t x_bytes = shared_x_ ? main_->x_bytes() : 0;
  const Workspace images(x_bytes * s_.batch);
  if (x_bytes > 0) {
    parallel_for(s_.batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        main_->arrange_x(x_at(i, 0), images.as<char>() + i * x_bytes);
      }
    });
  }
  const int64_t products = s_.image_products() * part_.images / parts_;
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 18) / products);
  parallel_for(pieces * parts_, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t part = i % parts_, first = i / parts_ * part_.images;
      piece(
          first, part,
          weight_bytes > 0 ? weights.as<char>() + part * weight_bytes : plain + part * weight_step,
          x_bytes > 0 ? images.as<char>() + first * x_bytes : nullptr);
    }
  });
}

/// The images from `first` on; `images` are they where they are arranged.
void Run::piece(int64_t first, int64_t part, const char* weights, const char* images) const {
  const bool whole = first + part_.images <= s_.batch;
  const SerialConv& conv = whole ? *main_ : *last_;
  const Workspace own_weights(whole ? 0 : conv.weight_bytes());
  if (!whole) {
    // parts_ is 1 here.
    weights = static_cast<const char*>(data_.weight);
    if (conv.weight_bytes() > 0) {
      conv.arrange_weight(weights, own_weights.data());
      weights = own_weights.as<char>();
    }
  }
  const Workspace own_images(images == nullptr ? conv.x_bytes() : 0);
  const void* x = images;
  if (images == nullptr) {
    x = x_at(first, part);
    if (conv.x_bytes() > 0) {
      conv.arrange_x(x, own_images.data());
      x = own_images.data();
    }
  }
  const auto* bias = static_cast<const float*>(data_.bias);
  conv.execute(
      x, weights, bias == nullptr ? nullptr : bias + part * part_.outputs,
      static_cast<float*>(data_.out) + (first * s_.outputs + part * part_.outputs) * s_.out_area());
}

}  // namespace

bool conv_onednn(const ConvShape& shape, const ConvData& data) {
  Run run(shape, data, choose_part(shape));
  if (!run.prepare()) return false;
  run.execute();
  return true;
}

}  // namespace ferry::cpu
