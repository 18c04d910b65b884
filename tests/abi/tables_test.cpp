// SPDX-License-Identifier: Apache-2.0
//
// Plugins under hosts of other minors, with tables made by hand: each ends
// exactly before memory that nobody may touch, so that a plugin that reads or
// writes beyond the host's size faults; what a longer table has beyond the
// plugin's size must stay as it was.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ferry/abi/plugin.h"
#include "plugin.h"

namespace {

enum class Host { kOlder, kToday, kNewer };
/// What the newer headers append, and more than that.
constexpr size_t kLater = 24, kRoom = 64;
constexpr unsigned char kPoison = 0xa5;

/// A T of `bytes` bytes, zeros, and poison where it is longer than T.
template <class T>
class Guarded {
 public:
  explicit Guarded(size_t bytes) : bytes_(bytes) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void* const base =
        mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED || mprotect(static_cast<char*>(base) + page, page, PROT_NONE) != 0) {
      std::abort();
    }
    base_ = base;
    mapped_ = 2 * page;
    data_ = static_cast<unsigned char*>(base) + page - bytes;
    if (bytes > sizeof(T)) std::memset(data_ + sizeof(T), kPoison, bytes - sizeof(T));
    const auto size = static_cast<uint32_t>(bytes);
    std::memcpy(data_, &size, sizeof size);
  }
  ~Guarded() { munmap(base_, mapped_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  T* get() const { return reinterpret_cast<T*>(data_); }
  /// Sets a member where the table has it.
  template <class Member>
  void set(Member T::*member, std::type_identity_t<Member> value) {
    if (has(member)) get()->*member = value;
  }
  template <class Member>
  bool has(Member T::*member) const {
    const auto* const end = reinterpret_cast<const unsigned char*>(&(get()->*member) + 1);
    return static_cast<size_t>(end - data_) <= bytes_;
  }
  uint32_t size() const {
    uint32_t size;
    std::memcpy(&size, data_, sizeof size);
    return size;
  }
  /// Whether all beyond the first `known` bytes is as it was made.
  bool intact_after(size_t known) const {
    for (size_t i = known; i < bytes_; ++i) {
      if (data_[i] != (i < sizeof(T) ? 0 : kPoison)) return false;
    }
    return size() == bytes_;
  }

 private:
  size_t bytes_, mapped_ = 0;
  void* base_ = nullptr;
  unsigned char* data_ = nullptr;
};

/// Bytes of a struct of `now` bytes, of which a host or plugin of another minor
/// has `before` or `now + more`.
size_t bytes_of(Host host, size_t before, size_t now, size_t more = kRoom) {
  return host == Host::kOlder ? before : host == Host::kToday ? now : now + more;
}

struct Case {
  const char* plugin;
  Host host;
};

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  const char* const hosts[] = {"older", "today", "newer"};
  return std::string(info.param.plugin) + "_in_" + hosts[static_cast<int>(info.param.host)];
}
void PrintTo(const Case& c, std::ostream* out) { *out << c.plugin; }

std::string path_of(const std::string& plugin) {
  if (plugin == "cpu") return FERRY_CPU_PLUGIN;
  if (plugin == "sim") return FERRY_SIM_PLUGIN;
  return std::string(TEST_PLUGINS) + "/" + plugin + ".so";
}

class Tables : public ::testing::TestWithParam<Case> {
 protected:
  Tables()
      : host_table_(bytes_of(host(), offsetof(ferry_host, option), sizeof(ferry_host))),
        api_(bytes_of(host(), offsetof(ferry_plugin_api, extensions), sizeof(ferry_plugin_api))) {}

  static Host host() { return GetParam().host; }
  /// Bytes of a struct that the plugin knows.
  static size_t known(size_t before, size_t now) {
    const std::string plugin = GetParam().plugin;
    return bytes_of(plugin == "older"   ? Host::kOlder
                    : plugin == "newer" ? Host::kNewer
                                        : Host::kToday,
                    before, now, kLater);
  }

