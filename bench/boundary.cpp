// SPDX-License-Identifier: Apache-2.0
//
// Groups "boundary" and "start": a kernel launch through the C tables of a plugin, both ways
// of wrapping included, beside a direct C++ virtual call; and a whole process.
#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "groups.h"
#include "nothing_kernel.h"
#include "runtime/host_services.h"
#include "runtime/import.h"

namespace ferry::bench {
namespace {

/// The backend of the plugin, as the runtime imports it. Never unloaded.
hal::Backend& imported() {
  static std::unique_ptr<hal::Backend>* const backend = [] {
    void* library = dlopen(FERRY_BENCH_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    const auto* desc = static_cast<const ferry_plugin_desc*>(dlsym(library, FERRY_PLUGIN_SYMBOL));
    if (desc == nullptr) throw std::runtime_error(dlerror());
    // Read by the imported tables for as long as they are used.
    auto* api = new ferry_plugin_api{};
    api->size = sizeof *api;
    if (desc->init(&runtime::host_services(), api) != FERRY_OK) {
      throw std::runtime_error(runtime::take_failure());
    }
    return new std::unique_ptr<hal::Backend>(runtime::import_plugin(*desc, *api));
  }();
  return **backend;
}

/// Runs `program` without arguments n times, one after the other.
Candidate process(const std::string& name, const char* program) {
  return {name, [program](int64_t n) {
            for (int64_t i = 0; i < n; ++i) {
              char* const arguments[] = {const_cast<char*>(program), nullptr};
              pid_t child = 0;
              int status = 0;
              if (posix_spawn(&child, program, nullptr, nullptr, arguments, environ) != 0 ||
                  waitpid(child, &status, 0) != child || status != 0) {
                throw std::runtime_error(std::string(program) + " does not run");
              }
            }
          }};
}

}  // namespace

void bench_start() {
  group("Start: scan, load the CPU plugin, add two small tensors, exit");
  compare("whole process", {process("ferry", FERRY_BENCH_START), process("true", "/bin/true")},
          at_most_ns(20e6));
}

void bench_boundary() {
  group("Boundary: one kernel launch");
  const hal::Kernel* through = imported().kernels()[0];
  const auto own = std::make_unique<NothingKernel>();
  const hal::Kernel* direct = own.get();
  asm volatile("" : "+r"(direct));  // its class is not to be known
  ferry_call call{};
  call.size = sizeof call;
  call.n_in = 2;
  const auto launch = [&call](const hal::Kernel* kernel) {
    return [&call, kernel](int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        const hal::Status status = kernel->launch(call);
        keep(status);
      }
    };
  };
  compare("launch", {{"ferry", launch(through)}, {"virtual call", launch(direct)}},
          at_most_ns_more(30));
}

}  // namespace ferry::bench
