// The own kernels and their backward against the same model in LibTorch's operators and its autograd.
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <cstring>
#include <ostream>

#include "fixture.hpp"

namespace stc::reference_transformer {
namespace {

struct Case {
  const char* name;
  int64_t heads, kv_heads, width, time;
  double dropout;
  bool tied;
  Padding padding;
  bool checkpointing;
  friend std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }
};

const Case kCases[] = {
    {"plain", 4, 4, 64, 32, 0.0, true, Padding::kNone, false},
    {"grouped heads", 4, 2, 64, 32, 0.0, true, Padding::kNone, false},
    {"one key head", 4, 1, 64, 32, 0.0, true, Padding::kNone, false},
    {"own head matrix", 4, 2, 64, 32, 0.0, false, Padding::kNone, false},
    {"sizes off the vector grid", 3, 1, 42, 13, 0.0, false, Padding::kNone, false},
    {"one position", 4, 2, 64, 1, 0.0, true, Padding::kNone, false},
    {"right padding", 4, 2, 64, 32, 0.0, true, Padding::kRight, false},
    {"left padding", 4, 2, 64, 32, 0.0, true, Padding::kLeft, false},
    {"a row of padding", 4, 2, 64, 32, 0.0, true, Padding::kWholeRow, false},
    {"dropout", 4, 2, 64, 32, 0.2, true, Padding::kNone, false},
    {"dropout off the vector grid", 3, 1, 42, 13, 0.5, false, Padding::kNone, false},
    {"dropout and left padding", 4, 2, 64, 32, 0.2, true, Padding::kLeft, false},
    {"dropout and a row of padding", 4, 2, 64, 32, 0.2, true, Padding::kWholeRow, false},
    {"checkpointing", 4, 2, 64, 32, 0.0, true, Padding::kNone, true},
    {"checkpointing and dropout", 4, 2, 64, 32, 0.2, true, Padding::kRight, true},
};

Config config_of(const Case& c) {
  Config config = small_config();
  config.n_head = c.heads;
  config.n_kv_head = c.kv_heads;
  config.d_model = c.width;
  config.dropout = c.dropout;
  config.tie_weights = c.tied;
  return config;
}

Batch batch_of(const Case& c, uint64_t seed) {
  Batch batch = make_batch(3, c.time, 128, seed);
  batch.labels.view({-1})[0] = -100;
  pad(batch, c.padding);
  return batch;
}

struct Result {
  std::vector<double> losses;
  std::vector<at::Tensor> gradients;
};

/// Two accumulated micro-batches, the second weighted by 0.25.
Result run(const Case& c, Transformer::Options options, bool checkpointing, bool bf16 = false) {
  Transformer model(config_of(c), options);
  model.init(7);
  spread_weights(model);
  model.set_gradient_checkpointing(checkpointing);
  Result out;
  for (int micro = 0; micro < 2; ++micro) {
    const Batch batch = batch_of(c, 100 + static_cast<uint64_t>(micro));
    const ForwardPass pass{true, micro > 0, 55 + static_cast<uint64_t>(micro)};
    at::Tensor loss;
    {
      const Bf16 autocast(bf16);
      loss = model.forward(pass, batch.ids, batch.labels, batch.mask).loss;
    }
    out.losses.push_back(loss.item<double>());
    (micro == 0 ? loss : loss * 0.25).backward();
  }
  out.gradients = gradients(model);
  return out;
}

Transformer::Options composed() {
  Transformer::Options options;
  options.composed = true;
  return options;
}

BOOST_AUTO_TEST_SUITE(agreement)

BOOST_DATA_TEST_CASE(own_kernels_agree_with_autograd, boost::unit_test::data::make(kCases), c) {
  const Result own = run(c, {}, c.checkpointing);
  const Result reference = run(c, composed(), c.checkpointing);
  for (size_t i = 0; i < own.losses.size(); ++i) BOOST_CHECK_CLOSE(own.losses[i], reference.losses[i], 2e-4);
  for (size_t i = 0; i < own.gradients.size(); ++i) {
    BOOST_CHECK(finite(own.gradients[i]));
    BOOST_CHECK_GT(reference.gradients[i].abs().max().item<double>(), 0.0);
  }
  BOOST_CHECK_LT(largest_difference(own.gradients, reference.gradients), 1e-5);
}

/// Both round the same values to bf16, but for the scores and probabilities inside of attention and for weight
/// gradients, which the own kernels keep in fp32. What differs in the last bit before is a whole bf16 step after.
BOOST_DATA_TEST_CASE(own_kernels_agree_with_autocast_to_bf16, boost::unit_test::data::make(kCases), c) {
  const Result own = run(c, {}, c.checkpointing, true);
  const Result autocast = run(c, composed(), c.checkpointing, true);
  const Result fp32 = run(c, {}, c.checkpointing);
  double rounding = 0.0;
  for (size_t i = 0; i < own.losses.size(); ++i) {
    BOOST_CHECK_CLOSE(own.losses[i], autocast.losses[i], 0.2);
    rounding = std::max(rounding, std::abs(own.losses[i] - fp32.losses[i]));
  }
  BOOST_CHECK_GT(rounding, 1e-5);
  for (const at::Tensor& gradient : own.gradients) BOOST_CHECK(finite(gradient));
  const double off_autocast = largest_difference(own.gradients, autocast.gradients);
  const double off_fp32 = largest_difference(own.gradients, fp32.gradients);
  BOOST_TEST_MESSAGE(c.name << ": " << off_autocast << " off autocast, " << off_fp32 << " off fp32");
  BOOST_CHECK_LT(off_autocast, 5e-2);
  BOOST_CHECK_GT(off_fp32, 1e-4);
}

BOOST_DATA_TEST_CASE(checkpointing_changes_no_bit, boost::unit_test::data::make(kCases), c) {
  for (const int form : {0, 1, 2, 3}) {
    Transformer::Options options;
    options.composed = form % 2 == 1;
    const Result kept = run(c, options, false, form >= 2);
    const Result again = run(c, options, true, form >= 2);
    BOOST_CHECK(kept.losses == again.losses);
    for (size_t i = 0; i < kept.gradients.size(); ++i) {
      BOOST_CHECK(same_bits(kept.gradients[i], again.gradients[i]));
    }
  }
}

BOOST_DATA_TEST_CASE(splitting_the_rows_changes_no_bit, boost::unit_test::data::make(kCases), c) {
  for (const int form : {0, 1, 2, 3}) {
    const int ways = form % 2 == 0 ? 2 : 5;
    const Result one = run(c, {}, false, form >= 2);
    Transformer::Options options;
    options.parallel = threads(ways);
    const Result many = run(c, options, false, form >= 2);
    BOOST_CHECK(one.losses == many.losses);
    for (size_t i = 0; i < one.gradients.size(); ++i) {
      BOOST_CHECK(same_bits(one.gradients[i], many.gradients[i]));
    }
  }
}

BOOST_DATA_TEST_CASE(every_instruction_set_agrees, boost::unit_test::data::make({"baseline", "avx2", "avx512"}), name) {
  Transformer::Options options;
  options.kernels = cpu_kernels(name);
  if (options.kernels == nullptr) {
    BOOST_TEST_MESSAGE("skipped: this processor has no " << name);
    return;
  }
  for (const Case& c : kCases) {
    const Result own = run(c, options, false);
    const Result reference = run(c, composed(), false);
    BOOST_TEST_CONTEXT(c.name) { BOOST_CHECK_LT(largest_difference(own.gradients, reference.gradients), 1e-5); }
    const Result rounded = run(c, options, false, true);
    const Result fastest = run(c, {}, false, true);
    BOOST_TEST_CONTEXT(c.name) { BOOST_CHECK_LT(largest_difference(rounded.gradients, fastest.gradients), 3e-2); }
  }
}

BOOST_AUTO_TEST_CASE(dropout_masks_follow_key_and_site) {
  const Case c = kCases[9];
  Transformer model(config_of(c));
  model.init(7);
  const Batch batch = batch_of(c, 1);
  auto loss = [&](bool training, uint64_t key) {
    at::NoGradGuard no_grad;
    return model.forward({training, false, key}, batch.ids, batch.labels, batch.mask).loss.item<double>();
  };
  BOOST_CHECK_EQUAL(loss(true, 1), loss(true, 1));
  BOOST_CHECK_NE(loss(true, 1), loss(true, 2));
  BOOST_CHECK_NE(loss(true, 1), loss(false, 1));
  BOOST_CHECK_EQUAL(loss(false, 1), loss(false, 2));
}

BOOST_AUTO_TEST_CASE(the_share_of_kept_elements_matches_the_probability) {
  for (const double p : {0.1, 0.5, 0.9}) {
    const Dropout dropout = make_dropout(3, 4, p);
    int64_t kept = 0;
    constexpr int64_t kCount = 1000000;
    for (int64_t i = 0; i < kCount; ++i) kept += dropout.factor(static_cast<uint64_t>(i)) != 0.0F ? 1 : 0;
    BOOST_CHECK_SMALL(static_cast<double>(kept) / kCount - (1.0 - p), 0.003);
    BOOST_CHECK_CLOSE(dropout.scale, 1.0 / (1.0 - p), 1e-4);
  }
  BOOST_CHECK(!make_dropout(3, 4, 0.0).active());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::reference_transformer
