// Arithmetic of single kernels against double precision.
#include <cmath>
#include <cstring>
#include <vector>

#include "fixture.hpp"

namespace stc::reference_transformer {
namespace {

BOOST_AUTO_TEST_SUITE(kernels)

BOOST_AUTO_TEST_CASE(swiglu_matches_double_precision_over_the_whole_range) {
  std::vector<float> gate_up;
  constexpr int64_t kWidth = 4001;
  for (int64_t i = 0; i < kWidth; ++i) gate_up.push_back(static_cast<float>(i - 2000) * 0.06F);
  for (int64_t i = 0; i < kWidth; ++i) gate_up.push_back(1.5F);
  std::vector<float> out(kWidth);
  for (const char* name : {"baseline", "avx2", "avx512"}) {
    const KernelSet* kernels = cpu_kernels(name);
    if (kernels == nullptr) continue;
    kernels->fp32.swiglu(gate_up.data(), out.data(), kWidth, 0, 1);
    for (size_t i = 0; i < out.size(); ++i) {
      const double x = gate_up[i];
      const double expected = x / (1.0 + std::exp(-x)) * 1.5;
      BOOST_TEST_CONTEXT(name << " x=" << x) {
        BOOST_CHECK_SMALL(out[i] - expected, 1e-30 + 4e-7 * std::abs(expected) + (x < -80.0 ? 1e-30 : 0.0));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(cross_entropy_survives_large_logits) {
  const Kernels& kernels = cpu_kernels().fp32;
  std::vector<float> logits(50, -1.0e4F);
  logits[7] = 1.0e4F;
  logits[8] = 1.0e4F;
  const int64_t label = 7;
  double loss = -1.0;
  kernels.cross_entropy(logits.data(), &label, &loss, 50, true, 0, 1);
  BOOST_CHECK_CLOSE(loss, std::log(2.0), 1e-4);
  BOOST_CHECK_CLOSE(logits[7], -0.5F, 1e-4);
  BOOST_CHECK_CLOSE(logits[8], 0.5F, 1e-4);
  BOOST_CHECK_SMALL(logits[9], 1e-30F);
}

BOOST_AUTO_TEST_CASE(an_infinite_or_missing_logit_makes_the_loss_not_a_number) {
  const Kernels& kernels = cpu_kernels().fp32;
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    for (const size_t place : {size_t{0}, size_t{20}, size_t{49}}) {
      std::vector<float> logits(50, 0.0F);
      logits[place] = bad;
      const int64_t label = 7;
      double loss = 0.0;
      kernels.cross_entropy(logits.data(), &label, &loss, 50, false, 0, 1);
      BOOST_CHECK(std::isnan(loss));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::reference_transformer
