// Each differentiable piece of the model, in both forms, against its formula written out in double precision: values,
// and gradients by central differences of the formula.
//
// Legend: B rows, T positions, C model width, H query heads, K key/value heads, D head size, F MLP width, V vocabulary.
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <functional>
#include <ostream>

#include "fixture.hpp"
#include "functions.hpp"

namespace stc::reference_transformer {
namespace {

using Vec = std::vector<double>;
/// The formula: all inputs, one after the other, to all outputs.
using Formula = std::function<Vec(const Vec&)>;

constexpr double kEpsilon = 1e-5;
constexpr double kRopeBase = 10000.0;

/// y = x w / sqrt(mean(x^2) + eps), x (rows, C) and then w (C).
Vec rms_norm(const Vec& in, size_t rows, size_t c) {
  Vec out(rows * c);
  for (size_t r = 0; r < rows; ++r) {
    double squares = 0;
    for (size_t i = 0; i < c; ++i) squares += in[r * c + i] * in[r * c + i];
    const double scale = 1.0 / std::sqrt(squares / static_cast<double>(c) + kEpsilon);
    for (size_t i = 0; i < c; ++i) out[r * c + i] = in[r * c + i] * scale * in[rows * c + i];
  }
  return out;
}

/// silu(gate) up of (rows, 2F), gate then up.
Vec swiglu(const Vec& in, size_t rows, size_t f) {
  Vec out(rows * f);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t i = 0; i < f; ++i) {
      const double gate = in[r * 2 * f + i];
      out[r * f + i] = gate / (1.0 + std::exp(-gate)) * in[r * 2 * f + f + i];
    }
  }
  return out;
}

struct Heads {
  size_t rows, time, heads, kv_heads, dim;
  size_t qkv() const { return (heads + 2 * kv_heads) * dim; }
};

/// Element j of the head that begins at `head`, turned by position * base^(-2j/D): rotate-half form.
double rotated(const double* head, size_t j, size_t position, size_t dim) {
  const size_t half = dim / 2;
  const size_t pair = j % half;
  const double angle =
      static_cast<double>(position) * std::pow(kRopeBase, -2.0 * static_cast<double>(pair) / static_cast<double>(dim));
  const double other = j < half ? -head[j + half] : head[j - half];
  return head[j] * std::cos(angle) + other * std::sin(angle);
}

/// sum_t' softmax(q_t . k_t' / sqrt(D)) v_t' over keys t' <= t that the mask (B,T) shows, for one query. in (B*T, qkv).
Vec attend(const Vec& in, const Heads& s, const std::vector<bool>& mask, size_t row, size_t t, size_t head) {
  const auto at = [&](size_t position, size_t index) {
    return in.data() + (row * s.time + position) * s.qkv() + index * s.dim;
  };
  const size_t kv = s.heads + head / (s.heads / s.kv_heads);
  Vec out(s.dim), scores(t + 1);
  double top = -1e300, sum = 0;
  for (size_t u = 0; u <= t; ++u) {
    for (size_t j = 0; j < s.dim; ++j) {
      scores[u] += rotated(at(t, head), j, t, s.dim) * rotated(at(u, kv), j, u, s.dim);
    }
    scores[u] /= std::sqrt(static_cast<double>(s.dim));
    if (mask[row * s.time + u]) top = std::max(top, scores[u]);
  }
  for (size_t u = 0; u <= t; ++u) {
    if (!mask[row * s.time + u]) continue;
    const double weight = std::exp(scores[u] - top);
    sum += weight;
    for (size_t j = 0; j < s.dim; ++j) out[j] += weight * at(u, kv + s.kv_heads)[j];
  }
  for (double& value : out) value = sum > 0 ? value / sum : 0.0;  // no key: 0
  return out;
}

Vec attention(const Vec& in, const Heads& s, const std::vector<bool>& mask) {
  Vec out;
  for (size_t row = 0; row < s.rows; ++row) {
    for (size_t t = 0; t < s.time; ++t) {
      for (size_t head = 0; head < s.heads; ++head) {
        for (const double value : attend(in, s, mask, row, t, head)) out.push_back(value);
      }
    }
  }
  return out;
}

