// SPDX-License-Identifier: Apache-2.0
//
// DataParallel on the CPU and simulated accelerators: pieces, arguments, checks.
#include "ferry/nn/data_parallel.h"

#include <algorithm>
#include <mutex>

#include <gtest/gtest.h>

#include "ferry/error.h"
#include "ferry/nn.h"
#include "ferry/stream.h"

namespace ferry::nn {
namespace {

struct Seen {
  std::mutex lock;
  std::vector<std::string> calls;
};

/// Notes where and with how many rows it was called; counts calls in a buffer.
class Watched : public Module {
 public:
  explicit Watched(Seen* seen) : seen_(seen) {}
  Linear fc{3, 2};
  Buffer count{zeros({1}, Device())};
  FERRY_MODULE(fc, count)
  Tensor forward(const Tensor& x, const Tensor& y = {}, double scale = 1) const {
    {
      const std::lock_guard guard(seen_->lock);
      seen_->calls.push_back(current_device().str() + "/" + std::to_string(x.size(0)) + "/" +
                             std::to_string(parameters().size()) + "/" +
                             parameters().front().device().str());
    }
    count.fill_(count.item<float>() + 1);
    const Tensor out = fc(x) * scale;
    return y.defined() ? out + y : out;
  }

 private:
  Seen* seen_;
};

const std::vector<Device>& three() {
  static const std::vector<Device> list{Device("sim:0"), Device("sim:1"), Device("cpu")};
  return list;
}

void expect_close(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.shape(), b.shape());
  const auto x = a.to_vector<float>(), y = b.to_vector<float>();
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], 1e-5F);
}

// RN-03: batches that the devices do not divide, and an empty one.
TEST(DataParallel, Rn03UnevenAndEmptyBatches) {
  Seen seen;
  Watched net(&seen);
  for (const int64_t rows : {7, 5, 4, 3, 2, 1, 0}) {
    const Tensor x = randn({rows, 3}), y = randn({rows, 2});
    net.to(Device());
    const Tensor expected = net.forward(x, y, 0.5);
    net.to(Device("sim:0"));
    seen.calls.clear();
    const Tensor got = data_parallel(net, three(), x, y, 0.5);
    EXPECT_EQ(got.device(), Device("sim:0"));
    expect_close(got, expected);
    const size_t pieces = rows == 0   ? 1
                          : rows == 4 ? 2
                                      : static_cast<size_t>(std::min<int64_t>(rows, 3));
    EXPECT_EQ(seen.calls.size(), pieces) << rows;
  }
}

// RN-05: a replica sees its parameters; the first device's writes stay.
TEST(DataParallel, Rn05ReplicasHaveParametersAndTheFirstKeepsItsWrites) {
  Seen seen;
  DataParallel<Watched> net(Watched(&seen), three());
  net.to(Device("sim:0"));
  (void)net(ones({5, 3}));
  std::sort(seen.calls.begin(), seen.calls.end());
  EXPECT_EQ(seen.calls,
            (std::vector<std::string>{"cpu/1/2/cpu", "sim:0/2/2/sim:0", "sim:1/2/2/sim:1"}));
  EXPECT_EQ(net.module.count.item<float>(), 1);
  EXPECT_EQ(net.named_parameters().front().first, "module.fc.weight");
  EXPECT_EQ(net.str().substr(0, 13), "DataParallel(");
}

std::string error_of(const DataParallel<Watched>& net) {
  try {
    (void)net(ones({5, 3}));
  } catch (const InvalidArgument& e) {
    return e.what();
  }
  return "nothing was thrown";
}

// RN-06: wrapped before it is moved, a stray buffer, strange lists.
TEST(DataParallel, Rn06ChecksAtTheCall) {
  Seen seen;
  DataParallel<Watched> net(Watched(&seen), {Device("sim:0"), Device("sim:1")});
  std::string text = error_of(net);
  EXPECT_NE(text.find("\"fc.weight\" is on cpu, and the first device is sim:0"), std::string::npos)
      << text;
  net.to(Device("sim:0"));
  EXPECT_EQ(net(ones({5, 3})).shape(), (Shape{5, 2}));
  net.module.count.set_data(net.module.count.to(Device("sim:1")));
  text = error_of(net);
  EXPECT_NE(text.find("buffer \"count\" is on sim:1"), std::string::npos) << text;
  net.to(Device("sim:1"));
  EXPECT_NE(error_of(net), "nothing was thrown");
  EXPECT_EQ(data_parallel(net.module, {Device("sim:1"), Device("sim:0")}, ones({2, 3})).device(),
            Device("sim:1"));
  EXPECT_THROW(data_parallel(net.module, {Device("sim:1"), Device("sim:1")}, ones({2, 3})),
               InvalidArgument);
  EXPECT_THROW((DataParallel<Watched>(Watched(&seen), {Device("sim:9")})), Error);
  const DataParallel<Watched> plain{Watched(&seen)};
  EXPECT_EQ(plain(ones({2, 3})).device(), Device());
}

TEST(DataParallel, AnErrorOfAReplicaArrives) {
  Seen seen;
  Watched net(&seen);
  net.to(Device("sim:0"));
  EXPECT_THROW(data_parallel(net, three(), ones({5, 4})), InvalidArgument);
  EXPECT_THROW(data_parallel(net, three(), ones({5, 3}), ones({1, 2})), InvalidArgument);
  EXPECT_EQ(data_parallel(net, three(), ones({5, 3})).shape(), (Shape{5, 2}));
}

}  // namespace
}  // namespace ferry::nn
