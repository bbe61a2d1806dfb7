#include <boost/test/unit_test.hpp>

#include "host/train/stage_streams.hpp"

namespace stc::host {
namespace {

std::string reason(c10::DeviceType device, const std::vector<std::string>& stages, bool compiled = false) {
  const StageStreams streams(c10::Device(device), stages, 4, compiled);
  BOOST_CHECK(!streams.report().enabled);
  BOOST_CHECK_EQUAL(streams.report().streams, 0);
  return streams.report().reason;
}

BOOST_AUTO_TEST_SUITE(stage_streams)

BOOST_AUTO_TEST_CASE(falls_back_with_a_reason) {
  using c10::DeviceType;
  BOOST_CHECK_EQUAL(reason(DeviceType::CPU, {"h.0", "h.1"}), "device cpu has no streams");
  BOOST_CHECK_EQUAL(reason(DeviceType::MPS, {"h.0", "h.1"}), "device mps has no streams");
  BOOST_CHECK_EQUAL(reason(DeviceType::CUDA, {"h.0"}), "the model names fewer than two stages");
  BOOST_CHECK_EQUAL(reason(DeviceType::CUDA, {}), "the model names fewer than two stages");
  BOOST_CHECK_EQUAL(reason(DeviceType::CUDA, {"h.0", "h.1", "h.0"}), "stage h.0 is named twice");
  BOOST_CHECK_EQUAL(reason(DeviceType::CUDA, {"h.0.mlp", "h.0"}), "stage h.0.mlp lies within stage h.0");
  BOOST_CHECK_EQUAL(reason(DeviceType::CPU, {"h.0", "h.1"}, true), "compile is enabled");
}

BOOST_AUTO_TEST_CASE(names_with_a_common_beginning_are_not_nested) {
  // LibTorch without CUDA: what is refused is the set-up, not the names.
  const std::string found = reason(c10::DeviceType::CUDA, {"h.1", "h.10"});
  BOOST_CHECK_MESSAGE(found.rfind("set-up failed: ", 0) == 0, found);
}

BOOST_AUTO_TEST_CASE(has_no_effect_while_disabled) {
  StageStreams streams(c10::Device(c10::DeviceType::CPU), {"a", "b"}, 4, false);
  streams.begin("a");
  streams.end("a");
  streams.end("b");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::host
