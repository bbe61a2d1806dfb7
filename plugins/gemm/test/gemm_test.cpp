/// \file
/// Products of both engines and of each instruction set against sums in fp64.
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include "gemm/gemm.hpp"
#include "gemm/kernels.hpp"

namespace data = boost::unit_test::data;
using stc::gemm::Engine;
using stc::gemm::Kernels;
using stc::gemm::Parallel;
using stc::gemm::Product;

namespace {

struct Case {
  int64_t rows, cols, inner;
  bool transpose_a, transpose_b;
  float alpha, beta;
  int64_t gap;  // elements of C between the end of a row and the next
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.rows << "x" << c.cols << "x" << c.inner << (c.transpose_a ? " A^T" : "")
             << (c.transpose_b ? " B^T" : "") << " alpha " << c.alpha << " beta " << c.beta << " gap " << c.gap;
}

// On and off the grid of every tile, below one tile, and across the borders of the packed blocks.
const std::array kCases{
    Case{1, 1, 1, false, false, 1.0F, 0.0F, 0},
    Case{1, 40, 7, false, true, 1.0F, 0.0F, 0},
    Case{5, 3, 2, true, false, 2.0F, 1.0F, 3},
    Case{12, 32, 16, false, false, 1.0F, 0.0F, 0},
    Case{13, 33, 17, true, true, 1.0F, 1.0F, 1},
    Case{64, 256, 64, false, true, 1.0F, 0.0F, 0},
    Case{256, 64, 64, true, false, 0.25F, 1.0F, 0},
    Case{64, 64, 256, false, false, 1.0F, 0.0F, 0},
    Case{31, 77, 257, false, true, 1.0F, 0.0F, 0},
    Case{345, 100, 300, false, false, 0.5F, 1.0F, 5},
    Case{100, 2100, 30, false, true, 1.0F, 1.0F, 0},
    Case{400, 2049, 260, true, false, 1.0F, -0.5F, 2},
    Case{1000, 50, 513, true, true, 1.0F, 1.0F, 0},
    // Read in place, and half a panel at the end.
    Case{30, 48, 20, false, false, 2.0F, 1.0F, 3},
    Case{64, 176, 64, false, true, 1.0F, 0.0F, 0},
    Case{176, 64, 64, true, false, 1.0F, 1.0F, 0},
    Case{67, 88, 256, false, false, 1.0F, 0.0F, 1},
    Case{88, 16, 64, true, false, 0.5F, 1.0F, 0},
    Case{7, 24, 256, true, true, 1.0F, 0.0F, 2},
};

const std::array<const char*, 4> kSets{"baseline", "avx2", "avx512", "avx512_bf16"};

struct Matrices {
  std::vector<float> a, b, c;
  Product product;

  explicit Matrices(const Case& x, bool bf16 = false) {
    std::mt19937 engine(static_cast<unsigned>(x.rows * 31 + x.cols * 7 + x.inner));
    std::normal_distribution<float> normal;
    auto fill = [&](int64_t n) {
      std::vector<float> out(static_cast<size_t>(n));
      for (float& value : out) value = normal(engine);
      return out;
    };
    auto round = [&](std::vector<float>& values) {  // toward zero: any value of bf16 will do
      for (float& value : values) value = std::bit_cast<float>(std::bit_cast<uint32_t>(value) & 0xFFFF0000U);
    };
    a = fill(x.rows * x.inner);
    b = fill(x.inner * x.cols);
    c = fill(x.rows * (x.cols + x.gap));
    if (bf16) {
      round(a);
      round(b);
      product.bf16 = true;
    }
    // Not read without beta: a NaN there must not come through.
    if (x.beta == 0.0F) std::fill(c.begin(), c.end(), std::nanf(""));
    product.a = {a.data(), x.transpose_a ? 1 : x.inner, x.transpose_a ? x.rows : 1};
    product.b = {b.data(), x.transpose_b ? 1 : x.cols, x.transpose_b ? x.inner : 1};
    product.c = c.data();
    product.ldc = x.cols + x.gap;
    product.rows = x.rows;
    product.cols = x.cols;
    product.inner = x.inner;
    product.alpha = x.alpha;
    product.beta = x.beta;
  }
  Matrices(const Matrices&) = delete;
  Matrices& operator=(const Matrices&) = delete;
};

/// Runs chunks of one on threads of its own.
void on_threads(void*, int64_t n, int64_t grain, Parallel::Body body, void* arg) {
  std::vector<std::thread> threads;
  for (int64_t begin = 0; begin < n; begin += grain) {
    threads.emplace_back([=] { body(arg, begin, std::min(n, begin + grain)); });
  }
  for (std::thread& thread : threads) thread.join();
}

const Parallel kThreads{nullptr, on_threads};

/// Entries within the bound of a sum of `inner` products in fp32, gaps untouched.
void check(const Case& x, const Matrices& before, const Matrices& after) {
  double worst = 0.0;
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = 0; j < x.cols + x.gap; ++j) {
      const auto at = static_cast<size_t>(i * (x.cols + x.gap) + j);
      if (j >= x.cols) {
        if (after.c[at] != before.c[at] && !std::isnan(before.c[at])) worst = 1.0;
        continue;
      }
      double sum = 0.0, size = 0.0;
      for (int64_t k = 0; k < x.inner; ++k) {
        const double term =
            static_cast<double>(after.product.a.data[i * after.product.a.row + k * after.product.a.col]) *
            static_cast<double>(after.product.b.data[k * after.product.b.row + j * after.product.b.col]);
        sum += term;
        size += std::abs(term);
      }
      double expected = x.alpha * sum;
      size *= std::abs(x.alpha);
      if (x.beta != 0.0F) {
        expected += static_cast<double>(x.beta) * static_cast<double>(before.c[at]);
        size += std::abs(static_cast<double>(x.beta) * static_cast<double>(before.c[at]));
      }
      worst = std::max(worst, std::abs(static_cast<double>(after.c[at]) - expected) / (size + 1e-30));
    }
  }
  BOOST_TEST(worst <= 1.2e-7 * std::sqrt(static_cast<double>(x.inner)) + 1.2e-7);
}

}  // namespace

