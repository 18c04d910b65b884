// SPDX-License-Identifier: Apache-2.0
//
// Streams and events: results are those of one stream, whatever runs where.
#include "ferry/stream.h"
#include "common.h"
#include "ferry/memory.h"

namespace ferry::test {
namespace {

class Streams : public OnDevice {};
FERRY_ON_EVERY_DEVICE(Streams);

TEST_P(Streams, GuardsChooseAndRestore) {
  const Stream own(device());
  EXPECT_EQ(Stream::current(device()), Stream::default_of(device()));
  {
    const StreamGuard guard(own);
    EXPECT_EQ(Stream::current(device()), own);
  }
  EXPECT_EQ(Stream::current(device()), Stream::default_of(device()));
  EXPECT_EQ(own.device(), device());
}

TEST_P(Streams, TensorsAreOrderedAcrossStreams) {
  Stream streams[3] = {Stream(device()), Stream(device(), -1), Stream::default_of(device())};
  for (int round = 0; round < 20; ++round) {
    Tensor x = full({5000}, round, TensorOptions(kI64, device()));
    for (int i = 0; i < 9; ++i) {
      const StreamGuard guard(streams[i % 3]);
      x = x + 1;                                   // reads what another stream wrote
      if (i % 4 == 0) x.narrow(0, 0, 1).fill_(0);  // and writes what it may still read
    }
    const std::vector<int64_t> got = x.to_vector<int64_t>();
    EXPECT_EQ(got[0], 0 + 0);
    EXPECT_EQ(got[4999], round + 9);
  }
}

TEST_P(Streams, FreedMemoryIsNotReusedTooEarly) {
  const Stream side(device());
  for (int round = 0; round < 30; ++round) {
    Tensor total;
    {
      const Tensor x = full({20000}, round, TensorOptions(kI64, device()));
      const StreamGuard guard(side);
      total = sum(x);
    }
    // The block of x is free for the default stream while `side` may still read it.
    const Tensor y = full({20000}, -1, TensorOptions(kI64, device()));
    EXPECT_EQ(total.item<int64_t>(), int64_t{20000} * round);
  }
}

TEST_P(Streams, EventsAndWaits) {
  const Stream a(device());
  const Stream b(device());
  Event begin, end;
  EXPECT_TRUE(end.query());
  end.synchronize();
  {
    const StreamGuard guard(a);
    begin.record(a);
    (void)(ones({1000}, TensorOptions(device())) + 1);
    end.record(device());
  }
  b.wait(end);
  b.wait(a);
  b.synchronize();
  end.synchronize();
  EXPECT_TRUE(end.query());
  EXPECT_TRUE(a.query());
  if (device().is_cpu()) {
    EXPECT_THROW((void)end.elapsed_since(begin), UnsupportedError);
  } else {
    EXPECT_GE(end.elapsed_since(begin), 0);
  }
  EXPECT_THROW((void)end.elapsed_since(Event()), InvalidArgument);
}

TEST_P(Streams, ManyStreamsComeAndGo) {
  Tensor x = zeros({100}, TensorOptions(device()));
  for (int i = 0; i < 200; ++i) {
    const StreamGuard guard{Stream(device())};
    x = x + 1;
  }
  EXPECT_EQ(sum(x).item<float>(), 20000);
}

}  // namespace
}  // namespace ferry::test
