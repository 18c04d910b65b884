// SPDX-License-Identifier: Apache-2.0
//
// Running the cases of fixtures/functions.pt.
#include "function_cases.h"

#include <utility>

namespace ferry::test {
namespace {

void expect_as_recorded(const FunctionCase& c, const std::vector<Tensor>& got) {
  ASSERT_EQ(got.size(), c.out().size());
  for (size_t i = 0; i < got.size(); ++i) {
    const Tensor want = c.out().at(static_cast<int64_t>(i)).as_tensor();
    ASSERT_EQ(got[i].dtype(), want.dtype());
    ASSERT_EQ(got[i].shape(), want.shape());
    const Tensor here = got[i].cpu();
    if (is_floating_point(want.dtype())) {
      EXPECT_TRUE(allclose(here, want, 2e-5, 5e-6, true)) << here.str() << "\ninstead of\n"
                                                          << want.str();
    } else {
      EXPECT_TRUE(equal(here, want)) << here.str() << "\ninstead of\n" << want.str();
    }
  }
}

}  // namespace

void run_cases(const FunctionTable& table, const Device& device, int least) {
  static const auto* const cases = new io::Value(load(FUNCTION_FIXTURES));
  int run = 0;
  for (const io::Value& value : *cases) {
    const FunctionCase c(value, device);
    const auto found = table.find(c.op());
    if (found == table.end()) continue;
    SCOPED_TRACE(c.str());
    ++run;
    if (c.is_refused()) {
      const std::string text = error_of([&] { (void)found->second(c); });
      EXPECT_EQ(text.find('['), 0u) << text;
      continue;
    }
    std::vector<Tensor> got;
    ASSERT_NO_THROW(got = found->second(c));
    EXPECT_EQ(got[0].device(), device);
    expect_as_recorded(c, got);
  }
  EXPECT_GE(run, least);
}

}  // namespace ferry::test
