#include "host/train/ema.hpp"

#include <cstring>

#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <boost/test/unit_test.hpp>

#include "host/errors/error.hpp"
#include "host/services/services.hpp"
#include "host/train/rng_state.hpp"
#include "host/train/tensor_bridge.hpp"

namespace stc::host {
namespace {

/// Parameters of uneven sizes: one of no elements, one above the grain of a thread.
struct Weights {
  std::vector<at::Tensor> tensors;
  std::vector<ModelParameter> parameters;

  explicit Weights(std::vector<at::Tensor> given) : tensors(std::move(given)) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      ModelParameter parameter;
      parameter.name = "w" + std::to_string(i);
      parameter.tensor = borrow_handle(tensors[i]);
      parameters.push_back(parameter);
    }
  }
};

std::vector<at::Tensor> uneven() {
  seed_generators(5);
  return {at::randn({7}), at::randn({0}), at::randn({300, 333}), at::randn({}), at::randn({2, 3, 5})};
}

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return a.nbytes() == b.nbytes() &&
         (a.nbytes() == 0 || std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0);
}

std::vector<HostTensor> copy_of(const Ema& ema) {
  HostCopies copies;
  return ema.copy(copies);
}

std::vector<at::Tensor> averages(const Ema& ema) {
  std::vector<at::Tensor> result;
  for (const HostTensor& tensor : copy_of(ema)) result.push_back(view_of_host(tensor).clone());
  return result;
}

LoadedCheckpoint checkpoint_of(std::vector<HostTensor> ema) {
  LoadedCheckpoint checkpoint;
  checkpoint.path = "c/step";
  checkpoint.ema = std::move(ema);
  return checkpoint;
}

/// Runs a loop in chunks of 1,000, last first: what threads may do.
void in_chunks(void*, int64_t n, int64_t, void (*fn)(void*, int64_t, int64_t), void* arg) {
  for (int64_t begin = (n - 1) / 1000 * 1000; begin >= 0; begin -= 1000) fn(arg, begin, std::min(n, begin + 1000));
}

BOOST_AUTO_TEST_SUITE(ema)

BOOST_AUTO_TEST_CASE(follows_its_formula) {
  Weights weights(uneven());
  Ema ema({0.9, 1}, weights.parameters);
  std::vector<at::Tensor> expected;
  for (const at::Tensor& tensor : weights.tensors) expected.push_back(tensor.to(at::kDouble));
  for (uint64_t step = 1; step <= 20; ++step) {
    for (at::Tensor& tensor : weights.tensors) tensor.add_(at::randn(tensor.sizes()));
    ema.update(step);
    for (size_t i = 0; i < expected.size(); ++i) {
      expected[i] = expected[i].mul(0.9).add(weights.tensors[i].to(at::kDouble), 0.1);
    }
  }
  const std::vector<at::Tensor> found = averages(ema);
  for (size_t i = 0; i < expected.size(); ++i) {
    BOOST_TEST(found[i].allclose(expected[i].to(at::kFloat), 1e-5, 1e-6), i);
  }
}

BOOST_AUTO_TEST_CASE(begins_at_the_weights_and_takes_in_every_nth_step) {
  Weights weights({at::tensor({4.0f})});
  Ema ema({0.5, 3}, weights.parameters);
  weights.tensors[0].fill_(8.0);
  ema.update(1);
  ema.update(2);
  BOOST_TEST(averages(ema)[0].item<float>() == 4.0f);
  ema.update(3);
  BOOST_TEST(averages(ema)[0].item<float>() == 6.0f);
  ema.restart();
  BOOST_TEST(averages(ema)[0].item<float>() == 8.0f);
}

