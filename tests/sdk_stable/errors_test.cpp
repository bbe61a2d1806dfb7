// What the headers of level stable say when an author, a host or a tensor does not keep to its part.

#include <boost/test/unit_test.hpp>

#include <functional>
#include <string>
#include <vector>

#include <stc/stable/autograd.hpp>
#include <stc/stable/bound.hpp>
#include <stc/stable/model.hpp>
#include <stc/stable/ops.hpp>

#include "host/services/services.hpp"
#include "host/services/torch_services.hpp"

namespace s = stc::stable;
using s::Tensor;

namespace {

stc::host::Services& services() {
  stc::host::install_torch_services();
  static stc::host::Services& services = *new stc::host::Services("test", nullptr);
  return services;
}

stc::Host host() { return stc::Host(services().table()); }

std::string message_of(stc_error* error) { return stc::host::take_error(error).message; }

std::string fault_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const stc::Fault& fault) {
    return fault.what();
  }
  return "none";
}

s::BoundParameter bound(const Tensor& tensor, uint32_t group = 0) {
  s::BoundParameter parameter;
  parameter.name = "w";
  parameter.tensor = tensor;
  parameter.group = group;
  return parameter;
}

/// Forward gives one result of two asked for, backward no gradient at all.
struct Forgetful {
  std::vector<Tensor> forward(const std::vector<Tensor>& inputs, std::vector<Tensor>&) { return {inputs[0]}; }
  std::vector<Tensor> backward(const std::vector<Tensor>&, const std::vector<Tensor>&) { return {}; }
};

/// A model in the simple form that returns an undefined tensor.
struct Nothing {
  struct Params {
    template <class V>
    static void describe(V&) {}
  };
  std::vector<s::Parameter> parameters() { return {}; }
  Tensor forward(const Tensor&) { return {}; }
};

/// What the model's forward says of a batch with this one field.
std::string forward_error(const char* field) {
  const stc_model_api& api = stc::ModelSlots<Nothing, s::Level>::kTable;
  const stc::host::Value section = stc::host::Value::object();
  stc_model* model = nullptr;
  BOOST_REQUIRE(message_of(api.create(&services().table(), services().config_node(section), &model)) == "");
  const Tensor tensor = Tensor::empty({2});
  const stc_named_tensor item{field, tensor.get()};
  const stc_tensor_list inputs{&item, 1};
  stc_pass_info info{};
  info.struct_size = sizeof info;
  std::string text = message_of(api.forward(model, &info, &inputs, nullptr));
  api.destroy(model);
  return text;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sdk_stable_errors)

BOOST_AUTO_TEST_CASE(a_parameter_that_cannot_be_updated_is_named) {
  const Tensor tensor = Tensor::empty({2});
  BOOST_TEST(fault_of([&] { s::describe(host(), bound(tensor, 2), 2); }) == "parameter w: is in group 2 of 2");
  BOOST_TEST(fault_of([&] { s::describe(host(), bound(Tensor::empty({2}, STC_DTYPE_INT64)), 1); }) ==
             "parameter w: got dtype int64, expected a floating-point one");
}

BOOST_AUTO_TEST_CASE(a_gradient_on_another_device_is_refused) {
  const Tensor tensor = Tensor::empty({2});
  s::BoundInfo elsewhere = s::describe(host(), bound(tensor), 1);
  elsewhere.device_type = STC_DEVICE_CUDA;
  elsewhere.device_index = 0;
  BOOST_TEST(fault_of([&] { s::check_gradient(host(), tensor.get(), elsewhere); }) ==
             "parameter w: gradient is on another device than the parameter");
}

BOOST_AUTO_TEST_CASE(counts_that_do_not_fit_say_both_numbers) {
  const stc_tensor none[2] = {nullptr, nullptr};
  BOOST_TEST(fault_of([&] { s::check_count(s::Gradients(none, 2), 3); }) == "step: got 2 gradients, expected 3");
  BOOST_TEST(fault_of([] { s::check_group(4, 3); }) == "set_group: got index 4, there are 3 groups");
}

BOOST_AUTO_TEST_CASE(a_number_of_the_step_is_a_float_on_the_host) {
  const Tensor wrong = Tensor::empty({}, STC_DTYPE_FLOAT64), right = Tensor::empty({});
  right.data<float>()[0] = 0.25F;
  BOOST_TEST(fault_of([&] { s::read_scalar(host(), wrong.get(), "found_inf"); }) ==
             "found_inf: expected a 0-d float32 tensor on the parameters' device");
  BOOST_TEST(s::read_scalar(host(), right.get(), "found_inf") == 0.25);
}

BOOST_AUTO_TEST_CASE(an_operator_takes_no_undefined_tensor) {
  BOOST_TEST(fault_of([] { s::relu(Tensor()); }) == "an operator got an undefined tensor");
}

BOOST_AUTO_TEST_CASE(a_function_with_the_wrong_number_of_results_is_refused) {
  const Tensor x = Tensor::empty({2});
  BOOST_TEST(fault_of([&] { s::apply(host(), "forgetful", Forgetful(), {x}, 2); }) ==
             "forward gave 1 results and saved 0, expected 2 and at most 35");
  // The host calls these slots when it runs the graph backwards.
  s::detail::AutogradCall<Forgetful> call{services().table(), {}};
  const stc_tensor gradient = x.get();
  stc_tensor out = nullptr;
  BOOST_TEST(message_of(call.backward(&call, nullptr, 0, &gradient, 1, &out, 1)) ==
             "backward gave 0 gradients, expected 1");
}

BOOST_AUTO_TEST_CASE(a_model_in_the_simple_form_needs_an_input_and_gives_an_output) {
  BOOST_TEST(forward_error("labels") == "the batch has no field besides labels");
  BOOST_TEST(forward_error("attention_mask") == "the batch has no field besides labels");
  BOOST_TEST(forward_error("inputs") == "output loss is an undefined tensor");
}

BOOST_AUTO_TEST_SUITE_END()
