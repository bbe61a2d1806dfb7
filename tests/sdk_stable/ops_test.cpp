// The wrappers of stc/stable/ops.hpp: each runs, equals plain arithmetic, and matches LibTorch's schema.

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <set>
#include <string>

#include <stc/stable/ops.hpp>

#include "host/services/services.hpp"
#include "host/services/torch_services.hpp"

namespace s = stc::stable;
using s::Tensor;

namespace {

const stc_host& table() {
  stc::host::install_torch_services();
  static stc::host::Services& services = *new stc::host::Services("test", nullptr);
  return services.table();
}

struct Services {
  Services() { table(); }
};

Tensor tensor(std::initializer_list<int64_t> sizes, std::initializer_list<float> values) {
  Tensor out = Tensor::empty(sizes);
  std::copy(values.begin(), values.end(), out.data<float>());
  return out;
}
Tensor labels(std::initializer_list<int64_t> values) {
  Tensor out = Tensor::empty({static_cast<int64_t>(values.size())}, STC_DTYPE_INT64);
  std::copy(values.begin(), values.end(), out.data<int64_t>());
  return out;
}

/// Dense copy of what a tensor of fp32 or bool holds.
std::vector<float> values(const Tensor& t) {
  const Tensor dense = s::clone(s::reshape(s::to(s::detach(t), STC_DTYPE_FLOAT32), {-1}));
  return {dense.data<float>(), dense.data<float>() + dense.numel()};
}

void expect(const Tensor& got, const std::vector<float>& wanted) {
  const std::vector<float> have = values(got);
  BOOST_REQUIRE(have.size() == wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) BOOST_TEST(std::abs(have[i] - wanted[i]) < 1e-5F);
}

}  // namespace

BOOST_TEST_GLOBAL_FIXTURE(Services);

BOOST_AUTO_TEST_SUITE(sdk_stable_ops)

BOOST_AUTO_TEST_CASE(products) {
  const Tensor a = tensor({2, 2}, {1, 2, 3, 4});
  const Tensor b = tensor({2, 2}, {1, 0, 1, 1});
  expect(s::linear(a, b), {1, 3, 3, 7});
  expect(s::linear(a, b, tensor({2}, {10, 20})), {11, 23, 13, 27});
  expect(s::matmul(a, b), {3, 2, 7, 4});
  expect(s::addmm(tensor({2}, {1, 1}), a, b, 2, 0.5), {3.5, 3, 5.5, 4});
  const Tensor batch = s::view(a, {1, 2, 2});
  expect(s::bmm(batch, batch), {7, 10, 15, 22});
  expect(s::baddbmm(batch, batch, batch, 1, -1), {-6, -8, -12, -18});
}

BOOST_AUTO_TEST_CASE(arithmetic) {
  const Tensor a = tensor({3}, {1, 2, 4});
  const Tensor b = tensor({3}, {2, 2, 8});
  expect(s::add(a, b, 0.5), {2, 3, 8});
  expect(s::add(a, 1.5), {2.5, 3.5, 5.5});
  expect(s::sub(a, b, 2), {-3, -2, -12});
  expect(s::sub(a, 1), {0, 1, 3});
  expect(s::mul(a, b), {2, 4, 32});
  expect(s::mul(a, 2.5), {2.5, 5, 10});
  expect(s::div(a, b), {0.5, 1, 0.5});
  expect(s::div(a, 4), {0.25, 0.5, 1});
  expect(s::pow(a, 2), {1, 4, 16});
  expect(s::addcmul(a, a, b, 0.5), {2, 4, 20});
  expect(s::addcdiv(a, b, a, 2), {5, 4, 8});
  expect(s::neg(a), {-1, -2, -4});
  expect(s::exp(s::log(a)), {1, 2, 4});
  expect(s::mul(s::sqrt(a), s::rsqrt(a)), {1, 1, 1});
}

BOOST_AUTO_TEST_CASE(activations_and_normalisation) {
  const Tensor x = tensor({1, 3}, {-1, 0, 2});
  expect(s::relu(x), {0, 0, 2});
  expect(s::silu(x), {-1 / (1 + std::exp(1.0F)), 0, 2 / (1 + std::exp(-2.0F))});
  expect(s::sigmoid(x), {1 / (1 + std::exp(1.0F)), 0.5, 1 / (1 + std::exp(-2.0F))});
  expect(s::tanh(x), {std::tanh(-1.0F), 0, std::tanh(2.0F)});
  const auto gelu = [](float v) { return 0.5F * v * (1 + std::erf(v / std::sqrt(2.0F))); };
  expect(s::gelu(x), {gelu(-1), 0, gelu(2)});
  BOOST_TEST(std::abs(values(s::gelu(x, "tanh"))[2] - gelu(2)) > 1e-5F);
  const float sum = std::exp(-1.0F) + 1 + std::exp(2.0F);
  expect(s::softmax(x, -1), {std::exp(-1.0F) / sum, 1 / sum, std::exp(2.0F) / sum});
  expect(s::exp(s::log_softmax(x, 1)), {std::exp(-1.0F) / sum, 1 / sum, std::exp(2.0F) / sum});
  const float root = std::sqrt(5.0F / 3);
  expect(s::rms_norm(x, {3}), {-1 / root, 0, 2 / root});
  expect(s::rms_norm(x, {3}, tensor({3}, {2, 2, 2}), 0.0), {-2 / root, 0, 4 / root});
  const float deviation = std::sqrt((1 + 0 + 4) / 3.0F - 1 / 9.0F);
  expect(s::layer_norm(x, {3}, {}, {}, 0),
         {(-1 - 1 / 3.0F) / deviation, (-1 / 3.0F) / deviation, (2 - 1 / 3.0F) / deviation});
}

