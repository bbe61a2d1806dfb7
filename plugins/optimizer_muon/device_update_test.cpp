// The path of other devices, run with tensors of the CPU against the CPU path, and how
// fast the products of the iteration are.

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>

#include "device_update.hpp"
#include "host/services/services.hpp"
#include "host/services/torch_services.hpp"
#include "host_update.hpp"

namespace muon = stc::muon;
using stc::stable::Tensor;

namespace {

stc::Host services() {
  stc::host::install_torch_services();
  static stc::host::Services& services = *new stc::host::Services("muon", nullptr);
  return stc::Host(services.table());
}

Tensor random(std::initializer_list<int64_t> sizes, std::mt19937& engine) {
  Tensor out = Tensor::empty(sizes);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < out.numel(); ++i) out.data<float>()[i] = normal(engine);
  return out;
}

Tensor copy_of(const Tensor& tensor) {
  Tensor out = Tensor::empty(tensor.sizes());
  std::memcpy(out.data(), tensor.data(), static_cast<size_t>(tensor.numel()) * sizeof(float));
  return out;
}

muon::Slot slot_for(const Tensor& tensor, bool on_host) {
  muon::Slot slot;
  slot.name = "p";
  slot.tensor = tensor;
  slot.dtype = STC_DTYPE_FLOAT32;
  slot.on_host = on_host;
  slot.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  slot.numel = tensor.numel();
  slot.data = tensor.data();
  return slot;
}

float max_difference(const Tensor& a, const Tensor& b) {
  float out = 0;
  for (int64_t i = 0; i < a.numel(); ++i) out = std::max(out, std::abs(a.data<float>()[i] - b.data<float>()[i]));
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(optimizer_muon_device)

BOOST_AUTO_TEST_CASE(follows_the_host) {
  for (const bool plus : {false, true}) {
    for (const bool cautious : {false, true}) {
      for (const bool as_tensor : {false, true}) {
        BOOST_TEST_CONTEXT("plus=" << plus << " cautious=" << cautious << " factor as tensor=" << as_tensor) {
          std::mt19937 engine(5);
          const std::vector<Tensor> start = {random({40, 9}, engine), random({9, 40}, engine), random({40, 9}, engine)};
          std::vector<muon::Slot> on_host, elsewhere;
          for (const Tensor& tensor : start) {
            on_host.push_back(slot_for(copy_of(tensor), true));
            elsewhere.push_back(slot_for(copy_of(tensor), false));
          }
          muon::HostUpdate host(services());
          muon::DeviceUpdate device;
          host.bind(on_host);
          device.bind(elsewhere);
          muon::Settings settings;
          settings.plus = plus;
          settings.cautious = cautious;
          const std::vector<stc::Group> groups = {{1.0, 0.1}};
          int64_t unlike = 0;
          for (uint64_t s = 0; s < 10; ++s) {
            stc::Step step;
            step.lr = 1e-2;
            step.step = s;
            step.grad_factor = 0.5;
            Tensor factor = Tensor::zeros({});
            factor.data<float>()[0] = 0.5F;
            if (as_tensor) step.grad_factor_t = factor.get();
            std::vector<Tensor> gradients;
            for (const Tensor& tensor : start)
              gradients.push_back(random({tensor.sizes()[0], tensor.sizes()[1]}, engine));
            host.step(settings, groups, step.lr, 0.5,
                      {{0, gradients[0].data()}, {1, gradients[1].data()}, {2, gradients[2].data()}});
            device.step(settings, groups, step, {0, 1, 2}, gradients);
          }
          for (size_t i = 0; i < start.size(); ++i) {
            for (int64_t k = 0; k < start[i].numel(); ++k) {
              unlike += std::abs(on_host[i].tensor.data<float>()[k] - elsewhere[i].tensor.data<float>()[k]) > 2e-5F;
            }
            BOOST_TEST(max_difference(on_host[i].tensor, start[i]) > 1e-2F);
            BOOST_TEST(max_difference(elsewhere[i].device_momentum, Tensor::zeros({40, 9})) > 1e-2F);
          }
          BOOST_TEST(unlike <= (cautious ? 1 : 0));  // a sign within rounding may be seen either way
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(an_overflow_changes_nothing) {
  std::mt19937 engine(6);
  const Tensor start = random({20, 10}, engine);
  std::vector<muon::Slot> slots = {slot_for(copy_of(start), false)};
  muon::DeviceUpdate device;
  device.bind(slots);
  Tensor found_inf = Tensor::zeros({});
  found_inf.data<float>()[0] = 1;
  stc::Step step;
  step.lr = 1e-2;
  step.found_inf = found_inf.get();
  device.step({}, {{1.0, 0.1}}, step, {0}, {random({20, 10}, engine)});
  BOOST_TEST(max_difference(slots[0].tensor, start) == 0);
  BOOST_TEST(max_difference(slots[0].device_momentum, Tensor::zeros({20, 10})) == 0);
}

// Not a check but a measurement of processor time, for README.md: --run_test='*/measure' with STC_MEASURE set.
BOOST_AUTO_TEST_CASE(measure) {
  if (std::getenv("STC_MEASURE") == nullptr) {
    BOOST_TEST_MESSAGE("skipped: STC_MEASURE is not set");
    return;
  }
  std::mt19937 engine(1);
  struct Shape {
    int64_t n, rows, cols;
  };
  // The matrices of configs/bench/base.yaml, then those of tiny.yaml.
  for (const Shape& shape : {Shape{16, 512, 512}, Shape{16, 256, 512}, Shape{16, 1368, 512}, Shape{8, 512, 1368},
                             Shape{4, 64, 64}, Shape{4, 86, 64}}) {
    std::vector<muon::Slot> slots, other;
    std::vector<Tensor> gradients;
    std::vector<muon::HostGradient> on_host;
    std::vector<uint32_t> indices;
    for (int64_t i = 0; i < shape.n; ++i) {
      slots.push_back(slot_for(random({shape.rows, shape.cols}, engine), true));
      other.push_back(slot_for(random({shape.rows, shape.cols}, engine), false));
      gradients.push_back(random({shape.rows, shape.cols}, engine));
      on_host.push_back({static_cast<uint32_t>(i), gradients.back().data()});
      indices.push_back(static_cast<uint32_t>(i));
    }
    muon::HostUpdate host(services());
    muon::DeviceUpdate device;
    host.bind(slots);
    device.bind(other);
    double best_host = 1e9, best_operators = 1e9;
    for (int round = 0; round < 4; ++round) {
      const std::clock_t t0 = std::clock();
      host.step({}, {{1.0, 0.1}}, 1e-3, 1.0, on_host);
      const std::clock_t t1 = std::clock();
      stc::Step step;
      step.lr = 1e-3;
      device.step({}, {{1.0, 0.1}}, step, indices, gradients);
      const std::clock_t t2 = std::clock();
      best_host = std::min(best_host, static_cast<double>(t1 - t0) / CLOCKS_PER_SEC);
      best_operators = std::min(best_operators, static_cast<double>(t2 - t1) / CLOCKS_PER_SEC);
    }
    BOOST_TEST_MESSAGE(shape.n << " of " << shape.rows << "x" << shape.cols << ": symmetric blocks " << best_host * 1e3
                               << " ms, batched operators " << best_operators * 1e3 << " ms");
  }
}

BOOST_AUTO_TEST_SUITE_END()
