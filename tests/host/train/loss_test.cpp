#include <cmath>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <boost/test/unit_test.hpp>

#include "host/errors/error.hpp"
#include "host/train/loss.hpp"
#include "host/train/tensor_bridge.hpp"

namespace stc::host {
namespace {

constexpr int64_t B = 2, T = 3, V = 5;

/// Logits (B,T,V) with distinct values, requiring gradients.
at::Tensor make_logits() {
  at::Tensor logits_BTV = at::empty({B, T, V}, at::kFloat);
  auto* values = logits_BTV.mutable_data_ptr<float>();
  for (int64_t i = 0; i < B * T * V; ++i) values[i] = static_cast<float>(std::sin(1.7 * double(i)));
  logits_BTV.set_requires_grad(true);
  return logits_BTV;
}

at::Tensor make_labels(const std::vector<int64_t>& values, int64_t columns) {
  return at::tensor(values, at::kLong).reshape({B, columns});
}

/// Mean of -log softmax over the labels that count, in double.
double expected_loss(const at::Tensor& logits_BTV, const std::vector<int64_t>& labels, int64_t columns) {
  const auto* x = logits_BTV.const_data_ptr<float>();
  double sum = 0;
  int64_t count = 0;
  for (int64_t b = 0; b < B; ++b) {
    for (int64_t t = 0; t < columns; ++t) {
      const int64_t label = labels[static_cast<size_t>(b * columns + t)];
      if (label == -100) continue;
      const float* row = x + (b * T + t) * V;
      double total = 0;
      for (int64_t v = 0; v < V; ++v) total += std::exp(double(row[v]));
      sum += std::log(total) - double(row[label]);
      ++count;
    }
  }
  return sum / double(count);
}

bool mentions(const std::exception& error, const char* text) {
  return std::string(error.what()).find(text) != std::string::npos;
}

BOOST_AUTO_TEST_SUITE(loss)

BOOST_AUTO_TEST_CASE(uses_aligned_labels_in_full) {
  const at::Tensor logits = make_logits();
  const std::vector<int64_t> labels = {0, 1, 2, 3, 4, 0};
  const double loss = causal_loss(logits, make_labels(labels, T)).item<double>();
  BOOST_CHECK_CLOSE(loss, expected_loss(logits, labels, T), 1e-4);
}

BOOST_AUTO_TEST_CASE(uses_all_but_the_last_position_for_shorter_labels) {
  const at::Tensor logits = make_logits();
  const std::vector<int64_t> labels = {0, 1, 3, 4};
  const double loss = causal_loss(logits, make_labels(labels, T - 1)).item<double>();
  BOOST_CHECK_CLOSE(loss, expected_loss(logits, labels, T - 1), 1e-4);
}

BOOST_AUTO_TEST_CASE(leaves_ignored_labels_out_of_the_mean) {
  const at::Tensor logits = make_logits();
  const std::vector<int64_t> labels = {-100, 1, -100, 3, 4, -100};
  const double loss = causal_loss(logits, make_labels(labels, T)).item<double>();
  BOOST_CHECK_CLOSE(loss, expected_loss(logits, labels, T), 1e-4);
}

BOOST_AUTO_TEST_CASE(is_a_differentiable_zero_when_everything_is_ignored) {
  const at::Tensor logits = make_logits();
  const at::Tensor loss = causal_loss(logits, make_labels(std::vector<int64_t>(B * T, -100), T));
  BOOST_CHECK_EQUAL(loss.item<double>(), 0.0);
  loss.backward();
  BOOST_REQUIRE(logits.grad().defined());
  BOOST_CHECK_EQUAL(logits.grad().abs().sum().item<double>(), 0.0);
}

BOOST_AUTO_TEST_CASE(refuses_labels_that_no_class_has) {
  for (const int64_t wrong : {int64_t{-4}, int64_t{-1}, V, int64_t{1} << 31}) {
    BOOST_TEST_CONTEXT("label=" << wrong) {
      BOOST_CHECK_EXCEPTION(
          causal_loss(make_logits(), make_labels({0, 1, wrong, 0, 0, 0}, T)), DataError, [&](const DataError& error) {
            return mentions(error, std::to_string(wrong).c_str()) && mentions(error, "expected 0..4 or -100");
          });
    }
  }
}

BOOST_AUTO_TEST_CASE(names_both_shapes_when_labels_do_not_fit) {
  BOOST_CHECK_EXCEPTION(causal_loss(make_logits(), at::full({B, T + 1}, 0, at::kLong)), ShapeError,
                        [](const ShapeError& error) { return mentions(error, "(2,4)") && mentions(error, "(2,3,5)"); });
}

BOOST_AUTO_TEST_CASE(takes_the_mean_of_a_loss_that_is_not_a_scalar) {
  ModelOutputs outputs;
  outputs.items.emplace_back("loss", TensorHandle(to_handle(at::tensor({1.0f, 2.0f, 6.0f}))));
  BOOST_CHECK_CLOSE(loss_of(outputs, {}, "m").item<double>(), 3.0, 1e-6);
}

BOOST_AUTO_TEST_CASE(says_what_is_missing_when_a_model_returns_nothing_usable) {
  BOOST_CHECK_EXCEPTION(loss_of(ModelOutputs{}, {}, "m"), ShapeError, [](const ShapeError& error) {
    return mentions(error, "model m: returned neither loss nor logits");
  });
  ModelOutputs outputs;
  outputs.items.emplace_back("logits", TensorHandle(to_handle(make_logits())));
  BOOST_CHECK_EXCEPTION(loss_of(outputs, {}, "m"), ShapeError,
                        [](const ShapeError& error) { return mentions(error, "no labels"); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::host