  void SetUp() override {
    // Never closed, as the host does.
    void* const library = dlopen(path_of(GetParam().plugin).c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    desc_ = static_cast<const ferry_plugin_desc*>(dlsym(library, FERRY_PLUGIN_SYMBOL));
    ASSERT_NE(desc_, nullptr);
    host_table_.set(&ferry_host::minor, host() == Host::kNewer ? 7 : 0);
    host_table_.set(&ferry_host::fail,
                    [](ferry_rc code, const char*, const char*) { return code; });
    host_table_.set(&ferry_host::log, [](int32_t, const char*) {});
    host_table_.set(&ferry_host::option, [](const char*) -> const char* { return nullptr; });
    host_table_.set(&ferry_host::device_lost, [](ferry_device, const char*) {});
    ASSERT_EQ(desc_->init(host_table_.get(), api_.get()), FERRY_OK);
  }

  const ferry_core_api& core() const { return *api_.get()->core; }
  /// The first kernel of a family, by the elements' own size.
  const ferry_kernel* find(const char* family) const {
    const char* at = reinterpret_cast<const char*>(api_.get()->kernels);
    for (uint32_t i = 0; i < api_.get()->n_kernels; ++i) {
      const auto* kernel = reinterpret_cast<const ferry_kernel*>(at);
      if (std::strcmp(kernel->family, family) == 0) return kernel;
      at += kernel->size;
    }
    return nullptr;
  }

  const ferry_plugin_desc* desc_ = nullptr;
  Guarded<ferry_host> host_table_;
  Guarded<ferry_plugin_api> api_;
};

TEST_P(Tables, InitWritesNoFurtherThanBothKnow) {
  EXPECT_TRUE(
      api_.intact_after(known(offsetof(ferry_plugin_api, extensions), sizeof(ferry_plugin_api))));
  ASSERT_NE(api_.get()->core, nullptr);
  const size_t before = offsetof(ferry_core_api, fill);
  EXPECT_EQ(core().size, known(before, sizeof(ferry_core_api)));
  if (api_.has(&ferry_plugin_api::n_extensions) && std::string(GetParam().plugin) == "today") {
    ASSERT_EQ(api_.get()->n_extensions, 1u);
    EXPECT_STREQ(api_.get()->extensions[0].name, ACME_EXTENSION_GRAPH);
  }
}

TEST_P(Tables, InfoWritesNoFurtherThanBothKnow) {
  ASSERT_GE(core().count(), 1u);
  const size_t before = offsetof(ferry_device_info, driver), now = sizeof(ferry_device_info);
  const Guarded<ferry_device_info> info(bytes_of(host(), before, now));
  ASSERT_EQ(core().info(0, info.get()), FERRY_OK);
  EXPECT_TRUE(info.intact_after(known(before, now)));
  EXPECT_STRNE(info.get()->name, "");
}

TEST_P(Tables, MemoryAndAKernelWork) {
  ferry_device device = nullptr;
  ASSERT_EQ(core().open(0, &device), FERRY_OK);
  const std::vector<float> given = {-1, 2, -3, 4};
  constexpr uint64_t kBytes = 4 * sizeof(float);
  ferry_memory memory[2] = {};
  for (ferry_memory& m : memory) {
    ASSERT_EQ(core().alloc(device, FERRY_SPACE_DEVICE, kBytes, &m), FERRY_OK);
  }
  ASSERT_EQ(core().h2d(device, nullptr, {memory[0], 0}, given.data(), kBytes), FERRY_OK);
  ASSERT_EQ(core().d2d(device, nullptr, {memory[1], 0}, {memory[0], 0}, kBytes), FERRY_OK);

  const Guarded<ferry_program> program(host() == Host::kNewer ? sizeof(ferry_program) + kRoom
                                                              : sizeof(ferry_program));
  const ferry_insn relu = {FERRY_OP_RELU, 0, {0, 0, 0, 0}, 0};
  const uint16_t result = 1;
  program.get()->compute = FERRY_F32;
  program.get()->n_in = program.get()->n_insn = program.get()->n_out = 1;
  program.get()->insns = &relu;
  program.get()->out = &result;
  ferry_tensor tensors[2] = {};
  for (int i = 0; i < 2; ++i) {
    tensors[i].at = {memory[i], 0};
    tensors[i].dtype = FERRY_F32;
    tensors[i].ndim = 1;
    tensors[i].shape[0] = 4;
    tensors[i].stride[0] = 1;
  }
  Guarded<ferry_call> call(bytes_of(host(), offsetof(ferry_call, scratch), sizeof(ferry_call)));
  call.set(&ferry_call::n_in, 1);
  call.set(&ferry_call::n_out, 1);
  call.set(&ferry_call::in, &tensors[0]);
  call.set(&ferry_call::out, &tensors[1]);
  call.set(&ferry_call::map, program.get());
  call.set(&ferry_call::device, device);
  const ferry_kernel* const kernel = find(FERRY_FAMILY_MAP);
  ASSERT_NE(kernel, nullptr);
  if (kernel->check != nullptr) {
    ASSERT_EQ(kernel->check(kernel, call.get()), FERRY_OK);
  }
  if (kernel->scratch != nullptr) {
    ASSERT_EQ(kernel->scratch(kernel, call.get()), 0u);
  }
  ASSERT_EQ(kernel->launch(kernel, call.get()), FERRY_OK);
  ASSERT_EQ(core().sync(device, nullptr), FERRY_OK);
  std::vector<float> got(4);
  ASSERT_EQ(core().d2h(device, nullptr, got.data(), {memory[1], 0}, kBytes), FERRY_OK);
  EXPECT_EQ(got, (std::vector<float>{0, 2, 0, 4}));
  for (const ferry_memory& m : memory) EXPECT_EQ(core().release(device, m), FERRY_OK);
  core().close(device);
}

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const char* plugin : {"older", "today", "newer", "cpp_plain", "cpu", "sim"}) {
    for (const Host host : {Host::kOlder, Host::kToday, Host::kNewer})
      out.push_back({plugin, host});
  }
  return out;
}
INSTANTIATE_TEST_SUITE_P(Hosts, Tables, ::testing::ValuesIn(cases()), name_of);

}  // namespace
