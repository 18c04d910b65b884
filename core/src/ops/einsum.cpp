// SPDX-License-Identifier: Apache-2.0
//
// einsum: operands joined from the left, each pair as one batched product.
#include <algorithm>
#include <array>
#include <string>

#include "ferry/functional.h"
#include "ops/floating.h"
#include "tensor/tensor_impl.h"

namespace ferry {
namespace {

/// A letter, or kDots + k for the dimension that is k-th from the end of "...".
using Label = int;
using Labels = std::vector<Label>;
constexpr Label kDots = 256;
constexpr Label kEllipsis = -1;  ///< until the number of its dimensions is known

[[noreturn]] void refuse(std::string_view equation, const std::string& why) {
  throw InvalidArgument("einsum", why + " in \"" + std::string(equation) + "\"");
}

bool has(const Labels& labels, Label l) {
  return std::find(labels.begin(), labels.end(), l) != labels.end();
}

/// Labels of one term, with kEllipsis for "...".
Labels parse_term(std::string_view term, std::string_view equation) {
  Labels out;
  for (size_t i = 0; i < term.size(); ++i) {
    const char c = term[i];
    if (c == ' ') continue;
    if (c == '.') {
      if (term.substr(i, 3) != "..." || has(out, kEllipsis)) refuse(equation, "misplaced '.'");
      out.push_back(kEllipsis);
      i += 2;
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      out.push_back(c);
    } else {
      refuse(equation, std::string("'") + c + "' names no dimension: only letters do");
    }
  }
  return out;
}

/// kEllipsis replaced by the labels of `count` dimensions.
Labels with_dots(const Labels& labels, int64_t count) {
  Labels out;
  for (const Label l : labels) {
    if (l != kEllipsis) out.push_back(l);
    for (int64_t k = count; l == kEllipsis && k > 0; --k) {
      out.push_back(kDots + static_cast<Label>(k - 1));
    }
  }
  return out;
}

/// A tensor whose dimensions have names, each once.
struct Named {
  Tensor tensor;
  Labels labels;

