// SPDX-License-Identifier: Apache-2.0
//
// Files that PyTorch wrote open with what was in them.
#include "ferry/io/load.h"

#include "ferry/error.h"
#include "support.h"

namespace ferry::test {
namespace {

using Floats = std::vector<float>;
using Longs = std::vector<int64_t>;

std::vector<std::string> names_of(const io::Value& dict) {
  std::vector<std::string> names;
  for (const auto& [key, value] : dict.items()) names.push_back(key.as_string());
  return names;
}

TEST(TorchFile, PlainDict) {
  for (const char* name : {"plain.pt", "plain_protocol4.pt"}) {
    const io::Value file = load(fixture(name));
    EXPECT_EQ(names_of(file), (std::vector<std::string>{"weight", "count"}));
    const Tensor weight = file.at("weight");
    EXPECT_EQ(weight.shape(), (Shape{2, 3}));
    EXPECT_TRUE(weight.is_contiguous());
    EXPECT_TRUE(weight.device().is_cpu());
    EXPECT_EQ(weight.to_vector<float>(), (Floats{0, 0.25, 0.5, 0.75, 1, 1.25}));
    EXPECT_EQ(file.at("count").as_tensor().to_vector<int64_t>(), (Longs{7, -1}));
  }
}

TEST(TorchFile, StateDictOfAModuleKeepsItsOrderAndDropsItsMetadata) {
  const StateDict state = load(fixture("module.pt"));
  std::vector<std::string> names;
  for (const auto& [name, tensor] : state) names.push_back(name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean",
                                      "1.running_var", "1.num_batches_tracked"}));
  EXPECT_EQ(state.at("1.running_var").to_vector<float>(), (Floats{1, 1}));
  EXPECT_EQ(state.at("1.num_batches_tracked").item<int64_t>(), 0);
}

TEST(TorchFile, TrainingCheckpointWithOptimizerNumbersAndTexts) {
  const io::Value file = load(fixture("training.pt"));
  EXPECT_EQ(file.at("epoch").as_int(), 3);
  EXPECT_EQ(file.at("note").as_string(), "x");
  EXPECT_TRUE(file.at("nothing").is_none());
  EXPECT_EQ(file.at("tuple").str(), "(1, 2.5, True, -1099511627776)");
  EXPECT_EQ(file.at("shape").str(), "(2, 3)");
  EXPECT_EQ(file.at("dtype").as_string(), "torch.float16");
  EXPECT_EQ(file.at("device").as_string(), "cpu");
  EXPECT_EQ(file.at("milestones").at(20).as_int(), 1);
  const io::Value optimizer = file.at("optimizer");
  EXPECT_EQ(optimizer.at("param_groups").at(0).at("lr").as_double(), 0.125);
  EXPECT_EQ(optimizer.at("state").at(0).at("exp_avg").as_tensor().shape(), (Shape{2, 3}));
  const StateDict model = file.at("model");
  EXPECT_EQ(model.size(), 7u);
}

TEST(TorchFile, ParametersAndTensorsWithAttributesAreTensors) {
  const StateDict parameters = load(fixture("parameter.pt"));
  EXPECT_EQ(parameters.at("w").to_vector<float>(), (Floats{1.5, -2}));
  EXPECT_EQ(parameters.at("frozen").to_vector<float>(), (Floats{1}));
  EXPECT_EQ(load(fixture("attribute.pt")).at("w").as_tensor().to_vector<float>(), (Floats{1, 2}));
}