/// Mean of -log softmax(x W^T)[label] over labels other than -100, x (rows, C) and then W (V, C); 0 where there are
/// none.
Vec cross_entropy(const Vec& in, const std::vector<int64_t>& labels, size_t c, size_t v) {
  const double* w = in.data() + labels.size() * c;
  double total = 0, count = 0;
  for (size_t r = 0; r < labels.size(); ++r) {
    if (labels[r] == -100) continue;
    double sum = 0, chosen = 0;
    for (size_t i = 0; i < v; ++i) {
      double logit = 0;
      for (size_t j = 0; j < c; ++j) logit += in[r * c + j] * w[i * c + j];
      sum += std::exp(logit);
      if (static_cast<int64_t>(i) == labels[r]) chosen = logit;
    }
    total += std::log(sum) - chosen;
    count += 1;
  }
  return {count > 0 ? total / count : 0.0};
}

/// normal-like numbers in (-2, 2).
at::Tensor numbers(at::IntArrayRef shape, uint64_t seed) {
  at::Tensor out = at::empty(shape, at::kFloat);
  for (int64_t i = 0; i < out.numel(); ++i) {
    const uint64_t bits = random64(seed, static_cast<uint64_t>(i)) >> 40;
    out.data_ptr<float>()[i] = static_cast<float>(bits) / static_cast<float>(1 << 22) - 2.0F;
  }
  return out;
}

Vec doubles(std::initializer_list<at::Tensor> tensors) {
  Vec out;
  for (const at::Tensor& t : tensors) {
    const at::Tensor flat = t.detach().contiguous().to(at::kDouble);
    out.insert(out.end(), flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel());
  }
  return out;
}

/// Largest difference, over the largest expected value.
void check_close(const Vec& found, const Vec& expected, double tolerance, const char* what) {
  BOOST_REQUIRE_EQUAL(found.size(), expected.size());
  double scale = 0, difference = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    scale = std::max(scale, std::abs(expected[i]));
    difference = std::max(difference, std::abs(found[i] - expected[i]));
    BOOST_REQUIRE(std::isfinite(found[i]));
  }
  BOOST_TEST_INFO(what << ": " << difference << " of " << scale);
  BOOST_CHECK_LE(difference, tolerance * scale);
}

/// Of sum_i cotangent_i formula(in)_i with respect to every input; its own error is about 1e-9.
Vec gradient(const Formula& formula, const Vec& in, const Vec& cotangent) {
  constexpr double kStep = 1e-5;
  Vec out(in.size());
  Vec moved = in;
  const auto value = [&] {
    const Vec y = formula(moved);
    double sum = 0;
    for (size_t i = 0; i < y.size(); ++i) sum += cotangent[i] * y[i];
    return sum;
  };
  for (size_t i = 0; i < in.size(); ++i) {
    moved[i] = in[i] + kStep;
    const double high = value();
    moved[i] = in[i] - kStep;
    out[i] = (high - value()) / (2 * kStep);
    moved[i] = in[i];
  }
  return out;
}

/// A small model's parameters, and the pieces that work on them.
struct Pieces {
  explicit Pieces(bool composed) {
    config.vocab_size = 11;
    config.block_size = 8;
    config.n_layer = 1;
    config.n_head = 3;
    config.n_kv_head = 1;
    config.d_model = 18;
    config.d_ff = 24;
    config.tie_weights = false;
    parameters = std::make_shared<Parameters>(config, at::kCPU);
    f = composed ? make_composed_functions(parameters)
                 : make_cpu_functions(parameters, cpu_kernels(), threads(ways), /*bf16=*/false);
    f->start(/*accumulate=*/false);
  }
  Config config;
  int ways = 2;
  std::shared_ptr<Parameters> parameters;
  std::shared_ptr<Functions> f;
};

void set(Slice& slice, const at::Tensor& value) {
  const at::NoGradGuard no_grad;
  slice.value.copy_(value);
}

/// \param y what the piece gave for x; \param weight the slice that it used, or null.
void check_piece(const Formula& formula, const at::Tensor& x, Pieces& pieces, Slice* weight, const at::Tensor& y) {
  const Vec in = weight != nullptr ? doubles({x, weight->value}) : doubles({x});
  check_close(doubles({y}), formula(in), 2e-6, "values");
  const at::Tensor cotangent = numbers(y.sizes(), 99);
  (y * cotangent).sum().backward();
  if (weight != nullptr) pieces.parameters->settle(*weight);
  check_close(weight != nullptr ? doubles({x.grad(), weight->grad}) : doubles({x.grad()}),
              gradient(formula, in, doubles({cotangent})), 3e-6, "gradients");
}

