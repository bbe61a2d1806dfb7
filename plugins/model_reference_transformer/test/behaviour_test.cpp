// What the model promises beyond its arithmetic.
#include <cstring>
#include <set>

#include "fixture.hpp"
#include "stc/abi/model.h"
#include "stc/core/fault.hpp"

namespace stc::reference_transformer {
namespace {

auto says(const char* text) {
  return [text](const Fault& fault) {
    BOOST_TEST_MESSAGE(fault.what());
    return std::strcmp(fault.what(), text) == 0;
  };
}

auto config_says(const char* key, const char* text) {
  return [key, text](const Fault& fault) { return fault.key() == key && std::strcmp(fault.what(), text) == 0; };
}

BOOST_AUTO_TEST_SUITE(parameters)

BOOST_AUTO_TEST_CASE(the_small_model_has_66880_parameters) {
  Transformer model(small_config());
  int64_t count = 0;
  for (const Leaf& leaf : model.parameters().leaves) count += leaf.value.numel();
  BOOST_CHECK_EQUAL(count, 66880);
  BOOST_CHECK_EQUAL(small_config().num_parameters(), 66880);
}

BOOST_AUTO_TEST_CASE(names_and_roles_are_those_of_the_state_dict) {
  Config config = small_config();
  config.n_layer = 1;
  const std::vector<std::pair<std::string, int32_t>> expected = {
      {"transformer.wte.weight", STC_ROLE_EMBEDDING},
      {"transformer.h.0.ln1.weight", STC_ROLE_NORM},
      {"transformer.h.0.attn.q_proj.weight", STC_ROLE_LINEAR},
      {"transformer.h.0.attn.k_proj.weight", STC_ROLE_LINEAR},
      {"transformer.h.0.attn.v_proj.weight", STC_ROLE_LINEAR},
      {"transformer.h.0.attn.out_proj.weight", STC_ROLE_LINEAR},
      {"transformer.h.0.ln2.weight", STC_ROLE_NORM},
      {"transformer.h.0.mlp.gate_proj.weight", STC_ROLE_LINEAR},
      {"transformer.h.0.mlp.up_proj.weight", STC_ROLE_LINEAR},
      {"transformer.h.0.mlp.down_proj.weight", STC_ROLE_LINEAR},
      {"transformer.ln_f.weight", STC_ROLE_NORM}};
  auto listed = [](Transformer& model) {
    std::vector<std::pair<std::string, int32_t>> out;
    for (const Leaf& leaf : model.parameters().leaves) out.emplace_back(leaf.name, leaf.role);
    return out;
  };
  Transformer tied(config);
  BOOST_CHECK(listed(tied) == expected);
  BOOST_CHECK(tied.parameters().leaves.front().aliases == std::vector<std::string>{"lm_head.weight"});

  config.tie_weights = false;
  Transformer untied(config);
  auto with_head = expected;
  with_head.emplace_back("lm_head.weight", STC_ROLE_HEAD);
  BOOST_CHECK(listed(untied) == with_head);
  BOOST_CHECK(untied.parameters().leaves.front().aliases.empty());
}

BOOST_AUTO_TEST_CASE(weights_and_gradients_are_views_of_two_packed_buffers) {
  Transformer model(small_config());
  Parameters& parameters = model.parameters();
  auto inside = [](const at::Tensor& view, const at::Tensor& buffer) {
    const auto* begin = view.const_data_ptr<float>();
    const auto* base = buffer.const_data_ptr<float>();
    return view.is_contiguous() && begin >= base && begin + view.numel() <= base + buffer.numel();
  };
  for (const Leaf& leaf : parameters.leaves) {
    BOOST_TEST_CONTEXT(leaf.name) {
      BOOST_CHECK(inside(leaf.value, parameters.values));
      BOOST_CHECK(inside(leaf.grad, parameters.gradients));
      BOOST_CHECK(leaf.value.is_leaf() && leaf.value.requires_grad());
      BOOST_CHECK_EQUAL(leaf.value.grad().const_data_ptr<float>(), leaf.grad.const_data_ptr<float>());
      BOOST_CHECK_EQUAL(leaf.value.const_data_ptr<float>() - parameters.values.const_data_ptr<float>(),
                        leaf.grad.const_data_ptr<float>() - parameters.gradients.const_data_ptr<float>());
    }
  }
  const BlockWeights& block = parameters.blocks[1];
  BOOST_CHECK_EQUAL(block.qkv.value.size(0), 64 + 2 * 32);
  BOOST_CHECK_EQUAL(block.gate_up.value.size(0), 2 * 88);
}

BOOST_AUTO_TEST_CASE(init_is_a_function_of_seed_and_name) {
  Transformer a(small_config());
  Transformer b(small_config());
  a.init(5);
  b.init(6);
  BOOST_CHECK(!same_bits(a.parameters().leaves[2].value, b.parameters().leaves[2].value));
  b.init(5);
  std::set<float> firsts;
  for (size_t i = 0; i < a.parameters().leaves.size(); ++i) {
    const Leaf& leaf = a.parameters().leaves[i];
    BOOST_TEST_CONTEXT(leaf.name) {
      BOOST_CHECK(same_bits(leaf.value, b.parameters().leaves[i].value));
      if (leaf.role == STC_ROLE_NORM) {
        BOOST_CHECK(leaf.value.eq(1.0).all().item<bool>());
      } else {
        BOOST_CHECK_SMALL(leaf.value.mean().item<double>(), 0.002);
        BOOST_CHECK_CLOSE(leaf.value.std().item<double>(), 0.02, 5.0);
        BOOST_CHECK(firsts.insert(*leaf.value.const_data_ptr<float>()).second);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(sizes_that_do_not_fit_name_their_key) {
  auto with = [](auto change) {
    Config config = small_config();
    change(config);
    return config;
  };
  BOOST_CHECK_EXCEPTION(Transformer(with([](Config& c) { c.n_kv_head = 3; })), Fault,
                        config_says("n_kv_head", "got 3, expected a divisor of n_head 4"));
  BOOST_CHECK_EXCEPTION(Transformer(with([](Config& c) { c.d_model = 66; })), Fault,
                        config_says("d_model", "got 66, expected a multiple of n_head 4"));
  BOOST_CHECK_EXCEPTION(
      Transformer(with([](Config& c) { c.d_model = 60; })), Fault,
      config_says("d_model", "got 60 for 4 heads of 15, expected an even head size (rotary positions)"));
  BOOST_CHECK_EXCEPTION(Transformer(with([](Config& c) { c.vocab_size = 0; })), Fault,
                        config_says("vocab_size", "got 0, expected > 0"));
  BOOST_CHECK_EXCEPTION(Transformer(with([](Config& c) { c.d_ff = 1; })), Fault,
                        config_says("d_ff", "got 1, expected at least 2"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(forward)

BOOST_AUTO_TEST_CASE(bad_batches_name_sizes_and_values) {
  Transformer model(small_config());
  const ForwardPass pass{true, false, 0};
  const Batch good = make_batch(4, 32, 128, 1);
  const Batch longer = make_batch(4, 33, 128, 1);
  auto run = [&](const at::Tensor& ids, const at::Tensor& labels, const at::Tensor& mask) {
    model.forward(pass, ids, labels, mask);
  };
  BOOST_CHECK_EXCEPTION(run(longer.ids, {}, {}), Fault, says("input_ids: shape (4,33), block size is 32"));
  BOOST_CHECK_EXCEPTION(run(good.ids[0], {}, {}), Fault, says("input_ids: shape (32), expected (rows, positions)"));
  BOOST_CHECK_EXCEPTION(run(good.ids.narrow(0, 0, 0), {}, {}), Fault,
                        says("input_ids: shape (0,32), expected at least one token"));
  BOOST_CHECK_EXCEPTION(run(good.ids, good.labels.narrow(1, 0, 31), {}), Fault,
                        says("labels: shape (4,31), input_ids have (4,32)"));
  BOOST_CHECK_EXCEPTION(run(good.ids, good.labels, at::ones({4, 31}, at::kBool)), Fault,
                        says("attention_mask: shape (4,31), input_ids have (4,32)"));
  BOOST_CHECK_EXCEPTION(run(good.ids.to(at::kFloat), {}, {}), Fault,
                        says("input_ids: values of type Float, expected integers"));
  at::Tensor ids = good.ids.clone();
  ids[1][3] = 128;
  BOOST_CHECK_EXCEPTION(run(ids, {}, {}), Fault, says("input_ids: got 128 at row 1, position 3, expected 0 to 127"));
  for (const int64_t value : {int64_t{-1}, int64_t{-4}, int64_t{128}, int64_t{1} << 31}) {
    at::Tensor labels = good.labels.clone();
    labels[0][2] = value;
    const std::string text =
        "labels: got " + std::to_string(value) + " at row 0, position 2, expected 0 to 127, or -100 (ignored)";
    BOOST_CHECK_EXCEPTION(run(good.ids, labels, {}), Fault, says(text.c_str()));
  }
}

BOOST_AUTO_TEST_CASE(integers_of_any_width_are_ids) {
  Transformer model(small_config());
  model.init(1);
  const Batch batch = make_batch(2, 8, 128, 1);
  at::NoGradGuard no_grad;
  auto loss = [&](at::ScalarType type) {
    return model.forward({true, false, 0}, batch.ids.to(type), batch.labels.to(type), {}).loss.item<double>();
  };
  BOOST_CHECK_EQUAL(loss(at::kLong), loss(at::kInt));
}

BOOST_AUTO_TEST_CASE(a_batch_without_labels_that_count_has_loss_and_gradients_zero) {
  for (const bool composed : {false, true}) {
    Transformer::Options options;
    options.composed = composed;
    Transformer model(small_config(), options);
    model.init(1);
    const Batch batch = make_batch(2, 8, 128, 1);
    model.forward({true, false, 0}, batch.ids, batch.labels, {}).loss.backward();
    BOOST_CHECK_GT(model.gradient(0).abs().max().item<double>(), 0.0);
    at::Tensor loss = model.forward({true, false, 0}, batch.ids, at::full_like(batch.labels, -100), {}).loss;
    BOOST_CHECK_EQUAL(loss.item<double>(), 0.0);
    loss.backward();
    for (const at::Tensor& gradient : gradients(model)) {
      BOOST_CHECK_EQUAL(gradient.abs().max().item<double>(), 0.0);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_new_window_replaces_gradients_and_a_later_micro_batch_adds) {
  for (const bool composed : {false, true}) {
    Transformer::Options options;
    options.composed = composed;
    Transformer model(small_config(), options);
    model.init(1);
    const Batch batch = make_batch(2, 8, 128, 1);
    auto backward = [&](bool accumulate) {
      model.forward({true, accumulate, 0}, batch.ids, batch.labels, {}).loss.backward();
      return gradients(model);
    };
    const auto first = backward(false);
    const auto twice = backward(true);
    const auto again = backward(false);
    for (size_t i = 0; i < first.size(); ++i) {
      BOOST_CHECK(same_bits(first[i], again[i]));
      BOOST_CHECK_LT(relative_difference(twice[i], first[i] * 2.0), 1e-6);
    }
  }
}

BOOST_AUTO_TEST_CASE(gradients_of_a_window_without_backward_are_zero) {
  Transformer model(small_config());
  model.init(1);
  const Batch batch = make_batch(2, 8, 128, 1);
  model.forward({true, false, 0}, batch.ids, batch.labels, {}).loss.backward();
  model.forward({true, false, 0}, batch.ids, batch.labels, {});
  for (const at::Tensor& gradient : gradients(model)) BOOST_CHECK_EQUAL(gradient.abs().max().item<double>(), 0.0);
}

BOOST_AUTO_TEST_CASE(a_mask_of_ones_changes_no_bit) {
  Transformer model(small_config());
  model.init(1);
  const Batch batch = make_batch(2, 8, 128, 1);
  const at::Tensor ones = at::ones({2, 8}, at::kBool);
  const auto a = model.forward({false, false, 0}, batch.ids, {}, {}).logits;
  const auto b = model.forward({false, false, 0}, batch.ids, {}, ones).logits;
  BOOST_CHECK(same_bits(a, b));
}

BOOST_AUTO_TEST_CASE(padding_keeps_everything_finite_and_is_not_seen) {
  Transformer model(small_config());
  model.init(1);
  Batch batch = make_batch(3, 16, 128, 1);
  pad(batch, 0, 5, true);
  pad(batch, 1, 16, true);
  pad(batch, 2, 5, false);
  const auto before = model.forward({false, false, 0}, batch.ids, {}, batch.mask).logits.detach();
  BOOST_CHECK(finite(before));
  at::Tensor changed = batch.ids.clone();
  changed.masked_fill_(batch.mask.logical_not(), 3);
  const auto after = model.forward({false, false, 0}, changed, {}, batch.mask).logits.detach();
  const at::Tensor real = batch.mask.unsqueeze(2).expand_as(before);
  BOOST_CHECK(same_bits(before.masked_select(real), after.masked_select(real)));
  model.forward({true, false, 0}, batch.ids, batch.labels, batch.mask).loss.backward();
  for (const at::Tensor& gradient : gradients(model)) BOOST_CHECK(finite(gradient));
}

BOOST_AUTO_TEST_CASE(a_position_sees_no_later_one) {
  Transformer model(small_config());
  model.init(1);
  at::NoGradGuard no_grad;
  const Batch batch = make_batch(2, 16, 128, 1);
  at::Tensor changed = batch.ids.clone();
  changed.select(1, 10).fill_(3);
  const auto a = model.forward({false, false, 0}, batch.ids, {}, {}).logits;
  const auto b = model.forward({false, false, 0}, changed, {}, {}).logits;
  BOOST_CHECK(same_bits(a.narrow(1, 0, 10), b.narrow(1, 0, 10)));
  BOOST_CHECK(!same_bits(a.select(1, 10), b.select(1, 10)));
}

BOOST_AUTO_TEST_CASE(training_returns_the_loss_and_evaluation_the_logits_too) {
  Transformer model(small_config());
  model.init(1);
  const Batch batch = make_batch(2, 8, 128, 1);
  const auto training = model.forward({true, false, 0}, batch.ids, batch.labels, {});
  const auto evaluation = model.forward({false, false, 0}, batch.ids, batch.labels, {});
  BOOST_CHECK(training.loss.defined() && !training.logits.defined());
  BOOST_CHECK(evaluation.logits.defined());
  BOOST_CHECK_CLOSE(training.loss.item<double>(), evaluation.loss.item<double>(), 1e-4);
  BOOST_CHECK(!model.forward({true, false, 0}, batch.ids, {}, {}).loss.defined());
}

BOOST_AUTO_TEST_CASE(blocks_are_bracketed_as_stages_and_numbers_stay) {
  std::vector<std::string> told;
  Transformer::Options options;
  options.stage = [&](const std::string& stage, bool begin) { told.push_back((begin ? "+" : "-") + stage); };
  Transformer bracketed(small_config(), options), plain(small_config());
  bracketed.init(1);
  plain.init(1);
  BOOST_CHECK(bracketed.stages() == (std::vector<std::string>{"transformer.h.0", "transformer.h.1"}));
  const Batch batch = make_batch(2, 16, 128, 9);
  for (const bool checkpointing : {false, true}) {
    told.clear();
    bracketed.set_gradient_checkpointing(checkpointing);
    const at::Tensor a = bracketed.forward({true, false, 3}, batch.ids, batch.labels, {}).loss;
    BOOST_CHECK(told == (std::vector<std::string>{"+transformer.h.0", "-transformer.h.0", "+transformer.h.1",
                                                  "-transformer.h.1"}));
    const at::Tensor b = plain.forward({true, false, 3}, batch.ids, batch.labels, {}).loss;
    BOOST_CHECK(same_bits(a.detach(), b.detach()));
    a.backward();
    BOOST_CHECK(finite(bracketed.gradient(0)));
  }
}

BOOST_AUTO_TEST_CASE(a_graph_outlives_its_model) {
  at::Tensor loss;
  {
    Transformer model(small_config());
    model.init(1);
    model.set_gradient_checkpointing(true);
    const Batch batch = make_batch(2, 8, 128, 1);
    loss = model.forward({true, false, 0}, batch.ids, batch.labels, {}).loss;
  }
  loss.backward();
  BOOST_CHECK(finite(loss));
}

BOOST_AUTO_TEST_CASE(a_loss_that_is_not_a_number_is_not_hidden) {
  Transformer model(small_config());
  model.init(1);
  {
    at::NoGradGuard no_grad;
    model.parameters().leaves[0].value[3][5] = std::numeric_limits<float>::quiet_NaN();
  }
  Batch batch = make_batch(2, 8, 128, 1);
  batch.ids.fill_(3);
  BOOST_CHECK(std::isnan(model.forward({true, false, 0}, batch.ids, batch.labels, {}).loss.item<double>()));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(generate)

BOOST_AUTO_TEST_CASE(steps_give_the_logits_of_the_whole_prefix) {
  Transformer model(small_config());
  model.init(1);
  spread_weights(model);
  at::NoGradGuard no_grad;
  const Batch batch = make_batch(3, 20, 128, 1);
  Cache cache = model.generate_begin(3, 32);
  int64_t length = 0;
  for (const int64_t t : {7, 1, 1, 5, 6}) {
    const at::Tensor logits = model.generate_step(cache, batch.ids.narrow(1, length, t));
    length += t;
    const at::Tensor whole = model.forward({false, false, 0}, batch.ids.narrow(1, 0, length), {}, {}).logits;
    BOOST_TEST_CONTEXT("length " << length) {
      BOOST_CHECK_LT(relative_difference(logits, whole.select(1, length - 1)), 1e-5);
    }
  }
}

BOOST_AUTO_TEST_CASE(lengths_beyond_the_block_are_errors) {
  Transformer model(small_config());
  BOOST_CHECK_EXCEPTION(model.generate_begin(0, 8), Fault, says("generate: got 0 rows, expected > 0"));
  BOOST_CHECK_EXCEPTION(model.generate_begin(1, 33), Fault,
                        says("generate: length 33, expected 1 to the block size 32"));
  Cache cache = model.generate_begin(2, 8);
  BOOST_CHECK_EXCEPTION(model.generate_step(cache, at::zeros({2, 9}, at::kLong)), Fault,
                        says("generate: 9 positions, the cache has 8"));
  BOOST_CHECK_EXCEPTION(model.generate_step(cache, at::zeros({3, 1}, at::kLong)), Fault,
                        says("generate: ids of shape (3,1), expected (2, at least 1)"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::reference_transformer
