// The fused pass: its gradients against the model in double precision, its bits against themselves, and what it
// hands back.
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <ostream>

#include "reference64.hpp"
#include "stc/core/fault.hpp"

namespace stc::reference_transformer {
namespace {

struct Case {
  const char* name;
  int64_t rows, time, heads, kv_heads, width, d_ff, vocab, layers;
  double dropout = 0.0;
  bool tied = true;
  Padding padding = Padding::kNone;
  friend std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }
};

const Case kCases[] = {
    {"the tiny model", 4, 32, 4, 2, 64, 128, 128, 2},
    {"one row", 1, 32, 4, 2, 64, 128, 128, 2},
    {"one position", 3, 1, 4, 2, 64, 128, 128, 2},
    {"one token", 1, 1, 2, 1, 16, 32, 17, 1},
    {"two positions", 3, 2, 4, 2, 64, 128, 128, 2},
    {"one layer", 3, 24, 4, 2, 64, 128, 128, 1},
    {"five layers", 2, 16, 2, 1, 32, 64, 64, 5},
    {"all heads their own keys", 3, 32, 4, 4, 64, 128, 128, 2},
    {"one key head", 3, 32, 4, 1, 64, 128, 128, 2},
    {"one head", 3, 32, 1, 1, 32, 64, 96, 2},
    {"three heads", 3, 20, 3, 1, 48, 96, 100, 2},
    {"three heads and keys", 3, 20, 3, 3, 48, 96, 100, 2},
    {"five heads", 2, 20, 5, 5, 80, 100, 33, 2},
    {"six heads, three keys", 2, 20, 6, 3, 96, 96, 50, 2},
    {"seven heads, one key", 2, 11, 7, 1, 98, 100, 50, 2},
    {"heads of two", 2, 20, 4, 2, 8, 32, 50, 2},
    {"heads of six", 3, 13, 3, 1, 18, 24, 11, 2},
    {"heads of ten", 2, 17, 4, 2, 40, 64, 70, 2},
    {"heads of eighteen", 2, 17, 2, 1, 36, 64, 70, 2},
    {"heads of seventy", 2, 33, 2, 1, 140, 150, 70, 1},
    {"heads of 128", 2, 33, 2, 1, 256, 150, 70, 1},
    {"width off the grid", 3, 13, 3, 1, 42, 50, 101, 2},
    {"vocabulary of one", 2, 8, 2, 1, 16, 32, 1, 1},
    {"vocabulary of two", 2, 8, 2, 1, 16, 32, 2, 1},
    {"vocabulary of 1031", 2, 24, 2, 1, 32, 64, 1031, 1},
    {"own head matrix", 3, 32, 4, 2, 64, 128, 128, 2, 0.0, false},
    {"own head matrix, one row", 1, 32, 4, 2, 64, 128, 128, 2, 0.0, false},
    {"time of 15", 3, 15, 4, 2, 64, 128, 128, 2},
    {"time of 17", 3, 17, 4, 2, 64, 128, 128, 2},
    {"time of 64", 2, 64, 4, 2, 32, 64, 64, 2},
    {"time of 65", 2, 65, 4, 2, 32, 64, 64, 2},
    {"time of 130", 2, 130, 4, 2, 32, 64, 64, 2},
    {"time of 300", 1, 300, 2, 1, 32, 64, 64, 1},
    {"more tokens than a head chunk", 9, 70, 2, 1, 16, 32, 40, 1},
    {"right padding", 3, 32, 4, 2, 64, 128, 128, 2, 0.0, true, Padding::kRight},
    {"left padding", 3, 32, 4, 2, 64, 128, 128, 2, 0.0, true, Padding::kLeft},
    {"a row of padding", 3, 32, 4, 2, 64, 128, 128, 2, 0.0, true, Padding::kWholeRow},
    {"holes in the mask", 3, 32, 4, 2, 64, 128, 128, 2, 0.0, true, Padding::kHoles},
    {"left padding, long", 2, 100, 4, 2, 32, 64, 64, 2, 0.0, true, Padding::kLeft},
    {"dropout", 3, 32, 4, 2, 64, 128, 128, 2, 0.2},
    {"dropout of half, off the grid", 3, 13, 3, 1, 42, 50, 101, 2, 0.5, false},
    {"dropout, long", 2, 100, 4, 2, 32, 64, 64, 2, 0.1},
    {"dropout and right padding", 3, 32, 4, 2, 64, 128, 128, 2, 0.2, true, Padding::kRight},
    {"dropout and left padding", 3, 32, 4, 2, 64, 128, 128, 2, 0.2, true, Padding::kLeft},
    {"dropout and a row of padding", 3, 32, 4, 2, 64, 128, 128, 2, 0.2, false, Padding::kWholeRow},
    {"more than a million parameters", 2, 40, 4, 2, 256, 768, 512, 2},
};

Config config_of(const Case& c) {
  Config config;
  config.vocab_size = c.vocab;
  config.block_size = c.time;
  config.n_layer = c.layers;
  config.n_head = c.heads;
  config.n_kv_head = c.kv_heads;
  config.d_model = c.width;
  config.d_ff = c.d_ff;
  config.dropout = c.dropout;
  config.tie_weights = c.tied;
  return config;
}

/// The first label is ignored, except where it is the only one.
Batch batch_of(const Case& c, uint64_t seed) {
  Batch batch = make_batch(c.rows, c.time, c.vocab, seed);
  if (c.rows * c.time > 1) batch.labels.view({-1})[0] = -100;
  pad(batch, c.padding);
  return batch;
}

/// Every loop split into `ways` parts, one after the other: what the parts compute does not depend on when.
Parallel parts(int ways) {
  Parallel out;
  out.ctx = reinterpret_cast<void*>(static_cast<intptr_t>(ways));
  out.run = [](void* ctx, int64_t n, int64_t, Parallel::Body body, void* arg) {
    const int64_t count = reinterpret_cast<intptr_t>(ctx);
    for (int64_t i = count; i-- > 0;) {
      if (n * i / count < n * (i + 1) / count) body(arg, n * i / count, n * (i + 1) / count);
    }
  };
  return out;
}

struct How {
  bool fused = true;
  bool composed = false;
  bool checkpointing = false;
  bool bf16 = false;
  int threads = 1;
  bool at_once = false;  // the parts run at the same time
  const char* kernels = nullptr;
};

struct Result {
  std::vector<double> losses;
  std::vector<at::Tensor> gradients;
  bool same(const Result& other) const {
    bool same = losses == other.losses;
    for (size_t i = 0; i < gradients.size(); ++i) same = same && same_bits(gradients[i], other.gradients[i]);
    return same;
  }
};

constexpr double kWeights[] = {1.0, 0.25};

Transformer make_model(const Case& c, const How& how) {
  Transformer::Options options;
  options.composed = how.composed;
  if (how.threads > 1) options.parallel = how.at_once ? threads(how.threads) : parts(how.threads);
  options.threads = how.threads;
  if (how.kernels != nullptr) options.kernels = cpu_kernels(how.kernels);
  Transformer model(config_of(c), options);
  model.init(7);
  spread_weights(model);
  model.set_gradient_checkpointing(how.checkpointing);
  return model;
}

at::Tensor one_pass(Transformer& model, const How& how, const ForwardPass& pass, double weight, const Batch& batch) {
  at::Tensor loss;
  {
    const Bf16 autocast(how.bf16);
    if (how.fused) return model.loss_and_grad(pass, weight, batch.ids, batch.labels, batch.mask);
    loss = model.forward(pass, batch.ids, batch.labels, batch.mask).loss;
  }
  (loss * weight).backward();
  return loss;
}

/// Two accumulated micro-batches of different weight.
Result run(const Case& c, const How& how) {
  Transformer model = make_model(c, how);
  Result out;
  for (size_t micro = 0; micro < 2; ++micro) {
    const at::Tensor loss =
        one_pass(model, how, {true, micro > 0, 55 + micro}, kWeights[micro], batch_of(c, 100 + micro));
    out.losses.push_back(loss.item<double>());
  }
  out.gradients = gradients(model);
  return out;
}

Result run_in_double(const Case& c) {
  Transformer model = make_model(c, {});
  Reference64 reference(model);
  Result out;
  for (size_t micro = 0; micro < 2; ++micro) {
    out.losses.push_back(reference.add(batch_of(c, 100 + micro), 55 + micro, kWeights[micro]));
  }
  out.gradients = reference.gradients();
  return out;
}

/// Of each tensor the largest difference over its largest value; what is below a thousandth of the largest gradient
/// counts against that: where its exact value is 0, only rounding is left.
std::vector<double> errors(const Result& found, const Result& exact) {
  double top = 0.0;
  for (const at::Tensor& t : exact.gradients) top = std::max(top, t.abs().max().item<double>());
  std::vector<double> out;
  for (size_t i = 0; i < exact.gradients.size(); ++i) {
    const double scale = std::max({exact.gradients[i].abs().max().item<double>(), 1e-3 * top, 1e-30});
    out.push_back((found.gradients[i].to(at::kDouble) - exact.gradients[i]).abs().max().item<double>() / scale);
  }
  return out;
}

/// At most twice the error of autograd of LibTorch's operators in fp32, plus a floor.
void check_errors(const Case& c, const Result& found, const Result& autograd, const Result& exact, double floor) {
  const std::vector<double> own = errors(found, exact);
  const std::vector<double> other = errors(autograd, exact);
  for (size_t i = 0; i < own.size(); ++i) {
    BOOST_TEST_INFO(c.name << ", parameter " << i << ": " << own[i] << ", autograd " << other[i]);
    BOOST_CHECK_LE(own[i], 2 * other[i] + floor);
  }
}

const auto kTable = boost::unit_test::data::make(kCases);

BOOST_AUTO_TEST_SUITE(fused)

BOOST_DATA_TEST_CASE(gradients_are_as_exact_as_those_of_autograd, kTable, c) {
  const Result exact = run_in_double(c);
  const Result autograd = run(c, {.fused = false, .composed = true});
  for (const int count : {1, 2, 3}) {
    const Result found = run(c, {.threads = count});
    for (size_t i = 0; i < 2; ++i) BOOST_CHECK_SMALL(found.losses[i] - exact.losses[i], 1e-5 * (1 + exact.losses[i]));
    check_errors(c, found, autograd, exact, 2e-6);
  }
}

BOOST_DATA_TEST_CASE(every_instruction_set_is_as_exact, boost::unit_test::data::make({"baseline", "avx2", "avx512"}),
                     name) {
  if (cpu_kernels(name) == nullptr) {
    BOOST_TEST_MESSAGE("skipped: this processor has no " << name);
    return;
  }
  for (size_t i = 0; i < std::size(kCases); i += 3) {
    const Case& c = kCases[i];
    check_errors(c, run(c, {.kernels = name}), run(c, {.fused = false, .composed = true}), run_in_double(c), 2e-6);
  }
}

/// The roundings to bf16 are those of the autograd path; an input that differs in its last bit may round to the other
/// side.
BOOST_DATA_TEST_CASE(bf16_is_as_exact_as_on_the_autograd_path, kTable, c) {
  const Result exact = run_in_double(c);
  const Result autograd = run(c, {.fused = false, .bf16 = true});
  const Result found = run(c, {.bf16 = true, .threads = 2});
  BOOST_CHECK_LT(largest_difference(found.gradients, autograd.gradients), 3e-2);
  check_errors(c, found, autograd, exact, 5e-3);
}

BOOST_DATA_TEST_CASE(bits_are_equal_from_run_to_run_and_with_checkpointing, kTable, c) {
  for (const bool bf16 : {false, true}) {
    for (const int count : {1, 2}) {
      const Result first = run(c, {.bf16 = bf16, .threads = count});
      BOOST_CHECK(first.same(run(c, {.bf16 = bf16, .threads = count})));
      BOOST_CHECK(first.same(run(c, {.checkpointing = true, .bf16 = bf16, .threads = count})));
    }
  }
}

BOOST_AUTO_TEST_CASE(threads_do_not_disturb_each_other) {
  for (const size_t i : {0U, 31U, 36U, 39U}) {
    const Result apart = run(kCases[i], {.threads = 3});
    for (int again = 0; again < 3; ++again) {
      BOOST_CHECK(apart.same(run(kCases[i], {.threads = 3, .at_once = true})));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_window_may_mix_both_paths) {
  const Case& c = kCases[0];
  const Result exact = run_in_double(c);
  const Result autograd = run(c, {.fused = false});
  for (const bool fused_first : {true, false}) {
    Transformer model = make_model(c, {});
    for (size_t micro = 0; micro < 2; ++micro) {
      one_pass(model, {.fused = fused_first == (micro == 0)}, {true, micro > 0, 55 + micro}, kWeights[micro],
               batch_of(c, 100 + micro));
    }
    check_errors(c, {{}, gradients(model)}, autograd, exact, 2e-6);
  }
}

BOOST_AUTO_TEST_CASE(a_new_window_forgets_the_last_and_other_sizes_leave_no_trace) {
  const Case& c = kCases[25];
  const Batch batch = batch_of(c, 1);
  for (const int count : {1, 2}) {
    Transformer fresh = make_model(c, {.threads = count});
    one_pass(fresh, {}, {true, false, 3}, 1.0, batch);
    Transformer used = make_model(c, {.threads = count});
    Batch other = make_batch(5, 9, c.vocab, 2);
    pad(other, 0, 4, true);
    one_pass(used, {}, {true, false, 4}, 7.0, other);
    const size_t bytes = used.fused_bytes();
    one_pass(used, {}, {true, false, 3}, 1.0, batch);
    BOOST_CHECK((Result{{}, gradients(used)}.same({{}, gradients(fresh)})));
    BOOST_CHECK_GT(used.fused_bytes(), bytes);
    const size_t grown = used.fused_bytes();
    one_pass(used, {}, {true, false, 4}, 7.0, other);
    BOOST_CHECK_EQUAL(used.fused_bytes(), grown);
  }
}

BOOST_AUTO_TEST_CASE(a_batch_without_labels_that_count_gives_zero) {
  const Case& c = kCases[0];
  Transformer model = make_model(c, {});
  const Batch batch = batch_of(c, 1);
  Batch masked = batch;
  masked.labels = at::full_like(batch.labels, -100);
  one_pass(model, {}, {true, false, 3}, 1.0, batch);
  const std::vector<at::Tensor> before = gradients(model);
  BOOST_CHECK_EQUAL(one_pass(model, {}, {true, true, 3}, 1.0, masked).item<double>(), 0.0);
  BOOST_CHECK((Result{{}, gradients(model)}.same({{}, before})));
  BOOST_CHECK_EQUAL(one_pass(model, {}, {true, false, 3}, 1.0, masked).item<double>(), 0.0);
  for (const at::Tensor& g : gradients(model)) BOOST_CHECK_EQUAL(g.abs().max().item<double>(), 0.0);
}

BOOST_AUTO_TEST_CASE(the_weight_scales_gradients_and_not_the_loss) {
  const Case& c = kCases[0];
  Transformer model = make_model(c, {});
  const Batch batch = batch_of(c, 1);
  const double loss = one_pass(model, {}, {true, false, 3}, 1.0, batch).item<double>();
  const std::vector<at::Tensor> once = gradients(model);
  BOOST_CHECK_EQUAL(one_pass(model, {}, {true, false, 3}, 1024.0, batch).item<double>(), loss);
  const std::vector<at::Tensor> scaled = gradients(model);
  for (size_t i = 0; i < once.size(); ++i) BOOST_CHECK(same_bits(scaled[i], once[i] * 1024.0));
}

BOOST_AUTO_TEST_CASE(nothing_not_finite_is_hidden) {
  const Case& c = kCases[0];
  Transformer model = make_model(c, {});
  {
    const at::NoGradGuard no_grad;
    model.parameters().blocks[1].down.value[0][0] = std::numeric_limits<float>::quiet_NaN();
  }
  BOOST_CHECK(std::isnan(one_pass(model, {}, {true, false, 3}, 1.0, batch_of(c, 1)).item<double>()));
}

BOOST_AUTO_TEST_CASE(what_it_cannot_do_is_handed_back_with_nothing_changed) {
  const Case& c = kCases[0];
  const Batch batch = batch_of(c, 1);
  Transformer model = make_model(c, {});
  one_pass(model, {}, {true, false, 3}, 1.0, batch);
  const std::vector<at::Tensor> before = gradients(model);
  auto reason = [&](Transformer& asked, const at::Tensor& labels) {
    try {
      asked.loss_and_grad({true, false, 3}, 1.0, batch.ids, labels, batch.mask);
    } catch (const Fault& fault) {
      return fault.code() == STC_ERROR_UNSUPPORTED ? std::string(fault.what()) : std::string("another code");
    }
    return std::string("none");
  };
  BOOST_CHECK_EQUAL(reason(model, at::Tensor()), "the batch has no labels");
  {
    const Bf16 autocast;
    at::autocast::set_autocast_dtype(at::kCPU, at::kHalf);
    BOOST_CHECK_EQUAL(reason(model, batch.labels),
                      "the fused pass of the model computes in fp32 and bf16, not in Half");
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  }
  Transformer composed = make_model(c, {.composed = true});
  BOOST_CHECK_EQUAL(reason(composed, batch.labels),
                    "the fused pass of the model runs on the CPU, with its own kernels");
  BOOST_CHECK((Result{{}, gradients(model)}.same({{}, before})));
}

BOOST_AUTO_TEST_CASE(bad_input_is_an_error_that_names_it) {
  const Case& c = kCases[0];
  Transformer model = make_model(c, {});
  Batch batch = batch_of(c, 1);
  batch.ids.view({-1})[3] = 128;
  auto names_it = [](const Fault& fault) {
    return fault.code() == STC_ERROR_INVALID_ARGUMENT && std::string(fault.what()).find("got 128") != std::string::npos;
  };
  BOOST_CHECK_EXCEPTION(one_pass(model, {}, {true, false, 3}, 1.0, batch), Fault, names_it);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::reference_transformer
