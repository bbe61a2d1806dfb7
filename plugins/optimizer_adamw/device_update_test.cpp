// The path of other devices, run with tensors of the CPU against the CPU path.

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "device_update.hpp"
#include "host/services/services.hpp"
#include "host/services/torch_services.hpp"
#include "host_update.hpp"

namespace adamw = stc::adamw;
using stc::stable::Tensor;

namespace {

stc::Host services() {
  stc::host::install_torch_services();
  static stc::host::Services& services = *new stc::host::Services("adamw", nullptr);
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

adamw::Slot slot_for(const Tensor& tensor, bool on_host) {
  adamw::Slot slot;
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

BOOST_AUTO_TEST_SUITE(optimizer_adamw_device)

BOOST_AUTO_TEST_CASE(both_forms_follow_the_host_with_and_without_caution) {
  for (const bool fused : {true, false}) {
    for (const bool cautious : {true, false}) {
      for (const bool as_tensor : {true, false}) {
        BOOST_TEST_CONTEXT("fused=" << fused << " cautious=" << cautious << " factor as tensor=" << as_tensor) {
          std::mt19937 engine(5);
          const Tensor start = random({40, 9}, engine);
          std::vector<adamw::Slot> on_host = {slot_for(copy_of(start), true)};
          std::vector<adamw::Slot> elsewhere = {slot_for(copy_of(start), false)};
          adamw::HostUpdate host(services());
          adamw::DeviceUpdate device;
          host.bind(on_host);
          device.bind(elsewhere);
          adamw::Settings settings;
          settings.fused_on_device = fused;
          settings.cautious = cautious;
          const std::vector<stc::Group> groups = {{1.0, 0.1}};
          for (uint64_t s = 0; s < 20; ++s) {
            const Tensor gradient = random({40, 9}, engine);
            stc::Step step;
            step.lr = 1e-2;
            step.step = s;
            step.grad_factor = 0.5;
            Tensor factor = Tensor::zeros({});
            factor.data<float>()[0] = 0.5F;
            if (as_tensor) step.grad_factor_t = factor.get();
            host.step(settings, groups, step.lr, 0.5, {{0, gradient.data()}});
            device.step(settings, groups, step, {0}, {copy_of(gradient)});
          }
          BOOST_TEST(max_difference(on_host[0].tensor, elsewhere[0].tensor) < 2e-6F);
          BOOST_TEST(max_difference(on_host[0].tensor, start) > 1e-2F);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(an_overflow_changes_nothing) {
  for (const bool fused : {true, false}) {
    std::mt19937 engine(6);
    const Tensor start = random({50}, engine);
    std::vector<adamw::Slot> slots = {slot_for(copy_of(start), false)};
    adamw::DeviceUpdate device;
    device.bind(slots);
    adamw::Settings settings;
    settings.fused_on_device = fused;
    Tensor found_inf = Tensor::zeros({});
    found_inf.data<float>()[0] = 1;
    stc::Step step;
    step.lr = 1e-2;
    step.found_inf = found_inf.get();
    device.step(settings, {{1.0, 0.1}}, step, {0}, {random({50}, engine)});
    BOOST_TEST(max_difference(slots[0].tensor, start) == 0);
    BOOST_TEST(max_difference(slots[0].device_exp_avg, Tensor::zeros({50})) == 0);
    BOOST_TEST(max_difference(slots[0].device_exp_avg_sq, Tensor::zeros({50})) == 0);
  }
}

BOOST_AUTO_TEST_CASE(falls_back_with_a_line_where_the_device_cannot_fuse) {
  struct Case {
    bool demanded;
    int level;
  };
  for (const Case& c : {Case{true, STC_LOG_WARNING}, Case{false, STC_LOG_DEBUG}}) {
    stc::host::install_torch_services();
    std::vector<std::pair<int, std::string>> lines;
    stc::host::RunContext context;
    context.log_level = STC_LOG_DEBUG;
    context.log = [&](int level, const std::string&, const std::string& text) { lines.emplace_back(level, text); };
    const stc::host::Services services("adamw", &context);
    const stc::Host host(services.table());
    std::mt19937 engine(7);
    std::vector<adamw::Slot> slots = {slot_for(random({4}, engine), false)};
    adamw::DeviceUpdate device;
    device.bind(slots);
    BOOST_TEST(device.can_fuse(host, c.demanded));
    BOOST_TEST(lines.empty());
    slots.push_back(slot_for(Tensor::zeros({4}, STC_DTYPE_INT32), false));  // a type that the operator refuses
    slots.back().dtype = STC_DTYPE_INT32;
    BOOST_TEST(!device.can_fuse(host, c.demanded));
    BOOST_REQUIRE(lines.size() == 1);
    BOOST_TEST(lines[0].first == c.level);
    BOOST_TEST(lines[0].second.starts_with("fused: the device has no fused update, the plain one is used: "),
               lines[0].second);
    BOOST_TEST(lines[0].second.find("Int") != std::string::npos, lines[0].second);
  }
}

BOOST_AUTO_TEST_SUITE_END()
