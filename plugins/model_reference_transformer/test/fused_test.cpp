// The fused pass against the model in double precision, beside autograd through LibTorch's operators: its error may be
// at most twice that of autograd.
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <ostream>

#include <ATen/Parallel.h>

#include "reference64.hpp"
#include "stc/core/fault.hpp"

namespace stc::reference_transformer {
namespace {

struct Case {
  int64_t layers, heads, kv_heads, width, d_ff, vocab, rows, time;
  double dropout = 0.0;
  bool tied = true;
  enum Padding { kNone, kRight, kLeft, kWholeRow } padding = kNone;
  bool checkpointing = false;
  friend std::ostream& operator<<(std::ostream& out, const Case& c) {
    static const char* const kPadding[] = {"", " right padding", " left padding", " a row of padding"};
    out << c.layers << " blocks, " << c.heads << "/" << c.kv_heads << " heads, width " << c.width << ", d_ff " << c.d_ff
        << ", vocabulary " << c.vocab << ", " << c.rows << "x" << c.time << kPadding[c.padding];
    if (c.dropout > 0) out << " dropout " << c.dropout;
    return out << (c.tied ? "" : " untied") << (c.checkpointing ? " checkpointing" : "");
  }
};

const Case kCases[] = {
    // Heads and key heads.
    {2, 4, 4, 64, 128, 128, 3, 32},
    {2, 4, 2, 64, 128, 128, 3, 32},
    {2, 4, 1, 64, 128, 128, 3, 32},
    {1, 1, 1, 32, 64, 64, 2, 16},
    {2, 3, 1, 42, 96, 97, 3, 13},
    {2, 3, 3, 30, 50, 61, 2, 17},
    {1, 5, 5, 50, 80, 83, 2, 9},
    {2, 6, 2, 96, 200, 200, 2, 33},
    {1, 7, 1, 98, 150, 120, 3, 21},
    {1, 8, 4, 128, 384, 256, 2, 64},
    // Lengths around the blocks of queries, and short ones.
    {1, 2, 1, 32, 48, 64, 2, 1},
    {1, 2, 1, 32, 48, 64, 2, 2},
    {1, 2, 2, 32, 48, 64, 1, 63},
    {1, 2, 2, 32, 48, 64, 1, 65},
    {1, 2, 1, 32, 48, 64, 2, 127},
    {1, 2, 1, 32, 48, 64, 2, 129},
    {1, 4, 2, 64, 96, 64, 1, 200},
    // More rows than a chunk of logits, vocabularies off the grid.
    {1, 2, 1, 32, 48, 301, 9, 64},
    {1, 2, 1, 32, 48, 7, 20, 32},
    {1, 2, 1, 32, 48, 1031, 2, 24},
    // Narrow and deep.
    {4, 2, 1, 16, 24, 32, 4, 12},
    {6, 2, 2, 8, 12, 16, 4, 8},
    {1, 1, 1, 2, 3, 5, 3, 6},
    // Untied heads.
    {2, 4, 2, 64, 128, 128, 3, 32, 0.0, false},
    {2, 3, 1, 42, 96, 97, 3, 13, 0.0, false},
    {1, 2, 1, 32, 48, 301, 9, 64, 0.0, false},
    // Padding.
    {2, 4, 2, 64, 128, 128, 3, 32, 0.0, true, Case::kRight},
    {2, 4, 2, 64, 128, 128, 3, 32, 0.0, true, Case::kLeft},
    {2, 4, 2, 64, 128, 128, 3, 32, 0.0, true, Case::kWholeRow},
    {1, 2, 1, 32, 48, 64, 3, 100, 0.0, false, Case::kLeft},
    {1, 2, 1, 32, 48, 64, 3, 100, 0.0, false, Case::kWholeRow},
    // Dropout.
    {2, 4, 2, 64, 128, 128, 3, 32, 0.1},
    {2, 3, 1, 42, 96, 97, 3, 13, 0.5, false},
    {1, 2, 1, 32, 48, 64, 2, 100, 0.3},
    {2, 4, 2, 64, 128, 128, 3, 32, 0.2, true, Case::kRight},
    {2, 4, 2, 64, 128, 128, 3, 32, 0.2, true, Case::kLeft},
    {2, 4, 2, 64, 128, 128, 3, 32, 0.2, true, Case::kWholeRow},
    // Checkpointing.
    {2, 4, 2, 64, 128, 128, 3, 32, 0.0, true, Case::kNone, true},
    {3, 3, 1, 42, 96, 97, 3, 13, 0.0, false, Case::kNone, true},
    {2, 4, 2, 64, 128, 128, 3, 32, 0.2, true, Case::kRight, true},
    {4, 2, 1, 16, 24, 32, 4, 70, 0.5, false, Case::kLeft, true},
    {1, 8, 4, 128, 384, 256, 2, 64, 0.0, true, Case::kNone, true},
};

Config config_of(const Case& c) {
  Config config;
  config.vocab_size = c.vocab;
  config.block_size = c.time + 3;
  config.n_layer = c.layers;
  config.n_head = c.heads;
  config.n_kv_head = c.kv_heads;
  config.d_model = c.width;
  config.d_ff = c.d_ff;
  config.dropout = c.dropout;
  config.tie_weights = c.tied;
  return config;
}

Batch batch_of(const Case& c, uint64_t seed) {
  Batch batch = make_batch(c.rows, c.time, c.vocab, seed);
  if (batch.labels.numel() > 2) batch.labels.view({-1})[0] = -100;
  if (c.padding == Case::kRight) pad(batch, 1, c.time / 2, false);
  if (c.padding == Case::kLeft) pad(batch, 1, c.time / 2, true);
  if (c.padding == Case::kWholeRow) pad(batch, 2, c.time, true);
  return batch;
}

struct Result {
  std::vector<double> losses;
  std::vector<at::Tensor> gradients;
};

constexpr double kWeights[] = {0.75, 0.25};

ForwardPass pass_of(int micro) { return {true, micro > 0, 55 + static_cast<uint64_t>(micro)}; }

/// Two accumulated micro-batches of unequal weight.
Result run_fused(const Case& c, Transformer::Options options = {}, bool bf16 = false) {
  Transformer model(config_of(c), options);
  model.init(7);
  spread_weights(model);
  model.set_gradient_checkpointing(c.checkpointing);
  Result out;
  for (int micro = 0; micro < 2; ++micro) {
    const Batch batch = batch_of(c, 100 + static_cast<uint64_t>(micro));
    const Bf16 autocast(bf16);
    out.losses.push_back(
        model.loss_and_grad(pass_of(micro), batch.ids, batch.labels, batch.mask, kWeights[micro]).item<double>());
  }
  out.gradients = gradients(model);
  return out;
}

/// The same by forward and autograd.
Result run_autograd(const Case& c, bool composed, bool bf16 = false) {
  Transformer::Options options;
  options.composed = composed;
  Transformer model(config_of(c), options);
  model.init(7);
  spread_weights(model);
  model.set_gradient_checkpointing(c.checkpointing);
  Result out;
  for (int micro = 0; micro < 2; ++micro) {
    const Batch batch = batch_of(c, 100 + static_cast<uint64_t>(micro));
    at::Tensor loss;
    {
      const Bf16 autocast(bf16);
      loss = model.forward(pass_of(micro), batch.ids, batch.labels, batch.mask).loss;
    }
    out.losses.push_back(loss.item<double>());
    (loss * kWeights[micro]).backward();
  }
  out.gradients = gradients(model);
  return out;
}

Result run_reference(const Case& c) {
  Transformer model(config_of(c));
  model.init(7);
  spread_weights(model);
  Reference64 reference(model);
  Result out;
  for (int micro = 0; micro < 2; ++micro) {
    const Batch batch = batch_of(c, 100 + static_cast<uint64_t>(micro));
    out.losses.push_back(reference.run(batch, {pass_of(micro).dropout_key, c.dropout}, kWeights[micro]));
  }
  out.gradients = reference.gradients();
  return out;
}

/// Largest difference of a gradient over its largest value; one below a hundredth of the largest of all is measured by
/// that (see largest_difference).
std::vector<double> errors(const Result& found, const Result& exact) {
  double top = 0.0;
  for (const at::Tensor& t : exact.gradients) top = std::max(top, t.abs().max().item<double>());
  std::vector<double> out;
  for (size_t i = 0; i < exact.gradients.size(); ++i) {
    const at::Tensor difference = (found.gradients[i].to(at::kDouble) - exact.gradients[i]).abs();
    out.push_back(difference.max().item<double>() /
                  std::max(exact.gradients[i].abs().max().item<double>(), 1e-2 * top));
  }
  return out;
}

BOOST_AUTO_TEST_SUITE(fused_pass)

BOOST_DATA_TEST_CASE(is_at_most_twice_as_far_from_double_precision_as_autograd, boost::unit_test::data::make(kCases),
                     c) {
  const Result exact = run_reference(c), fused = run_fused(c), autograd = run_autograd(c, /*composed=*/true);
  for (size_t i = 0; i < exact.losses.size(); ++i) {
    BOOST_CHECK_LE(std::abs(fused.losses[i] - exact.losses[i]), 2e-6 * std::abs(exact.losses[i]));
  }
  const std::vector<double> own = errors(fused, exact), other = errors(autograd, exact);
  double worst_own = 0, worst_other = 0;
  for (size_t i = 0; i < own.size(); ++i) {
    BOOST_CHECK(finite(fused.gradients[i]));
    // A lucky autograd is not a measure: below some last bits of fp32 either is exact.
    BOOST_TEST_CONTEXT("gradient " << i << ": " << own[i] << ", autograd " << other[i]) {
      BOOST_CHECK_LE(own[i], std::max(2 * other[i], 1e-6));
    }
    worst_own = std::max(worst_own, own[i]);
    worst_other = std::max(worst_other, other[i]);
  }
  BOOST_CHECK_LE(worst_own, std::max(2 * worst_other, 4e-7));
  BOOST_TEST_MESSAGE(c << ": " << worst_own << ", autograd " << worst_other);
}

BOOST_DATA_TEST_CASE(checkpointing_changes_no_bit_of_it, boost::unit_test::data::make(kCases), c) {
  Case kept = c, recomputed = c;
  kept.checkpointing = false;
  recomputed.checkpointing = true;
  const Result a = run_fused(kept), b = run_fused(recomputed);
  BOOST_CHECK(a.losses == b.losses);
  for (size_t i = 0; i < a.gradients.size(); ++i) BOOST_CHECK(same_bits(a.gradients[i], b.gradients[i]));
}

BOOST_DATA_TEST_CASE(a_second_run_gives_its_bits, boost::unit_test::data::make(kCases), c) {
  const Result a = run_fused(c), b = run_fused(c);
  BOOST_CHECK(a.losses == b.losses);
  for (size_t i = 0; i < a.gradients.size(); ++i) BOOST_CHECK(same_bits(a.gradients[i], b.gradients[i]));
}

/// The loops of the kernels split in three ways; the products stay on LibTorch's threads.
BOOST_DATA_TEST_CASE(splitting_its_loops_changes_no_bit, boost::unit_test::data::make(kCases), c) {
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  static const int kWays = 3;
  Transformer::Options options;
  options.parallel = threads(&kWays);
  const Result a = run_fused(c), b = run_fused(c, options);
  at::set_num_threads(before);
  BOOST_CHECK(a.losses == b.losses);
  for (size_t i = 0; i < a.gradients.size(); ++i) BOOST_CHECK(same_bits(a.gradients[i], b.gradients[i]));
}

/// Both round the same values to bf16; what differs in the last bit of fp32 before is a whole step of bf16 after.
BOOST_DATA_TEST_CASE(rounds_to_bf16_where_the_graph_of_own_kernels_does, boost::unit_test::data::make(kCases), c) {
  if (c.width < 16) return;  // too narrow: a step of bf16 is a large part of everything
  const Result fused = run_fused(c, {}, true), graph = run_autograd(c, /*composed=*/false, true);
  const Result fp32 = run_fused(c);
  for (size_t i = 0; i < fused.losses.size(); ++i) BOOST_CHECK_CLOSE(fused.losses[i], graph.losses[i], 0.2);
  for (const at::Tensor& gradient : fused.gradients) BOOST_CHECK(finite(gradient));
  BOOST_CHECK_LT(largest_difference(fused.gradients, graph.gradients), 5e-2);
  BOOST_CHECK_GT(largest_difference(fused.gradients, fp32.gradients), 1e-4);
}

BOOST_AUTO_TEST_CASE(without_a_label_that_counts_everything_is_zero) {
  Transformer model(small_config());
  model.init(3);
  Batch batch = make_batch(2, 16, 128, 5);
  batch.labels.fill_(-100);
  BOOST_CHECK_EQUAL(model.loss_and_grad(pass_of(0), batch.ids, batch.labels, {}, 1.0).item<double>(), 0.0);
  for (const at::Tensor& gradient : gradients(model)) BOOST_CHECK_EQUAL(gradient.abs().max().item<double>(), 0.0);
}

BOOST_AUTO_TEST_CASE(a_mask_of_ones_changes_no_bit_of_it) {
  const auto run = [](bool with_mask) {
    Transformer model(small_config());
    model.init(3);
    const Batch batch = make_batch(2, 16, 128, 5);
    const at::Tensor mask = with_mask ? at::ones({2, 16}, at::kBool) : at::Tensor();
    model.loss_and_grad(pass_of(0), batch.ids, batch.labels, mask, 1.0);
    return gradients(model);
  };
  const auto a = run(false), b = run(true);
  for (size_t i = 0; i < a.size(); ++i) BOOST_CHECK(same_bits(a[i], b[i]));
}

/// Micro-batches of one window may take either way.
BOOST_AUTO_TEST_CASE(mixes_with_the_graph_within_a_window) {
  const Batch first = make_batch(2, 16, 128, 5), second = make_batch(3, 12, 128, 6);
  const auto run = [&](bool fused_first, bool fused_second) {
    Transformer model(small_config());
    model.init(3);
    const auto take = [&](bool fused, int micro, const Batch& batch) {
      if (fused) {
        model.loss_and_grad(pass_of(micro), batch.ids, batch.labels, batch.mask, 1.0);
      } else {
        model.forward(pass_of(micro), batch.ids, batch.labels, batch.mask).loss.backward();
      }
    };
    take(fused_first, 0, first);
    take(fused_second, 1, second);
    return gradients(model);
  };
  const auto graph = run(false, false);
  BOOST_CHECK_LT(largest_difference(run(true, false), graph), 1e-5);
  BOOST_CHECK_LT(largest_difference(run(false, true), graph), 1e-5);
  BOOST_CHECK_LT(largest_difference(run(true, true), graph), 1e-5);
}

BOOST_AUTO_TEST_CASE(says_what_it_cannot_do_and_changes_nothing) {
  const Batch batch = make_batch(2, 16, 128, 5);
  const auto code_of = [](const std::function<void()>& body) {
    try {
      body();
    } catch (const Fault& fault) {
      return fault.code();
    }
    return 0;
  };
  Transformer::Options composed;
  composed.composed = true;
  Transformer elsewhere(small_config(), composed), model(small_config());
  BOOST_CHECK_EQUAL(code_of([&] { elsewhere.loss_and_grad(pass_of(0), batch.ids, batch.labels, {}, 1.0); }),
                    STC_ERROR_UNSUPPORTED);
  BOOST_CHECK_EQUAL(code_of([&] { model.loss_and_grad(pass_of(0), batch.ids, {}, {}, 1.0); }), STC_ERROR_UNSUPPORTED);
  at::Tensor wrong = batch.ids.clone();
  wrong[0][3] = 128;
  BOOST_CHECK_EQUAL(code_of([&] { model.loss_and_grad(pass_of(0), wrong, batch.labels, {}, 1.0); }),
                    STC_ERROR_INVALID_ARGUMENT);
  for (const at::Tensor& gradient : gradients(model)) BOOST_CHECK_EQUAL(gradient.abs().max().item<double>(), 0.0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::reference_transformer