BOOST_AUTO_TEST_CASE(attention_embedding_and_losses) {
  const Tensor q = tensor({1, 1, 2, 1}, {1, 1});
  const Tensor v = tensor({1, 1, 2, 1}, {3, 5});
  expect(s::scaled_dot_product_attention(q, q, v, {}, 0, true, 1.0), {3, 4});
  expect(s::scaled_dot_product_attention(q, q, v), {4, 4});
  const Tensor table_ = tensor({2, 2}, {1, 2, 3, 4});
  expect(s::embedding(table_, labels({1, 0, 1})), {3, 4, 1, 2, 3, 4});
  const Tensor logits = tensor({2, 2}, {0, 0, 0, 100});
  expect(s::cross_entropy_loss(logits, labels({0, -100})), {std::log(2.0F)});
  expect(s::mse_loss(tensor({2}, {1, 3}), tensor({2}, {0, 0})), {5});
}

BOOST_AUTO_TEST_CASE(shapes) {
  const Tensor a = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  expect(s::transpose(a, 0, 1), {1, 4, 2, 5, 3, 6});
  expect(s::permute(a, {1, 0}), {1, 4, 2, 5, 3, 6});
  expect(s::narrow(a, 1, 1, 2), {2, 3, 5, 6});
  expect(s::cat({a, a}, 1), {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  const std::vector<Tensor> parts = s::split(a, 2, 1);
  BOOST_REQUIRE(parts.size() == 2U);
  expect(parts[1], {3, 6});
  BOOST_TEST(s::reshape(a, {3, 2}).sizes()[0] == 3);
  BOOST_TEST(s::to(a, STC_DTYPE_INT64).data<int64_t>()[5] == 6);
}

BOOST_AUTO_TEST_CASE(reductions_comparisons_and_selection) {
  const Tensor a = tensor({2, 2}, {3, 4, -1, 0});
  expect(s::mean(a), {1.5});
  expect(s::sum(a), {6});
  expect(s::vector_norm(a), {std::sqrt(26.0F)});
  expect(s::vector_norm(a, 1, s::Sizes{1}, true), {7, 1});
  expect(s::clamp(a, 0, 3), {3, 3, 0, 0});
  expect(s::clamp(a, std::nullopt, 0), {0, 0, -1, 0});
  expect(s::gt(a, 0), {1, 1, 0, 0});
  expect(s::ge(a, 0), {1, 1, 0, 1});
  expect(s::lt(a, 0), {0, 0, 1, 0});
  expect(s::le(a, 0), {0, 0, 1, 1});
  expect(s::where(s::gt(a, 0), a, -7), {3, 4, -7, -7});
  expect(s::where(s::gt(a, 0), a, s::neg(a)), {3, 4, 1, 0});
  expect(s::masked_fill(a, s::lt(a, 0), 9), {3, 4, 9, 0});
}

BOOST_AUTO_TEST_CASE(creation_and_changes_in_place) {
  const Tensor a = tensor({3}, {1, 2, 3});
  expect(s::full(a, {2}, 0.5), {0.5, 0.5});
  expect(s::zeros_like(a), {0, 0, 0});
  expect(s::fill(a, 4), {4, 4, 4});
  const Tensor b = s::clone(a);
  s::add_(b, a, 2);
  expect(b, {3, 6, 9});
  s::mul_(b, 0.5);
  s::addcmul_(b, a, a, 1);
  expect(b, {2.5, 7, 13.5});
  s::addcdiv_(b, a, a, -0.5);
  expect(b, {2, 6.5, 13});
  s::copy_(b, a);
  expect(b, {1, 2, 3});
  s::fill_(b, 8);
  expect(b, {8, 8, 8});
  s::zero_(b);
  expect(b, {0, 0, 0});
  expect(a, {1, 2, 3});
}

BOOST_AUTO_TEST_CASE(failures_carry_the_words_of_libtorch) {
  const Tensor a = tensor({2}, {1, 2});
  try {
    s::matmul(a, tensor({3}, {1, 2, 3}));
    BOOST_ERROR("nothing was thrown");
  } catch (const stc::Fault& fault) {
    const std::string text = fault.what();
    BOOST_TEST(fault.code() == STC_ERROR_TORCH);
    BOOST_TEST(text.find("aten::matmul") == 0U);
    BOOST_TEST(text.find("inconsistent tensor size") != std::string::npos, text);
  }
  BOOST_CHECK_THROW(s::relu(Tensor()), stc::Fault);
}

BOOST_AUTO_TEST_CASE(copies_share_and_handles_move) {
  Tensor a = tensor({2}, {1, 2});
  const Tensor b = a;
  b.data<float>()[0] = 5;
  expect(a, {5, 2});
  const Tensor c = std::move(a);
  BOOST_TEST(!a.defined());
  expect(c, {5, 2});
}

// Last of this file: every wrapper above is in the list, and the host agrees with each schema.
BOOST_AUTO_TEST_CASE(every_schema_is_that_of_this_libtorch) {
  const auto& schemas = stc::detail::operator_schemas();
  const std::set<std::string> different(schemas.begin(), schemas.end());
  BOOST_TEST(different.size() == schemas.size());
  BOOST_TEST(schemas.size() > 60U);
  for (const char* schema : schemas) {
    BOOST_TEST(stc::host::take_error(table().operator_check(table().ctx, schema)).message == "");
  }
}

BOOST_AUTO_TEST_SUITE_END()