  int64_t at(Label l) const { return std::find(labels.begin(), labels.end(), l) - labels.begin(); }
  /// Without the dimensions of which `keep` says no.
  template <class F>
  Named summed_to(F&& keep) const {
    Shape dims;
    Labels left;
    for (size_t d = 0; d < labels.size(); ++d) {
      keep(labels[d]) ? left.push_back(labels[d]) : dims.push_back(static_cast<int64_t>(d));
    }
    return dims.empty() ? *this : Named{sum(tensor, dims).to(tensor.dtype()), left};
  }
  /// Exactly these dimensions in this order; absent ones have size 1.
  Tensor ordered(const Labels& order) const {
    Shape dims;
    for (const Label l : order) {
      if (has(labels, l)) dims.push_back(at(l));
    }
    Tensor out = tensor.permute(dims);
    for (size_t d = 0; d < order.size(); ++d) {
      if (!has(labels, order[d])) out = out.unsqueeze(static_cast<int64_t>(d));
    }
    return out;
  }
};

/// A label that stands twice becomes one dimension, along the diagonal.
Named diagonal(const Tensor& x, const Labels& labels, std::string_view equation) {
  Labels own;
  Shape shape, strides;
  const Shape steps = x.strides();
  for (size_t d = 0; d < labels.size(); ++d) {
    const auto found = std::find(own.begin(), own.end(), labels[d]);
    const auto i = static_cast<size_t>(found - own.begin());
    const int64_t size = x.size(static_cast<int64_t>(d));
    if (found == own.end()) {
      own.push_back(labels[d]);
      shape.push_back(size);
      strides.push_back(steps[d]);
    } else if (shape[i] == size) {
      strides[i] += steps[d];
    } else {
      refuse(equation, std::string("'") + static_cast<char>(labels[d]) + "' has sizes " +
                           std::to_string(shape[i]) + " and " + std::to_string(size));
    }
  }
  return {own.size() == labels.size() ? x : x.as_strided(shape, strides, x.storage_offset()), own};
}

/// Operands with their labels, and those of the result.
struct Problem {
  std::vector<Named> operands;
  Labels result;
};

Labels implied_result(const std::vector<Labels>& terms, int64_t dots) {
  std::array<int, 256> seen{};
  for (const Labels& term : terms) {
    for (const Label l : term) {
      if (l != kEllipsis) ++seen[static_cast<size_t>(l)];
    }
  }
  Labels out = with_dots({kEllipsis}, dots);
  for (Label l = 0; l < kDots; ++l) {
    if (seen[static_cast<size_t>(l)] == 1) out.push_back(l);
  }
  return out;
}

std::vector<Labels> parse_terms(std::string_view left, std::string_view equation) {
  std::vector<Labels> terms;
  for (size_t begin = 0; begin <= left.size();) {
    const size_t comma = std::min(left.find(',', begin), left.size());
    terms.push_back(parse_term(left.substr(begin, comma - begin), equation));
    begin = comma + 1;
  }
  return terms;
}

Problem parse(std::string_view equation, const std::vector<Tensor>& operands) {
  const size_t arrow = equation.find("->");
  const std::vector<Labels> terms = parse_terms(equation.substr(0, arrow), equation);
  if (terms.size() != operands.size()) {
    refuse(equation, std::to_string(terms.size()) + " terms for " +
                         std::to_string(operands.size()) + " operands");
  }
  Problem problem;
  int64_t dots = 0;
  Labels known;
  for (size_t i = 0; i < terms.size(); ++i) {
    const detail::TensorImpl& impl = detail::impl_of(operands[i], "einsum");
    const auto letters = static_cast<int64_t>(terms[i].size()) - (has(terms[i], kEllipsis) ? 1 : 0);
    const int64_t covered = int64_t{impl.ndim} - letters;
    if (covered < 0 || (covered > 0 && !has(terms[i], kEllipsis))) {
      refuse(equation, "term " + std::to_string(i) + " does not name the dimensions of shape " +
                           to_string(impl.shape()));
    }
    dots = std::max(dots, covered);
    problem.operands.push_back(diagonal(operands[i], with_dots(terms[i], covered), equation));
    known.insert(known.end(), problem.operands[i].labels.begin(), problem.operands[i].labels.end());
  }
  if (arrow == std::string_view::npos) {
    problem.result = implied_result(terms, dots);
    return problem;
  }
  problem.result = with_dots(parse_term(equation.substr(arrow + 2), equation), dots);
  for (size_t d = 0; d < problem.result.size(); ++d) {
    const Label l = problem.result[d];
    if (!has(known, l)) refuse(equation, "a dimension of the result is in no operand");
    if (has(Labels(problem.result.begin(), problem.result.begin() + static_cast<int64_t>(d)), l)) {
      refuse(equation, "a dimension stands twice in the result");
    }
  }
  return problem;
}

/// Sizes of one label agree, or are 1 and repeat.
void broadcast_labels(Named& a, Named& b, std::string_view equation) {
  for (const Label l : a.labels) {
    if (!has(b.labels, l)) continue;
    const int64_t m = a.tensor.size(a.at(l)), n = b.tensor.size(b.at(l));
    if (m == n) continue;
    if (m != 1 && n != 1) {
      refuse(equation, (l < kDots ? std::string("'") + static_cast<char>(l) + "'" : "'...'") +
                           " has sizes " + std::to_string(m) + " and " + std::to_string(n));
    }
    Named& narrow = m == 1 ? a : b;
    Shape shape = narrow.tensor.shape();
    shape[static_cast<size_t>(narrow.at(l))] = std::max(m, n) * std::min(m, n);
    narrow.tensor = narrow.tensor.expand(shape);
  }
}

int64_t product_of(const Shape& sizes) {
  int64_t out = 1;
  for (const int64_t s : sizes) out *= s;
  return out;
}

/// Both as one product: batch labels are in both and kept, inner ones in both
/// and not kept, the rest rows and columns.
template <class F>
Named contract(Named a, Named b, F&& kept, std::string_view equation) {
  broadcast_labels(a, b, equation);
  a = a.summed_to([&](Label l) { return kept(l) || has(b.labels, l); });
  b = b.summed_to([&](Label l) { return kept(l) || has(a.labels, l); });
  Labels batch, inner, rows, columns;
  for (const Label l : a.labels) {
    (!has(b.labels, l) ? rows : kept(l) ? batch : inner).push_back(l);
  }
  for (const Label l : b.labels) {
    if (!has(a.labels, l)) columns.push_back(l);
  }
  Labels result = batch;
  result.insert(result.end(), rows.begin(), rows.end());
  result.insert(result.end(), columns.begin(), columns.end());
  if (inner.empty()) return {a.ordered(result) * b.ordered(result), result};
  const auto sizes = [](const Named& x, const Labels& labels) {
    Shape out;
    for (const Label l : labels) out.push_back(x.tensor.size(x.at(l)));
    return out;
  };
  const auto joined = [](Labels x, const Labels& y, const Labels& z) {
    x.insert(x.end(), y.begin(), y.end());
    x.insert(x.end(), z.begin(), z.end());
    return x;
  };
  const int64_t n = product_of(sizes(a, batch)), k = product_of(sizes(a, inner));
  const Tensor left =
      a.ordered(joined(batch, rows, inner)).reshape({n, product_of(sizes(a, rows)), k});
  const Tensor right =
      b.ordered(joined(batch, inner, columns)).reshape({n, k, product_of(sizes(b, columns))});
  Shape shape = sizes(a, batch);
  for (const int64_t s : sizes(a, rows)) shape.push_back(s);
  for (const int64_t s : sizes(b, columns)) shape.push_back(s);
  return {matmul(left, right).reshape(shape), result};
}

}  // namespace

Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands) {
  Problem problem = parse(equation, operands);
  Named left = problem.operands[0];
  for (size_t i = 1; i < problem.operands.size(); ++i) {
    const auto kept = [&](Label l) {
      return has(problem.result, l) ||
             std::any_of(problem.operands.begin() + static_cast<int64_t>(i) + 1,
                         problem.operands.end(),
                         [l](const Named& later) { return has(later.labels, l); });
    };
    left = contract(left, problem.operands[i], kept, equation);
  }
  left = left.summed_to([&](Label l) { return has(problem.result, l); });
  return left.ordered(problem.result);
}

}  // namespace ferry
