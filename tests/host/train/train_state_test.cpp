#include <cstring>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>
#include <boost/test/unit_test.hpp>

#include "host/encoding/hex.hpp"
#include "host/errors/error.hpp"
#include "host/services/services.hpp"
#include "host/train/fingerprint.hpp"
#include "host/train/host_copies.hpp"
#include "host/train/plugin_state.hpp"
#include "host/train/rng_state.hpp"
#include "host/train/tensor_bridge.hpp"

namespace stc::host {
namespace {

BOOST_AUTO_TEST_SUITE(host_copies)

BOOST_AUTO_TEST_CASE(use_memory_again_only_when_nobody_holds_it) {
  HostCopies copies;
  at::Tensor weights = at::tensor({1.0f, 2.0f});
  const HostTensor held = copies.take("model", "w", weights);
  weights.fill_(5.0f);
  HostTensor next = copies.take("model", "w", weights);
  BOOST_TEST(next.data != held.data);
  BOOST_TEST(view_of_host(held).equal(at::tensor({1.0f, 2.0f})));
  BOOST_TEST(view_of_host(next).equal(at::tensor({5.0f, 5.0f})));
  // One name saved twice: two tensors, not one memory.
  BOOST_TEST(copies.take("model", "w", at::tensor({7.0f, 7.0f})).data != next.data);

  next = HostTensor{};
  const void* memory = copies.take("model", "w", weights).data;
  BOOST_TEST(copies.take("model", "w", weights).data == memory);
  BOOST_TEST(copies.take("optimizer", "w", weights).data != memory);
  const HostTensor longer = copies.take("model", "w", at::tensor({1.0f, 2.0f, 3.0f}));
  BOOST_TEST(longer.bytes == 12u);
  const HostTensor strided = copies.take("model", "s", at::tensor({1.0f, 2.0f, 3.0f, 4.0f}).view({2, 2}).t());
  BOOST_TEST(view_of_host(strided).equal(at::tensor({1.0f, 3.0f, 2.0f, 4.0f}).view({2, 2})));
}

BOOST_AUTO_TEST_CASE(that_hold_more_or_less_than_their_shape_are_refused) {
  HostTensor tensor = copy_to_host("w", at::tensor({1.0f, 2.0f}));
  tensor.shape = {3};
  BOOST_CHECK_EXCEPTION(view_of_host(tensor), CheckpointError, [](const CheckpointError& error) {
    return std::string(error.what()) == "w: holds 8 bytes, its shape and dtype need 12";
  });
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(plugin_state)

BOOST_AUTO_TEST_CASE(gives_back_tensors_buffers_and_bytes_by_name) {
  StateCollector collector;
  const stc_state_writer& writer = collector.writer();
  const at::Tensor moments = at::tensor({1.0f, -2.5f, 3.0f});
  BOOST_CHECK(writer.tensor(writer.ctx, "w/exp_avg", borrow_handle(moments)) == nullptr);
  const std::string blob("\0\x01\xff z", 5);
  BOOST_CHECK(writer.bytes(writer.ctx, "rng", blob.data(), blob.size()) == nullptr);
  const int64_t sizes[1] = {2};
  double values[2] = {0.5, 0.25};
  const stc_buffer buffer{values, sizeof(values), STC_DTYPE_FLOAT64, 1, sizes};
  BOOST_CHECK(writer.buffer(writer.ctx, "scale", &buffer) == nullptr);
  values[0] = 9;  // copies were taken

  const std::vector<HostTensor> tensors = collector.take_tensors();
  BOOST_REQUIRE_EQUAL(tensors.size(), 2u);
  const StateProvider provider(tensors, collector.bytes_as_value());
  const stc_state_reader& reader = provider.reader();
  BOOST_CHECK_EQUAL(reader.count(reader.ctx), 3u);
  stc_tensor tensor = nullptr;
  BOOST_CHECK(reader.tensor(reader.ctx, "w/exp_avg", &tensor) == nullptr);
  BOOST_REQUIRE(tensor != nullptr);
  BOOST_CHECK(to_tensor(tensor).equal(moments));
  stc_buffer back{};
  BOOST_CHECK(reader.buffer(reader.ctx, "scale", &back) == nullptr);
  BOOST_REQUIRE_EQUAL(back.bytes, 16u);
  BOOST_CHECK_EQUAL(static_cast<const double*>(back.data)[0], 0.5);
  const void* data = nullptr;
  uint64_t size = 0;
  BOOST_CHECK(reader.bytes(reader.ctx, "rng", &data, &size) == nullptr);
  BOOST_CHECK_EQUAL(std::string(static_cast<const char*>(data), size), blob);
}

BOOST_AUTO_TEST_CASE(gives_back_a_small_state_from_json_alone) {
  StateCollector collector;
  const stc_state_writer& writer = collector.writer();
  double scale = 0.1;
  const stc_buffer number{&scale, sizeof(scale), STC_DTYPE_FLOAT64, 0, nullptr};
  BOOST_CHECK(writer.buffer(writer.ctx, "scale", &number) == nullptr);
  const at::Tensor history = at::tensor({1.0f, -2.5f});
  BOOST_CHECK(writer.tensor(writer.ctx, "history", borrow_handle(history)) == nullptr);
  BOOST_CHECK(writer.bytes(writer.ctx, "note", "ab", 2) == nullptr);

  const Value value = Value::parse(collector.as_value().dump());
  const StateProvider provider({}, value);
  const stc_state_reader& reader = provider.reader();
  BOOST_CHECK_EQUAL(reader.count(reader.ctx), 3u);
  stc_buffer back{};
  BOOST_CHECK(reader.buffer(reader.ctx, "scale", &back) == nullptr);
  BOOST_REQUIRE_EQUAL(back.bytes, 8u);
  BOOST_CHECK_EQUAL(back.ndim, 0);
  BOOST_CHECK_EQUAL(*static_cast<const double*>(back.data), 0.1);
  stc_tensor tensor = nullptr;
  BOOST_CHECK(reader.tensor(reader.ctx, "history", &tensor) == nullptr);
  BOOST_REQUIRE(tensor != nullptr);
  BOOST_CHECK(to_tensor(tensor).equal(history));
}

BOOST_AUTO_TEST_CASE(refuses_a_tensor_in_json_that_does_not_fit_itself) {
  const auto error_of = [](const char* text) -> std::string {
    try {
      const StateProvider provider({}, Value::parse(text));
    } catch (const CheckpointError& error) {
      return error.what();
    }
    return "";
  };
  BOOST_TEST(error_of(R"({"scale": {"dtype": 7, "shape": [3], "data": "00000000"}})")
                 .find("state.json: scale: 4 bytes, its shape and type need ") == 0u);
  BOOST_TEST(error_of(R"({"scale": {"shape": [], "data": "00"}})").find("state.json: scale: ") == 0u);
}

BOOST_AUTO_TEST_CASE(answers_absent_names_with_nothing) {
  const StateProvider provider({}, Value::object());
  const stc_state_reader& reader = provider.reader();
  stc_tensor tensor = nullptr;
  BOOST_CHECK(reader.tensor(reader.ctx, "w/exp_avg", &tensor) == nullptr);
  BOOST_CHECK(tensor == nullptr);
  const void* data = nullptr;
  uint64_t size = 1;
  BOOST_CHECK(reader.bytes(reader.ctx, "x", &data, &size) == nullptr);
  BOOST_CHECK(data == nullptr && size == 0);
}

BOOST_AUTO_TEST_CASE(refuses_text_that_is_not_hexadecimal) {
  BOOST_CHECK_THROW(from_hex("0g", "x"), CheckpointError);
  BOOST_CHECK_THROW(from_hex("0", "x"), CheckpointError);
  BOOST_CHECK_EQUAL(from_hex(to_hex("\n\x80"), "x"), "\n\x80");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(rng_state)

BOOST_AUTO_TEST_CASE(continues_the_same_stream) {
  seed_generators(7);
  (void)at::rand({3});
  const std::string saved = rng_state_to_hex(current_rng_state());
  const at::Tensor next = at::rand({100});
  seed_generators(8);
  restore_rng_state(saved);
  BOOST_CHECK(at::rand({100}).equal(next));
}

BOOST_AUTO_TEST_CASE(refuses_a_state_of_another_size) {
  BOOST_CHECK_EXCEPTION(restore_rng_state("00ff"), CheckpointError, [](const CheckpointError& error) {
    BOOST_TEST(std::string(error.what()).starts_with("state.json: rng.cpu: "));
    BOOST_TEST(error.hint() == "the checkpoint was written with another LibTorch");
    return true;
  });
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(fingerprints)

BOOST_AUTO_TEST_CASE(name_each_difference_with_both_values) {
  const Value stored = {{"data", {{"seed", 1}, {"shuffle", true}}}, {"optimizer", {{"name", "adamw"}}}};
  const Value current = {{"data", {{"seed", 2}, {"shuffle", true}}}, {"optimizer", {{"name", "lion"}}}};
  const std::vector<FingerprintDifference> differences = fingerprint_differences(stored, current);
  BOOST_REQUIRE_EQUAL(differences.size(), 2u);
  BOOST_CHECK_EQUAL(differences[0].text, "data.seed: checkpoint has 1, this run has 2");
  BOOST_CHECK_EQUAL(differences[1].text, "optimizer.name: checkpoint has \"adamw\", this run has \"lion\"");
}

BOOST_AUTO_TEST_CASE(leave_the_word_keys_out_of_a_plugins_own) {
  const Value stored = {{"optimizer", {{"keys", {{"betas", {0.9, 0.95}}}}}}};
  const Value current = {{"optimizer", {{"keys", {{"betas", {0.9, 0.99}}}}}}};
  const std::vector<FingerprintDifference> differences = fingerprint_differences(stored, current);
  BOOST_REQUIRE_EQUAL(differences.size(), 1u);
  BOOST_CHECK_EQUAL(differences[0].key, "optimizer.betas");
}

BOOST_AUTO_TEST_CASE(are_accepted_by_name_or_by_section) {
  const Value stored = {{"data", {{"seed", 1}, {"content", "a"}}}, {"run", {{"seed", 1}}}};
  const Value current = {{"data", {{"seed", 2}, {"content", "b"}}}, {"run", {{"seed", 2}}}};
  std::vector<FingerprintDifference> differences = fingerprint_differences(stored, current);
  BOOST_CHECK_EQUAL(take_allowed(differences, {"run.seed"}).size(), 1u);
  BOOST_CHECK_EQUAL(differences.size(), 2u);
  BOOST_CHECK_EQUAL(take_allowed(differences, {"data"}).size(), 2u);
  BOOST_CHECK(differences.empty());
}

BOOST_AUTO_TEST_CASE(that_are_not_there_cannot_be_accepted) {
  std::vector<FingerprintDifference> differences = fingerprint_differences({{"seed", 1}}, {{"seed", 2}});
  try {
    take_allowed(differences, {"see"});
    BOOST_ERROR("no error");
  } catch (const CheckpointError& error) {
    BOOST_CHECK_EQUAL(error.what(), "--allow see: names no difference between the checkpoint and this run");
    BOOST_CHECK_EQUAL(error.hint(), "the differences are seed");
  }
}

BOOST_AUTO_TEST_CASE(are_equal_whatever_the_order_of_keys) {
  BOOST_CHECK(fingerprint_differences({{"a", 1}, {"b", 2}}, {{"b", 2}, {"a", 1}}).empty());
}

BOOST_AUTO_TEST_CASE(name_what_only_one_side_has) {
  BOOST_CHECK_EQUAL(fingerprint_differences({{"a", 1}}, Value::object()).size(), 1u);
  BOOST_CHECK_EQUAL(fingerprint_differences(Value::object(), {{"a", 1}}).size(), 1u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::host
