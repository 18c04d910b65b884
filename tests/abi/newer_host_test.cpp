// SPDX-License-Identifier: Apache-2.0
//
// The host of a later minor: the runtime's own import of tables, compiled
// against longer headers, with plugins of every age.
#include <dlfcn.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plugin.h"
#include "runtime/host_services.h"
#include "runtime/import.h"

namespace ferry {
namespace {

#ifndef TEST_NEWER_HEADERS
#error "this is to be compiled with the headers that make_headers.sh newer makes"
#endif

class NewerHost : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string file = std::string(TEST_PLUGINS) + "/" + GetParam() + ".so";
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    desc_ = static_cast<const ferry_plugin_desc*>(dlsym(library, FERRY_PLUGIN_SYMBOL));
    ASSERT_NE(desc_, nullptr);
    ferry_plugin_api api{};
    api.size = sizeof api;
    ASSERT_EQ(desc_->init(runtime::host_services_for(desc_->name), &api), FERRY_OK);
    ASSERT_EQ(runtime::missing_core_function(api), nullptr);
    backend_ = runtime::import_plugin(*desc_, api);
  }
  static bool is(const char* name) { return std::string(GetParam()) == name; }
  const acme_graph* graph() const {
    for (const ferry_extension& extension : backend_->extensions()) {
      if (std::string(extension.name) == ACME_EXTENSION_GRAPH) {
        return static_cast<const acme_graph*>(extension.table);
      }
    }
    return nullptr;
  }

  const ferry_plugin_desc* desc_ = nullptr;
  std::unique_ptr<hal::Backend> backend_;
};

TEST_P(NewerHost, WhatThePluginDoesNotKnowIsAbsent) {
  ferry_device_info info{};
  info.size = sizeof info;
  ASSERT_TRUE(backend_->info(0, &info).ok());
  EXPECT_STREQ(info.name, "Acme One");
  EXPECT_STREQ(info.driver, is("older") ? "" : "12.0");
  EXPECT_EQ(info.later[0], is("newer") ? 77u : 0u);
  EXPECT_EQ(graph() != nullptr, !is("older"));

  std::unique_ptr<hal::Device> device;
  ASSERT_TRUE(backend_->open(0, &device).ok());
  ferry_memory memory{};
  ASSERT_TRUE(device->allocator().allocate(hal::Space::kDevice, 8, &memory).ok());
  const ferry_rc optional = is("older") ? FERRY_E_MISSING : FERRY_OK;
  EXPECT_EQ(device->fill(nullptr, {memory, 0}, 7, 8).code(), optional);
  uint64_t free_bytes = 0, total_bytes = 0;
  EXPECT_EQ(device->memory_info(&free_bytes, &total_bytes).code(), optional);
  std::unique_ptr<hal::Stream> stream;
  ASSERT_TRUE(device->create_stream(0, &stream).ok());
  uint64_t native = 0;
  EXPECT_EQ(stream->native(&native).code(), optional);
  EXPECT_TRUE(device->allocator().release(memory).ok());
}

// Elements are shorter than the host's own, or as long.
TEST_P(NewerHost, KernelsAreFoundByTheirOwnSize) {
  const auto kernels = backend_->kernels();
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_STREQ(kernels[0]->traits().family, FERRY_FAMILY_MAP);
  EXPECT_STREQ(kernels[1]->traits().family, ACME_FAMILY_AXPY);
  EXPECT_STREQ(kernels[2]->traits().family, ACME_FAMILY_REVERSE);

  std::unique_ptr<hal::Device> device;
  ASSERT_TRUE(backend_->open(0, &device).ok());
  ferry_memory memory[2] = {};
  ferry_tensor tensors[2] = {};
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(device->allocator().allocate(hal::Space::kDevice, 12, &memory[i]).ok());
    tensors[i] = {{memory[i], 0}, FERRY_F32, 1, {3}, {1}};
  }
  const std::vector<float> given = {1, 2, 3};
  ASSERT_TRUE(device->copy_from_host(nullptr, {memory[0], 0}, given.data(), 12).ok());
  ferry_call call{};
  call.size = sizeof call;
  call.n_in = call.n_out = 1;
  call.in = &tensors[0];
  call.out = &tensors[1];
  call.device = device->handle();
  ASSERT_TRUE(kernels[2]->check(call).ok());
  ASSERT_TRUE(kernels[2]->launch(call).ok());
  std::vector<float> got(3);
  ASSERT_TRUE(device->copy_to_host(nullptr, got.data(), {memory[1], 0}, 12).ok());
  EXPECT_EQ(got, (std::vector<float>{3, 2, 1}));
  for (const ferry_memory m : memory) EXPECT_TRUE(device->allocator().release(m).ok());
  // A plugin of the host's own age uses what is new, everywhere.
  ferry_device_info info{};
  info.size = sizeof info;
  ASSERT_TRUE(backend_->info(0, &info).ok());
  if (is("older")) return;
  ASSERT_NE(graph(), nullptr);
  const uint32_t all = ACME_SAW_HOST | ACME_SAW_API | ACME_SAW_INFO | ACME_SAW_CALL;
  EXPECT_EQ(graph()->saw_later(), is("newer") ? all : 0u);
}

INSTANTIATE_TEST_SUITE_P(Plugins, NewerHost, ::testing::Values("older", "today", "newer"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace ferry