const auto kForms = boost::unit_test::data::make({false, true});

BOOST_AUTO_TEST_SUITE(formulas)

BOOST_DATA_TEST_CASE(rms_norm_is_its_formula, kForms, composed) {
  Pieces pieces(composed);
  Slice& weight = pieces.parameters->ln_f;
  set(weight, numbers({18}, 2));
  const at::Tensor x = numbers({5, 18}, 1).requires_grad_();
  check_piece([](const Vec& in) { return rms_norm(in, 5, 18); }, x, pieces, &weight, pieces.f->norm(x, weight));
}

BOOST_DATA_TEST_CASE(swiglu_is_its_formula, kForms, composed) {
  Pieces pieces(composed);
  const at::Tensor x = numbers({4, 2 * 9}, 3).requires_grad_();
  check_piece([](const Vec& in) { return swiglu(in, 4, 9); }, x, pieces, nullptr, pieces.f->swiglu(x));
}

struct Mask {
  const char* name;
  std::vector<bool> seen;  // (2,6); empty: all
  friend std::ostream& operator<<(std::ostream& out, const Mask& mask) { return out << mask.name; }
};
const Mask kMasks[] = {
    {"no padding", {}},
    {"right padding", {1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0}},
    {"left padding", {0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
    {"a row of padding", {1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0}},
    {"holes", {1, 0, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1}},
};

BOOST_DATA_TEST_CASE(attention_with_rotary_positions_is_its_formula, kForms* boost::unit_test::data::make(kMasks),
                     composed, mask) {
  for (const size_t kv_heads : {size_t{1}, size_t{2}, size_t{4}}) {
    const Heads s{2, 6, 4, kv_heads, 6};
    Pieces pieces(composed);
    AttentionInfo info;
    info.shape = {2, 6, static_cast<int64_t>(kv_heads), static_cast<int64_t>(4 / kv_heads), 6};
    info.rope = make_rope(8, 6, kRopeBase, at::kCPU);
    std::vector<bool> seen = mask.seen;
    if (seen.empty()) {
      seen.assign(12, true);
    } else {
      info.mask = at::empty({2, 6}, at::kBool);
      for (size_t i = 0; i < seen.size(); ++i) info.mask.data_ptr<bool>()[i] = seen[i];
    }
    const at::Tensor qkv = numbers({12, static_cast<int64_t>(s.qkv())}, 4 + kv_heads).requires_grad_();
    check_piece([&](const Vec& in) { return attention(in, s, seen); }, qkv, pieces, nullptr,
                pieces.f->attention(qkv, info));
  }
}

BOOST_DATA_TEST_CASE(head_and_cross_entropy_are_their_formula, kForms, composed) {
  for (const std::vector<int64_t>& labels :
       {std::vector<int64_t>{0, 3, 10, 5, 5}, std::vector<int64_t>{-100, 3, -100, 10, 0}}) {
    Pieces pieces(composed);
    Slice& weight = pieces.parameters->head();
    set(weight, numbers({11, 18}, 6));
    const at::Tensor x = numbers({5, 18}, 5).requires_grad_();
    at::Tensor targets = at::empty({5}, at::kLong);
    for (size_t i = 0; i < labels.size(); ++i) targets.data_ptr<int64_t>()[i] = labels[i];
    check_piece([&](const Vec& in) { return cross_entropy(in, labels, 18, 11); }, x, pieces, &weight,
                pieces.f->head_loss(x, targets, weight));
  }
}

BOOST_DATA_TEST_CASE(without_a_label_loss_and_gradients_are_zero, kForms, composed) {
  Pieces pieces(composed);
  Slice& weight = pieces.parameters->head();
  set(weight, numbers({11, 18}, 6));
  const at::Tensor x = numbers({5, 18}, 5).requires_grad_();
  const at::Tensor loss = pieces.f->head_loss(x, at::full({5}, -100, at::kLong), weight);
  BOOST_CHECK_EQUAL(loss.item<double>(), 0.0);
  loss.backward();
  pieces.parameters->settle(weight);
  BOOST_CHECK_EQUAL(x.grad().abs().max().item<double>(), 0.0);
  BOOST_CHECK_EQUAL(weight.grad.abs().max().item<double>(), 0.0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::reference_transformer