BOOST_AUTO_TEST_CASE(threads_do_not_change_a_bit) {
  std::vector<std::vector<at::Tensor>> results;
  for (const auto runner : {torch_slots().parallel_for, &in_chunks}) {
    const auto before = torch_slots().parallel_for;
    torch_slots().parallel_for = runner;
    Weights weights(uneven());
    Ema ema({0.99, 1}, weights.parameters);
    for (uint64_t step = 1; step <= 3; ++step) {
      for (at::Tensor& tensor : weights.tensors) tensor.add_(at::randn(tensor.sizes()));
      ema.update(step);
    }
    ema.swap();
    results.push_back(averages(ema));
    for (const at::Tensor& tensor : weights.tensors) results.back().push_back(tensor);
    torch_slots().parallel_for = before;
  }
  for (size_t i = 0; i < results[0].size(); ++i) BOOST_TEST(same_bits(results[0][i], results[1][i]), i);
}

BOOST_AUTO_TEST_CASE(swaps_there_and_back_to_the_bit) {
  // A tensor that is not contiguous, and one of a narrower type, take the way through tensor
  // operations.
  for (const bool direct : {true, false}) {
    std::vector<at::Tensor> tensors = uneven();
    if (!direct) {
      tensors.push_back(at::randn({4, 6}).t());
      tensors.push_back(at::randn({9}).to(at::kBFloat16));
    }
    tensors[0][0] = -0.0;
    tensors[0][1] = std::numeric_limits<float>::quiet_NaN();
    Weights weights(tensors);
    Ema ema({0.9, 1}, weights.parameters);
    for (at::Tensor& tensor : weights.tensors) tensor.add_(0.37);
    ema.update(1);
    std::vector<at::Tensor> before;
    for (const at::Tensor& tensor : weights.tensors) before.push_back(tensor.contiguous().clone());
    const std::vector<at::Tensor> average = averages(ema);
    ema.swap();
    for (size_t i = 0; i < before.size(); ++i) {
      const at::Tensor now = weights.tensors[i].contiguous();
      BOOST_TEST(same_bits(now, average[i].to(now.scalar_type())), i);
    }
    ema.swap();
    for (size_t i = 0; i < before.size(); ++i) {
      BOOST_TEST(same_bits(weights.tensors[i].contiguous(), before[i]), i);
      BOOST_TEST(same_bits(averages(ema)[i], average[i]), i);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_loaded_one_has_the_bits_of_the_saved) {
  Weights weights(uneven());
  Ema first({0.9, 1}, weights.parameters);
  for (at::Tensor& tensor : weights.tensors) tensor.mul_(1.7);
  first.update(1);
  Ema second({0.9, 1}, weights.parameters);
  second.load(checkpoint_of(copy_of(first)));
  for (size_t i = 0; i < weights.tensors.size(); ++i) {
    BOOST_TEST(same_bits(averages(first)[i], averages(second)[i]), i);
  }
}

BOOST_AUTO_TEST_CASE(what_is_not_trained_is_not_averaged) {
  Weights weights({at::tensor({1.0f}), at::tensor({2.0f})});
  weights.parameters[0].trainable = false;
  const Ema ema({0.9, 1}, weights.parameters);
  BOOST_REQUIRE(copy_of(ema).size() == 1u);
  BOOST_TEST(copy_of(ema)[0].name == "w1");
}

BOOST_AUTO_TEST_CASE(a_stored_one_that_does_not_fit_is_refused_by_name) {
  Weights weights({at::tensor({1.0f}), at::tensor({2.0f})});
  Ema ema({0.9, 1}, weights.parameters);
  std::vector<HostTensor> stored = copy_of(ema);
  stored[0].name = "other";
  stored[1].shape = {1, 1};
  BOOST_CHECK_EXCEPTION(ema.load(checkpoint_of(stored)), CheckpointError, [](const CheckpointError& error) {
    return std::string(error.what()) ==
           "c/step/ema.safetensors: does not fit the model:\n    w0: missing in the "
           "checkpoint\n    w1: checkpoint has "
           "shape (1,1), the model has (1)\n    other: not a tensor of the model";
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::host
