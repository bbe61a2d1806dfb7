// The norm over all gradients against sums in fp64.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "host/train/gradient_norm.hpp"

namespace stc::host {
namespace {

namespace data = boost::unit_test::data;

at::Tensor normal(int64_t count, float scale) {
  at::Tensor out = at::empty({count}, at::kFloat);
  std::mt19937 engine(static_cast<unsigned>(count));
  std::normal_distribution<float> draw;
  for (int64_t i = 0; i < count; ++i) out.data_ptr<float>()[i] = scale * draw(engine);
  return out;
}

double reference(const std::vector<at::Tensor>& tensors) {
  long double squares = 0;
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.defined()) continue;
    for (int64_t i = 0; i < tensor.numel(); ++i) {
      squares += std::pow(static_cast<long double>(tensor.data_ptr<float>()[i]), 2);
    }
  }
  return static_cast<double>(std::sqrt(squares));
}

double relative(double value, double truth) { return std::abs(value - truth) / truth; }

BOOST_AUTO_TEST_SUITE(gradient_norm)

BOOST_DATA_TEST_CASE(it_is_the_root_of_all_squares, data::make({1.0F, 1e-30F, 1e-12F, 1e25F}), scale) {
  const std::vector<at::Tensor> tensors{normal(1, scale), at::Tensor(), normal(17, scale), normal(1024, scale),
                                        normal(70001, scale)};
  BOOST_TEST(relative(host_gradient_norm(tensors).value(), reference(tensors)) < 1e-6);
}

BOOST_AUTO_TEST_CASE(values_of_very_different_sizes_count_each) {
  const std::vector<at::Tensor> tensors{normal(5000, 1e-25F), normal(5000, 1.0F), normal(40, 1e20F)};
  BOOST_TEST(relative(host_gradient_norm(tensors).value(), reference(tensors)) < 1e-6);
}

BOOST_AUTO_TEST_CASE(without_gradients_or_with_zeros_it_is_zero) {
  BOOST_TEST(host_gradient_norm({}).value() == 0.0);
  BOOST_TEST(host_gradient_norm({at::Tensor()}).value() == 0.0);
  BOOST_TEST(host_gradient_norm({at::zeros({0}, at::kFloat), at::zeros({2000}, at::kFloat)}).value() == 0.0);
}

BOOST_DATA_TEST_CASE(what_is_not_finite_shows, data::make({0, 700, 1023, 4999}), place) {
  at::Tensor tensor = normal(5000, 1.0F);
  tensor.data_ptr<float>()[place] = -std::numeric_limits<float>::infinity();
  BOOST_TEST(std::isinf(host_gradient_norm({tensor}).value()));
  tensor.data_ptr<float>()[place] = std::nanf("");
  BOOST_TEST(std::isnan(host_gradient_norm({tensor}).value()));
}

BOOST_AUTO_TEST_CASE(the_bits_do_not_depend_on_the_threads) {
  const std::vector<at::Tensor> tensors{normal(100000, 1.0F), normal(33, 2.0F), normal(50000, 0.1F)};
  const int before = at::get_num_threads();
  std::vector<double> norms;
  for (const int threads : {1, 2, 5}) {
    at::set_num_threads(threads);
    norms.push_back(host_gradient_norm(tensors).value());
  }
  at::set_num_threads(before);
  BOOST_TEST(norms[1] == norms[0]);
  BOOST_TEST(norms[2] == norms[0]);
}

BOOST_AUTO_TEST_CASE(any_dense_order_of_values_is_taken_and_nothing_else) {
  const at::Tensor matrix = normal(600, 1.0F).view({20, 30});
  BOOST_TEST(host_gradient_norm({matrix.t()}).value() == host_gradient_norm({matrix}).value());
  BOOST_TEST(!host_gradient_norm({matrix, matrix.slice(1, 0, 30, 2)}).has_value());
  BOOST_TEST(!host_gradient_norm({matrix.to(at::kDouble)}).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::host
