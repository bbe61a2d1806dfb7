// Products in bf16 by the own kernels: what is rounded, what is not, and when the rounded weights are renewed.
#include <ATen/Parallel.h>

#include <cstring>
#include <limits>
#include <vector>

#include "fixture.hpp"
#include "stc/abi/model.h"

namespace stc::reference_transformer {
namespace {

/// On a busy machine LibTorch's threads wait for each other longer than these small products take.
struct OneThread {
  OneThread() { at::set_num_threads(1); }
};
BOOST_TEST_GLOBAL_FIXTURE(OneThread);

/// Equal to its own rounding to bf16.
bool in_bf16(const at::Tensor& t) { return t.to(at::kBFloat16).to(at::kFloat).equal(t); }

Transformer make_model(const Config& config = small_config()) {
  Transformer model(config);
  model.init(7);
  spread_weights(model);
  return model;
}

at::Tensor logits_of(Transformer& model, const Batch& batch) {
  const at::NoGradGuard no_grad;
  const Bf16 autocast;
  return model.forward({}, batch.ids, at::Tensor(), at::Tensor()).logits;
}

BOOST_AUTO_TEST_SUITE(bf16)

BOOST_AUTO_TEST_CASE(rounding_is_that_of_libtorch) {
  std::vector<float> values = {0.0F,
                               -0.0F,
                               1.0F,
                               1.00390625F,
                               1.01171875F,
                               -1.00390625F,
                               1e-40F,
                               3.3e38F,
                               3.4e38F,
                               -3.4e38F,
                               std::numeric_limits<float>::infinity(),
                               -std::numeric_limits<float>::infinity(),
                               std::numeric_limits<float>::min()};
  for (uint64_t i = 0; i < 5000; ++i) {
    const auto bits = static_cast<uint32_t>(random64(3, i));
    float value = 0.0F;
    std::memcpy(&value, &bits, sizeof value);
    if (value == value) values.push_back(value);
  }
  const at::Tensor from = at::tensor(values);
  const at::Tensor expected = from.to(at::kBFloat16).to(at::kFloat);
  for (const char* name : {"baseline", "avx2", "avx512"}) {
    const KernelSet* kernels = cpu_kernels(name);
    if (kernels == nullptr) continue;
    at::Tensor to = at::empty_like(from);
    kernels->bf16.round_bf16(from.const_data_ptr<float>(), to.data_ptr<float>(), 0, from.numel());
    BOOST_CHECK_MESSAGE(same_bits(to, expected), name);
    float nan = std::numeric_limits<float>::quiet_NaN();
    kernels->bf16.round_bf16(&nan, &nan, 0, 1);
    BOOST_CHECK(nan != nan);
  }
}

BOOST_AUTO_TEST_CASE(activations_are_rounded_where_autocast_rounds_them) {
  const auto parameters = std::make_shared<Parameters>(small_config(), at::kCPU);
  parameters->init(7);
  const auto own = make_cpu_functions(parameters, cpu_kernels(), {}, true);
  const auto composed = make_composed_functions(parameters);
  const at::NoGradGuard no_grad;
  const Bf16 autocast;
  const BlockWeights& block = parameters->blocks[0];
  const at::Tensor x = at::sin(at::arange(64 * 64, at::kFloat)).view({64, 64});
  // All but the few values on the boundary of two roundings are equal.
  auto same = [](const at::Tensor& found, const at::Tensor& expected) {
    BOOST_CHECK(in_bf16(found));
    const at::Tensor wrong = found.ne(expected.to(at::kFloat)).sum();
    BOOST_CHECK_LE(wrong.item<int64_t>() * 200, found.numel());
  };
  auto& weights = const_cast<BlockWeights&>(block);
  const at::Tensor normed = own->norm(x, weights.ln1);
  same(normed, composed->norm(x, weights.ln1).to(at::kBFloat16));
  same(own->logits(normed, weights.out), composed->linear(normed, weights.out));

  const at::Tensor gate_up = own->linear(normed, weights.gate_up) * 20.0;
  same(own->swiglu(gate_up), composed->swiglu(gate_up.to(at::kBFloat16)));

  AttentionInfo info;
  info.shape = {2, 32, 2, 2, 16};
  info.rope = make_rope(32, 16, 10000.0, at::kCPU);
  const at::Tensor qkv = own->linear(normed, weights.qkv) * 10.0;
  const at::Tensor attended = own->attention(qkv, info);
  BOOST_CHECK(in_bf16(attended));
  BOOST_CHECK_LT(relative_difference(attended, composed->attention(qkv.to(at::kBFloat16), info).to(at::kFloat)), 1e-2);

  // The residual stream stays in fp32.
  const at::Tensor branch = own->linear(normed, weights.out);
  const auto [sum, again] = own->add_norm(x, branch, Dropout{}, Dropout{}, weights.ln2);
  BOOST_CHECK(!in_bf16(sum));
  BOOST_CHECK(sum.equal(x + branch.to(at::kBFloat16)));
  BOOST_CHECK(in_bf16(again));
}

BOOST_AUTO_TEST_CASE(logits_are_rounded_and_the_loss_is_not) {
  Transformer model = make_model();
  const Batch batch = make_batch(3, 32, 128, 1);
  const at::NoGradGuard no_grad;
  const Bf16 autocast;
  const ForwardOutput out = model.forward({}, batch.ids, batch.labels, at::Tensor());
  BOOST_CHECK(out.logits.scalar_type() == at::kFloat);
  BOOST_CHECK(in_bf16(out.logits));
  BOOST_CHECK(!in_bf16(out.loss));
}

BOOST_AUTO_TEST_CASE(a_loss_of_the_callers_own_gives_the_gradients_of_the_models) {
  const Batch batch = make_batch(3, 32, 128, 1);
  Transformer model = make_model();
  Transformer other = make_model();
  {
    const Bf16 autocast;
    model.forward({true, false, 5}, batch.ids, batch.labels, at::Tensor()).loss.backward();
    const at::Tensor logits = other.forward({true, false, 5}, batch.ids, at::Tensor(), at::Tensor()).logits;
    cross_entropy_of(logits.view({-1, 128}), batch.labels.view({-1})).backward();
  }
  BOOST_CHECK_LT(largest_difference(gradients(other), gradients(model)), 2e-2);
}

BOOST_AUTO_TEST_CASE(rounded_weights_are_renewed_when_told) {
  Transformer model = make_model();
  const Batch batch = make_batch(2, 16, 128, 1);
  const at::Tensor before = logits_of(model, batch);
  {
    const at::NoGradGuard no_grad;
    for (Leaf& leaf : model.parameters().leaves) {
      if (leaf.name.find("mlp") != std::string::npos) leaf.value.mul_(1.5);
    }
  }
  model.parameters_changed();
  const at::Tensor after = logits_of(model, batch);
  BOOST_CHECK(!after.equal(before));
  BOOST_CHECK(logits_of(model, batch).equal(after));
  model.init(7);
  spread_weights(model);
  BOOST_CHECK(logits_of(model, batch).equal(before));
}

BOOST_AUTO_TEST_CASE(weight_gradients_accumulate_in_fp32) {
  // A sum in bf16 stands still at 256 equal parts.
  constexpr int kParts = 512;
  const Batch batch = make_batch(1, 8, 128, 1);
  Transformer model = make_model();
  std::vector<at::Tensor> one;
  for (int i = 0; i < kParts; ++i) {
    const Bf16 autocast;
    model.forward({true, i > 0, 5}, batch.ids, batch.labels, at::Tensor()).loss.backward();
    if (i == 0) one = gradients(model);
  }
  const std::vector<at::Tensor> all = gradients(model);
  for (size_t i = 0; i < all.size(); ++i) BOOST_CHECK_LT(relative_difference(all[i] / kParts, one[i]), 1e-4);
}

BOOST_AUTO_TEST_CASE(parameters_and_gradients_stay_fp32) {
  Transformer model = make_model();
  const Batch batch = make_batch(2, 16, 128, 1);
  {
    const Bf16 autocast;
    model.forward({true, false, 5}, batch.ids, batch.labels, at::Tensor()).loss.backward();
  }
  for (size_t i = 0; i < model.parameters().leaves.size(); ++i) {
    const Leaf& leaf = model.parameters().leaves[i];
    BOOST_CHECK(leaf.value.scalar_type() == at::kFloat);
    BOOST_CHECK(!in_bf16(model.gradient(i)));
    if (leaf.role != STC_ROLE_NORM) BOOST_CHECK(!in_bf16(leaf.value));
  }
}

BOOST_AUTO_TEST_CASE(autocast_to_another_type_runs_libtorchs_operators) {
  Transformer model = make_model();
  const Batch batch = make_batch(2, 16, 128, 1);
  const at::NoGradGuard no_grad;
  at::autocast::set_autocast_dtype(at::kCPU, at::kHalf);
  at::Tensor logits;
  {
    const Bf16 autocast;
    logits = model.forward({}, batch.ids, at::Tensor(), at::Tensor()).logits;
  }
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  BOOST_CHECK(logits.scalar_type() == at::kHalf);
}

BOOST_AUTO_TEST_CASE(generation_under_autocast_works) {
  Transformer model = make_model();
  const Batch batch = make_batch(2, 16, 128, 1);
  const Bf16 autocast;
  Cache cache = model.generate_begin(2, 20);
  const at::Tensor last = model.generate_step(cache, batch.ids).to(at::kFloat);
  const at::Tensor expected = logits_of(model, batch).select(1, 15);
  BOOST_CHECK_LT(relative_difference(last, expected), 3e-2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::reference_transformer
