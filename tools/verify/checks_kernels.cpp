// SPDX-License-Identifier: Apache-2.0
//
// Level kernels: the nine questions to each family that a plugin declares.
#include <algorithm>

#include "check.h"
#include "kernel_run.h"

namespace ferry::verify {
namespace {

struct Family {
  const char* name;
  MakeCases cases;
};
constexpr Family kFamilies[] = {
    {FERRY_FAMILY_MAP, map_cases},         {FERRY_FAMILY_REDUCE, reduce_cases},
    {FERRY_FAMILY_MATMUL, matmul_cases},   {FERRY_FAMILY_CONV, conv_cases},
    {FERRY_FAMILY_POOL, pool_cases},       {FERRY_FAMILY_GATHER, gather_cases},
    {FERRY_FAMILY_SOFTMAX, softmax_cases}, {FERRY_FAMILY_LAYER_NORM, layer_norm_cases}};

/// "map" of "map/1".
std::string short_name(const std::string& family) { return family.substr(0, family.find('/')); }

/// Runs all cases of a flavour on all kernels of a family, and counts.
struct Sweep {
  const Family& family;
  Flavour flavour;
  uint32_t wanted_flag = 0;  ///< only kernels that declare it

  using Look = std::function<void(const KernelCase&, Seen&)>;
  using RunCase = std::function<bool(KernelRunner&, const ferry_kernel&, const KernelCase&)>;

