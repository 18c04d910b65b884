// SPDX-License-Identifier: Apache-2.0
//
// The functions of shape_ops.h, indexing.h and sort_ops.h against what PyTorch
// gave for the same arguments (make_shape_fixtures.py), on every device.
#include <sstream>

#include "ferry/indexing.h"
#include "ferry/shape_ops.h"
#include "ferry/sort_ops.h"
#include "function_cases.h"

namespace ferry::test {
namespace {

using indexing::Slice;
using indexing::TensorIndex;

class ShapeCases : public OnDevice {};
FERRY_ON_EVERY_DEVICE(ShapeCases);

using Out = std::vector<Tensor>;
using Case = const FunctionCase&;

/// "1:" or ":5" or "1:9:2".
Slice slice_of(const std::string& text) {
  std::optional<int64_t> parts[3];
  std::istringstream in(text);
  std::string part;
  for (int i = 0; std::getline(in, part, ':'); ++i) {
    if (!part.empty()) parts[i] = std::stoll(part);
  }
  return {parts[0], parts[1], parts[2]};
}

std::vector<TensorIndex> indices_of(Case c) {
  std::vector<TensorIndex> out;
  std::istringstream words(c.text("words"));
  std::string w;
  while (std::getline(words, w, ',')) {
    if (w == "None") {
      out.emplace_back(indexing::None);
    } else if (w == "...") {
      out.emplace_back(indexing::Ellipsis);
    } else if (w == "True" || w == "False") {
      out.emplace_back(w == "True");
    } else if (w[0] == 't') {
      out.emplace_back(c.tensor(w));
    } else if (w.find(':') != std::string::npos) {
      out.emplace_back(slice_of(w));
    } else {
      out.emplace_back(std::stoll(w));
    }
  }
  return out;
}

const FunctionTable kIndexing = {
    {"index", [](Case c) -> Out { return {index(c.tensor("x"), indices_of(c))}; }},
    {"index_put",
     [](Case c) -> Out {
       const Tensor x = c.tensor("x").clone();
       return {index_put_(x, indices_of(c), c.tensor("value"), c.flag("accumulate"))};
     }},
};

const FunctionTable kViews = {
    {"movedim", [](Case c) -> Out { return {movedim(c.tensor("x"), c.ints("a"), c.ints("b"))}; }},
    {"split", [](Case c) { return split(c.tensor("x"), c.integer("size"), c.integer("dim")); }},
    {"split_sizes", [](Case c) { return split(c.tensor("x"), c.ints("sizes"), c.integer("dim")); }},
    {"chunk",
     [](Case c) { return chunk(c.tensor("input"), c.integer("chunks"), c.integer("dim")); }},
    {"tensor_split",
     [](Case c) { return tensor_split(c.tensor("x"), c.integer("n"), c.integer("dim")); }},
    {"tensor_split_at",
     [](Case c) { return tensor_split(c.tensor("x"), c.ints("at"), c.integer("dim")); }},
    {"unbind", [](Case c) { return unbind(c.tensor("input"), c.integer("dim")); }},
    {"unfold",
     [](Case c) -> Out {
       return {unfold(c.tensor("x"), c.integer("dim"), c.integer("size"), c.integer("step"))};
     }},
    {"diagonal",
     [](Case c) -> Out {
       return {
           diagonal(c.tensor("input"), c.integer("offset"), c.integer("dim1"), c.integer("dim2"))};
     }},
    {"meshgrid",
     [](Case c) {
       return meshgrid({c.tensor("a"), c.tensor("b")}, c.text("order"));
     }},
};

PadMode mode_of(Case c) {
  const std::string mode = c.text("mode");
  return mode == "reflect"     ? PadMode::kReflect
         : mode == "replicate" ? PadMode::kReplicate
         : mode == "circular"  ? PadMode::kCircular
                               : PadMode::kConstant;
}

const FunctionTable kCopies = {
    {"flip", [](Case c) -> Out { return {flip(c.tensor("x"), c.ints("dims"))}; }},
    {"roll", [](Case c) -> Out { return {roll(c.tensor("x"), c.ints("shifts"), c.ints("dims"))}; }},
    {"repeat", [](Case c) -> Out { return {repeat(c.tensor("x"), c.ints("times"))}; }},
    {"tile", [](Case c) -> Out { return {tile(c.tensor("x"), c.ints("times"))}; }},
    {"repeat_interleave",
     [](Case c) -> Out {
       std::optional<int64_t> dim;
       if (c.has("dim")) dim = c.integer("dim");
       return {repeat_interleave(c.tensor("x"), c.integer("n"), dim)};
     }},
    {"stack",
     [](Case c) -> Out {
       return {stack({c.tensor("a"), c.tensor("b")}, c.integer("dim"))};
     }},
    {"hstack",
     [](Case c) -> Out {
       return {hstack({c.tensor("a"), c.tensor("b")})};
     }},
    {"vstack",
     [](Case c) -> Out {
       return {vstack({c.tensor("a"), c.tensor("b")})};
     }},
    {"pad",
     [](Case c) -> Out {
       return {pad(c.tensor("x"), c.ints("padding"), mode_of(c), c.number("value", 0))};
     }},
};

const FunctionTable kMatrices = {
    {"tril", [](Case c) -> Out { return {tril(c.tensor("input"), c.integer("diagonal"))}; }},
    {"triu", [](Case c) -> Out { return {triu(c.tensor("input"), c.integer("diagonal"))}; }},
    {"diag", [](Case c) -> Out { return {diag(c.tensor("input"), c.integer("diagonal"))}; }},
    {"eye", [](Case c) -> Out { return {eye(c.integer("n"), c.integer("m"), c.device())}; }},
    {"linspace",
     [](Case c) -> Out {
       return {linspace(c.number("a"), c.number("b"), c.integer("n"), c.device())};
     }},
    {"one_hot", [](Case c) -> Out { return {one_hot(c.tensor("x"), c.integer("n"))}; }},
    {"outer", [](Case c) -> Out { return {outer(c.tensor("input"), c.tensor("vec2"))}; }},
};

const FunctionTable kScattering = {
    {"scatter",
     [](Case c) -> Out {
       return {scatter(c.tensor("input"), c.integer("dim"), c.tensor("index"), c.tensor("src"))};
     }},
    {"scatter_value",
     [](Case c) -> Out {
       const Tensor x = c.tensor("input").clone();
       return {scatter_(x, c.integer("dim"), c.tensor("index"), c.number("value"))};
     }},
    {"scatter_add",
     [](Case c) -> Out {
       return {
           scatter_add(c.tensor("input"), c.integer("dim"), c.tensor("index"), c.tensor("src"))};
     }},
    {"scatter_reduce",
     [](Case c) -> Out {
       return {scatter_reduce(c.tensor("input"), c.integer("dim"), c.tensor("index"),
                              c.tensor("src"), c.text("reduce"), c.flag("include_self"))};
     }},
    {"index_add",
     [](Case c) -> Out {
       const Tensor x = c.tensor("x").clone();
       return {index_add_(x, c.integer("dim"), c.tensor("index"), c.tensor("source"),
                          c.integer("alpha"))};
     }},
    {"index_copy",
     [](Case c) -> Out {
       const Tensor x = c.tensor("x").clone();
       return {index_copy_(x, c.integer("dim"), c.tensor("index"), c.tensor("source"))};
     }},
    {"index_fill",
     [](Case c) -> Out {
       const Tensor x = c.tensor("x").clone();
       return {index_fill_(x, c.integer("dim"), c.tensor("index"), c.number("value"))};
     }},
    {"masked_fill",
     [](Case c) -> Out {
       return {masked_fill(c.tensor("x"), c.tensor("mask"), c.number("value"))};
     }},
    {"masked_select",
     [](Case c) -> Out { return {masked_select(c.tensor("x"), c.tensor("mask"))}; }},
    {"nonzero", [](Case c) -> Out { return {nonzero(c.tensor("input"))}; }},
    {"take", [](Case c) -> Out { return {take(c.tensor("input"), c.tensor("index"))}; }},
    {"take_along_dim",
     [](Case c) -> Out {
       std::optional<int64_t> dim;
       if (c.has("dim")) dim = c.integer("dim");
       return {take_along_dim(c.tensor("input"), c.tensor("indices"), dim)};
     }},
};

Out both(const ValuesAndIndices& v) { return {v.values, v.indices}; }

const FunctionTable kSorting = {
    {"sort",
     [](Case c) { return both(sort(c.tensor("input"), c.integer("dim"), c.flag("descending"))); }},
    {"topk",
     [](Case c) {
       return both(topk(c.tensor("input"), c.integer("k"), c.integer("dim"), c.flag("largest")));
     }},
    {"cumsum", [](Case c) -> Out { return {cumsum(c.tensor("x"), c.integer("dim"))}; }},
    {"cumprod", [](Case c) -> Out { return {cumprod(c.tensor("x"), c.integer("dim"))}; }},
    {"unique",
     [](Case c) -> Out {
       const Unique u = unique(c.tensor("x"));
       return {u.values, u.inverse, u.counts};
     }},
    {"bincount",
     [](Case c) -> Out {
       return {bincount(c.tensor("input"), c.tensor("weights"), c.integer("minlength"))};
     }},
    {"searchsorted",
     [](Case c) -> Out {
       return {searchsorted(c.tensor("sorted_sequence"), c.tensor("input"), c.flag("right"))};
     }},
};

TEST_P(ShapeCases, Indexing) { run_cases(kIndexing, device(), 150); }
TEST_P(ShapeCases, Views) { run_cases(kViews, device(), 40); }
TEST_P(ShapeCases, Copies) { run_cases(kCopies, device(), 60); }
TEST_P(ShapeCases, Matrices) { run_cases(kMatrices, device(), 40); }
TEST_P(ShapeCases, Scattering) { run_cases(kScattering, device(), 100); }
TEST_P(ShapeCases, Sorting) { run_cases(kSorting, device(), 90); }

}  // namespace
}  // namespace ferry::test