TEST(TorchFile, EveryDTypeScalarsAndEmptyTensors) {
  const StateDict file = load(fixture("dtypes.pt"));
  EXPECT_EQ(file.at("bool").dtype(), kBool);
  EXPECT_EQ(file.at("uint8").to_vector<uint8_t>(), (std::vector<uint8_t>{0, 1, 2}));
  EXPECT_EQ(file.at("int8").to_vector<int8_t>(), (std::vector<int8_t>{0, 1, 2}));
  EXPECT_EQ(file.at("int16").to_vector<int16_t>(), (std::vector<int16_t>{0, 1, 2}));
  EXPECT_EQ(file.at("int32").to_vector<int32_t>(), (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(file.at("int64").to_vector<int64_t>(), (Longs{0, 1, 2}));
  EXPECT_EQ(file.at("float32").to_vector<float>(), (Floats{0, 1, 2}));
  EXPECT_EQ(file.at("float64").to_vector<double>(), (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(float(file.at("float16").to_vector<Half>()[2]), 2.0f);
  EXPECT_EQ(float(file.at("bfloat16").to_vector<BFloat16>()[2]), 2.0f);
  bool truth[3] = {};
  file.at("bool").copy_to_host(truth, kBool);
  EXPECT_TRUE(!truth[0] && truth[1] && truth[2]);
  EXPECT_EQ(file.at("scalar").dim(), 0);
  EXPECT_EQ(file.at("scalar").item<float>(), 2.5f);
  EXPECT_EQ(file.at("empty").shape(), (Shape{0, 3}));
}

TEST(TorchFile, ViewsShareTheirStorageWithStrideAndOffset) {
  for (const MapLocation& map : {MapLocation(), MapLocation("cpu")}) {
    const io::Value file = load(fixture("views.pt"), map);
    const Tensor n = file.at(0), every_second = file.at(1);
    EXPECT_TRUE(n.shares_storage(every_second));
    EXPECT_EQ(every_second.strides(), (Shape{2}));
    EXPECT_EQ(every_second.storage_offset(), 1);
    int64_t* data = every_second.data_ptr<int64_t>();
    for (int i = 0; i < 4; ++i) data[2 * i] *= 2;
    EXPECT_EQ(n.to_vector<int64_t>(), (Longs{1, 4, 3, 8, 5, 12, 7, 16, 9}));
  }
}

TEST(TorchFile, TransposedTensorsKeepTheirStrides) {
  const Tensor t = load(fixture("transposed.pt")).at("t");
  EXPECT_EQ(t.shape(), (Shape{3, 2}));
  EXPECT_EQ(t.strides(), (Shape{1, 3}));
  EXPECT_EQ(t.to_vector<float>(), (Floats{0, 3, 1, 4, 2, 5}));
}

TEST(TorchFile, OneTensorUnderTwoNamesIsOneTensor) {
  const StateDict file = load(fixture("tied.pt"));
  EXPECT_TRUE(file.at("embedding").is_same(file.at("head")));
  EXPECT_TRUE(file.at("embedding").shares_storage(file.at("row")));
}

TEST(TorchFile, CompressedRecordsAreRead) {
  const Tensor w = load(fixture("deflated.pt")).at("w");
  EXPECT_EQ(w.numel(), 1000);
  EXPECT_EQ(w[999].item<int64_t>(), 999);
}

TEST(TorchFile, ByteOrderOfTheFileIsHonoured) {
  for (const char* name : {"little_endian.pt", "big_endian.pt"}) {
    const io::Value file = load(fixture(name));
    EXPECT_EQ(file.at("w").as_tensor().to_vector<float>(), (Floats{1.5, -2})) << name;
    EXPECT_EQ(file.at("n").as_tensor().item<int>(), 258) << name;
  }
  EXPECT_REFUSED(FileError, load(fixture("middle_endian.pt")), "byteorder", "'middle'");
}

TEST(TorchFile, TheDigitsExampleLoads) {
  const StateDict model = load(EXAMPLES "/digits/digits.pt");
  EXPECT_EQ(model.size(), 25u);
  EXPECT_EQ(model.at("classifier.3.weight").shape(), (Shape{10, 64}));
  const io::Value expected = load(EXAMPLES "/digits/expected.pt", Device());
  EXPECT_EQ(expected.at("logits").as_tensor().shape(), (Shape{597, 10}));
  EXPECT_EQ(expected.at("correct").as_int(), 596);
}

TEST(TorchFile, ARecordWithoutChecksumIsRead) {
  std::string bytes = read_file(fixture("plain.pt"));
  // Bytes 16 to 19 of a central directory entry, and 14 to 17 of a local one.
  for (size_t at = 0; (at = bytes.find("PK\x01\x02", at)) != std::string::npos; ++at) {
    bytes.replace(at + 16, 4, 4, '\0');
  }
  for (size_t at = 0; (at = bytes.find("PK\x03\x04", at)) != std::string::npos; ++at) {
    bytes.replace(at + 14, 4, 4, '\0');
  }
  const std::string path = ::testing::TempDir() + "ferry_without_checksums.pt";
  write_file(path, bytes);
  EXPECT_EQ(load(path).at("count").as_tensor().to_vector<int64_t>(), (Longs{7, -1}));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace ferry::test