  void with(const std::string& path, const RunCase& run_case) const {
    KernelRunner runner(path);
    int ran = 0, declined = 0;
    bool any = false;
    for (const ferry_kernel* kernel : runner.kernels_of(short_name(family.name))) {
      if (std::string(kernel->family) != family.name) continue;
      if (wanted_flag != 0 && (kernel->flags & wanted_flag) == 0) continue;
      any = true;
      for (ferry_dtype dtype = FERRY_BOOL; dtype <= FERRY_F64; ++dtype) {
        if (!has(kernel->dtypes, dtype)) continue;
        family.cases(dtype, kernel->dtypes, flavour, [&](const KernelCase& c) {
          (run_case(runner, *kernel, c) ? ran : declined)++;
        });
      }
    }
    if (!any) not_applicable("no kernel of {} declares the flag for it", family.name);
    if (ran > 0) return;
    if (declined == 0) not_applicable("no dtype that it declares has such a case");
    not_applicable("the kernel declines all {} calls", declined);
  }
  void look_at(const std::string& path, const Layout& layout, const Look& look) const {
    with(path, [&](KernelRunner& runner, const ferry_kernel& kernel, const KernelCase& c) {
      Seen seen;
      if (!runner.run(kernel, c, layout, &seen)) return false;
      look(c, seen);
      return true;
    });
  }
};

void expect_right(const KernelCase& c, const Seen& seen) {
  const std::string wrong = c.judge(seen.out);
  expect(wrong.empty(), "{}: {}", c.name, wrong);
}
void expect_nothing_outside(const KernelCase&, const Seen& seen) {
  if (!seen.outside.empty()) throw Failed{seen.outside};
}

void values(const Family& family, const std::string& path) {
  size_t number = 0;
  Sweep{family, Flavour::kSizes}.with(
      path, [&](KernelRunner& runner, const ferry_kernel& kernel, const KernelCase& c) {
        Layout layout;
        layout.on_stream = number++ % 2 == 1;
        Seen seen;
        if (!runner.run(kernel, c, layout, &seen)) return false;
        expect_right(c, seen);
        return true;
      });
}

void guard(const Family& family, const std::string& path) {
  Sweep{family, Flavour::kFew}.look_at(path, Layout{64, 512}, expect_nothing_outside);
}

void inputs(const Family& family, const std::string& path) {
  Sweep{family, Flavour::kFew}.look_at(path, Layout{}, [](const KernelCase&, const Seen& seen) {
    if (!seen.inputs.empty()) throw Failed{seen.inputs};
  });
}

void strides(const Family& family, const std::string& path) {
  for (const Layout::Strides kind : {Layout::kGaps, Layout::kTurned}) {
    Layout layout{3, 64};
    layout.strides = kind;
    Sweep{family, Flavour::kFew, FERRY_KERNEL_STRIDED}.look_at(
        path, layout, [](const KernelCase& c, const Seen& seen) {
          expect_right(c, seen);
          expect_nothing_outside(c, seen);
        });
  }
}

void offset(const Family& family, const std::string& path) {
  for (const uint64_t items : {1, 3, 64}) {
    Sweep{family, Flavour::kFew}.look_at(path, Layout{items}, expect_right);
  }
}

void nan(const Family& family, const std::string& path) {
  Sweep{family, Flavour::kSpecial}.look_at(path, Layout{}, expect_right);
}

void repeat(const Family& family, const std::string& path) {
  Sweep{family, Flavour::kFew, FERRY_KERNEL_DETERMINISTIC}.with(
      path, [](KernelRunner& runner, const ferry_kernel& kernel, const KernelCase& c) {
        Seen first, again;
        if (!runner.run(kernel, c, Layout{}, &first)) return false;
        (void)runner.run(kernel, c, Layout{}, &again);
        for (size_t k = 0; k < first.raw.size(); ++k) {
          const std::string wrong = difference(again.raw[k], first.raw[k]);
          expect(wrong.empty(), "{}: run again, {}", c.name, wrong);
        }
        return true;
      });
}

/// The call, made impossible: with what name, or nothing where there is none.
std::string make_impossible(const std::string& family, KernelCase& c) {
  const auto attr = [&](size_t member, uint32_t value) {
    std::memcpy(reinterpret_cast<char*>(c.attr.data()) + 4 * member, &value, sizeof value);
  };
  if (family == FERRY_FAMILY_MAP) {
    Program unknown(compute_of(c.out[0].dtype), static_cast<uint32_t>(c.in.size()));
    unknown.output(unknown.then(60000));
    c.map = unknown;
    return "a program with the unknown op 60000";
  }
  if (family == FERRY_FAMILY_REDUCE) return attr(1, 60000), "the unknown reduction 60000";
  if (family == FERRY_FAMILY_POOL) return attr(2, 60000), "the unknown pooling 60000";
  if (family == FERRY_FAMILY_GATHER) return attr(1, 60000), "the unknown mode 60000";
  return "";
}

/// Fails unless the call is declined, or fails with a text.
void expect_refusal(KernelRunner& runner, const ferry_kernel& kernel, const KernelCase& c,
                    const std::string& what) {
  fail_text() = FailText();
  Seen seen;
  const ferry_rc rc = runner.try_run(kernel, c, &seen);
  if (rc == FERRY_DECLINED) return;
  expect(rc < 0, "{} gives {}, neither FERRY_DECLINED nor an error", what, rc_name(rc));
  expect(!fail_text().text.empty(), "{} gives {} without a text through host->fail", what,
         rc_name(rc));
  expect_nothing_outside(c, seen);
}

void refuse(const Family& family, const std::string& path) {
  KernelRunner runner(path);
  int asked = 0;
  for (const ferry_kernel* kernel : runner.kernels_of(short_name(family.name))) {
    if (std::string(kernel->family) != family.name) continue;
    for (ferry_dtype dtype = FERRY_BOOL; dtype <= FERRY_F64; ++dtype) {
      if (!has(kernel->dtypes, dtype)) continue;
      bool first = true;
      family.cases(dtype, kernel->dtypes, Flavour::kFew, [&](KernelCase c) {
        if (!first) return;
        first = false;
        if (family.cases == gather_cases) {
          KernelCase outside = c;
          outside.in[1].values.data.back() = static_cast<double>(c.in[0].values.shape[0]);
          expect_refusal(runner, *kernel, outside, "an index one too large, of " + c.name + ",");
          outside.in[1].values.data.back() = -1;
          expect_refusal(runner, *kernel, outside, "an index of -1, of " + c.name + ",");
        }
        const std::string what = make_impossible(family.name, c);
        if (what.empty()) return;
        ++asked;
        expect_refusal(runner, *kernel, c, what);
      });
    }
  }
  if (asked == 0) not_applicable("{} has no call that every kernel must refuse", family.name);
}

void empty(const Family&, const std::string&) {
  not_applicable("no kernel sees a tensor without elements: the host settles them (abi/types.h)");
}

using Question = void (*)(const Family&, const std::string& path);
constexpr std::pair<const char*, Question> kQuestions[] = {
    {"values", values},   {"guard", guard},   {"inputs", inputs},
    {"strides", strides}, {"offset", offset}, {"nan", nan},
    {"repeat", repeat},   {"empty", empty},   {"refuse", refuse}};

}  // namespace

std::vector<Check> kernel_checks(const std::vector<std::string>& families) {
  std::vector<Check> out;
  for (const std::string& name : families) {
    const auto* known = std::find_if(std::begin(kFamilies), std::end(kFamilies),
                                     [&](const Family& f) { return name == f.name; });
    for (const auto& [question, ask] : kQuestions) {
      const std::string id = "kernels." + short_name(name) + "." + question;
      if (known == std::end(kFamilies)) {
        out.push_back({id, [name](const std::string&) {
                         not_applicable("the judge does not know the family {}", name);
                       }});
      } else {
        out.push_back({id, [known, ask = ask](const std::string& path) { ask(*known, path); }});
      }
    }
  }
  return out;
}

}  // namespace ferry::verify
