// SPDX-License-Identifier: Apache-2.0
//
// Value and StateDict by themselves.
#include "ferry/io/value.h"

#include "ferry/error.h"
#include "support.h"

namespace ferry::test {
namespace {

using io::Value;

Value model() { return Value::dict({{Value::of("w"), Value::of(tensor<float>({1, 2}))}}); }

TEST(ValueTest, KindsAndAccessors) {
  EXPECT_TRUE(Value().is_none());
  EXPECT_TRUE(Value::of(true).as_bool());
  EXPECT_EQ(Value::of(int64_t{5}).as_double(), 5.0);
  EXPECT_EQ(Value::of("text").as_string(), "text");
  EXPECT_REFUSED(InvalidArgument, Value::of("text").as_int(), "is a string, not a int");
  EXPECT_REFUSED(InvalidArgument, Value::of(2.5).as_bool(), "is a float");
  EXPECT_REFUSED(InvalidArgument, Value().at("x"), "is a None, not a dict");
  EXPECT_REFUSED(InvalidArgument, model().as_tensor(), "at()", "'w'");
}

TEST(ValueTest, ListsAndDicts) {
  const Value list = Value::list({Value::of(int64_t{1}), Value::of("b")});
  EXPECT_EQ(list.at(1).as_string(), "b");
  EXPECT_REFUSED(InvalidArgument, list.at(2), "index 2", "list of 2");
  EXPECT_REFUSED(InvalidArgument, list.at(-1), "index -1");
  int64_t count = 0;
  for (const Value& value : list) count += value.is_none() ? 0 : 1;
  EXPECT_EQ(count, 2);

  const Value dict = Value::dict({{Value::of("b"), Value::of(int64_t{1})},
                                  {Value::of("a"), Value::of(int64_t{2})},
                                  {Value::of(int64_t{7}), Value()},
                                  {Value::of("b"), Value::of(int64_t{3})}});
  EXPECT_EQ(dict.str(), "{'b': 3, 'a': 2, 7: None}");
  EXPECT_TRUE(dict.at(7).is_none());
  EXPECT_TRUE(dict.contains("a"));
  EXPECT_FALSE(dict.contains("c"));
  EXPECT_REFUSED(InvalidArgument, dict.at("c"), "'c'", "3 keys", "'b', 'a', 7");
  EXPECT_REFUSED(InvalidArgument, Value::dict({{Value(), Value()}}), "a key is");
}

TEST(ValueTest, PrintsAsPythonDoes) {
  const Value value = Value::tuple({Value::list({Value::of(2.0), Value::of(false)}),
                                    Value::of("it's\n"), Value::of(tensor<int64_t>({1}))});
  EXPECT_EQ(value.str(), "([2.0, False], 'it\\'s\\n', tensor(int64 [1]))");
  EXPECT_EQ(Value::tuple({Value()}).str(), "(None,)");
  EXPECT_LT(Value::list(std::vector<Value>(100000, Value::of("x"))).str().size(), 70000u);
}

TEST(ValueTest, BecomesAStateDictOrSaysWhichPartOfItIsOne) {
  const StateDict state = model();
  EXPECT_EQ(state.at("w").to_vector<float>(), (std::vector<float>{1, 2}));
  const auto convert = [](const Value& value) { return static_cast<StateDict>(value); };
  const Value checkpoint =
      Value::dict({{Value::of("epoch"), Value::of(int64_t{3})}, {Value::of("model"), model()}});
  EXPECT_REFUSED(InvalidArgument, convert(checkpoint), "'epoch' is a int", "at(\"model\")");
  EXPECT_REFUSED(InvalidArgument, convert(Value::list({})), "is a list");
  EXPECT_REFUSED(InvalidArgument,
                 convert(Value::dict({{Value::of(int64_t{0}), Value::of(tensor<float>({1}))}})),
                 "entry 0");
}

TEST(StateDictTest, KeepsItsOrderAndFindsAll) {
  StateDict state;
  const Tensor a = tensor<float>({1}), b = tensor<float>({2});
  constexpr int kNames = 10000;
  for (int i = 0; i < kNames; ++i) {
    state.set("name" + std::to_string(i), a);
    if (i < 70) {
      for (int j = 0; j <= i; ++j) ASSERT_TRUE(state.contains("name" + std::to_string(j)));
      ASSERT_FALSE(state.contains("name" + std::to_string(i + 1)));
    }
  }
  state.set("name5000", b);
  EXPECT_EQ(state.size(), size_t{kNames});
  int i = 0;
  for (const auto& [name, tensor] : state) {
    EXPECT_EQ(name, "name" + std::to_string(i));
    EXPECT_TRUE(state.at(name).is_same(i == 5000 ? b : a));
    ++i;
  }
  EXPECT_EQ(state.find("absent"), nullptr);
  EXPECT_REFUSED(InvalidArgument, state.at("absent"), "'absent'", "10000 names", "'name0'");
}

TEST(StateDictTest, Prefixes) {
  const Tensor a = tensor<float>({1});
  const StateDict state{{"module.weight", a}, {"module.bias", a}, {"epoch", a}};
  const StateDict stripped = state.strip_prefix("module.");
  EXPECT_TRUE(stripped.contains("weight") && stripped.contains("bias"));
  EXPECT_TRUE(stripped.contains("epoch"));
  EXPECT_TRUE(StateDict({{"w", a}}).add_prefix("x.").contains("x.w"));
  EXPECT_REFUSED(InvalidArgument, StateDict({{"x.w", a}, {"w", a}}).strip_prefix("x."), "'w'");
}

}  // namespace
}  // namespace ferry::test