BOOST_DATA_TEST_CASE(each_instruction_set_matches_fp64, data::make(kSets) * data::make(kCases), name, x) {
  const Kernels* kernels = stc::gemm::kernels(name);
  if (kernels == nullptr) {
    BOOST_TEST_MESSAGE(name << " is not supported here");
    return;
  }
  const bool bf16 = kernels->pack == 2;
  const Matrices before(x, bf16);
  Matrices after(x, bf16);
  stc::gemm::multiply_with(*kernels, after.product, 1, Parallel{});
  check(x, before, after);
  for (const int64_t lanes : {2, 3, 5}) {
    Matrices again(x, bf16);
    stc::gemm::multiply_with(*kernels, again.product, lanes, kThreads);
    int64_t different = 0;
    for (size_t i = 0; i < after.c.size(); ++i) {
      different += after.c[i] == again.c[i] || (std::isnan(after.c[i]) && std::isnan(again.c[i])) ? 0 : 1;
    }
    BOOST_TEST(different == 0, "with " << lanes << " lanes");
  }
}

BOOST_DATA_TEST_CASE(the_engines_match_fp64, data::make(kCases), x) {
  for (const bool bf16 : {false, true}) {
    for (const Engine engine : {Engine::own, Engine::library}) {
      if (!stc::gemm::available(engine)) continue;
      const Matrices before(x, bf16);
      Matrices after(x, bf16);
      stc::gemm::multiply(engine, after.product, 2, kThreads);
      check(x, before, after);
    }
  }
}

/// What is no value of bf16 is rounded to the nearest, ties to even.
BOOST_AUTO_TEST_CASE(bf16_units_round_what_they_are_given) {
  const Kernels* kernels = stc::gemm::bf16_kernels();
  if (kernels == nullptr) {
    BOOST_TEST_MESSAGE("no units for bf16 here");
    return;
  }
  // Above, below and at the middle of two neighbours, where the even one wins.
  const std::array<float, 4> a{1.0F + 0x1.2p-8F, 1.0F + 0x0.ep-8F, 1.0F + 0x1p-8F, 1.0F + 0x3p-8F};
  const std::array<float, 4> expected{1.0F + 0x1p-7F, 1.0F, 1.0F, 1.0F + 0x2p-7F};
  for (size_t i = 0; i < a.size(); ++i) {
    const float one = 1.0F;
    float c = 0.0F;
    stc::gemm::multiply_with(*kernels, {{&a[i], 1, 1}, {&one, 1, 1}, &c, 1, 1, 1, 1}, 1, Parallel{});
    BOOST_TEST(c == expected[i]);
  }
}

BOOST_AUTO_TEST_CASE(unknown_instruction_sets_are_null) {
  BOOST_TEST((stc::gemm::kernels("sse9") == nullptr));
  BOOST_TEST((stc::gemm::kernels("baseline") != nullptr));
}
