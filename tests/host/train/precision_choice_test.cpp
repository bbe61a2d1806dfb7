// The resolution of a request on a device, row by row, and the warning about emulated kernels.
#include <ostream>
#include <string>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "host/train/precision_choice.hpp"

namespace stc::host {
namespace {

stc_device_info device_of(int32_t type, bool bf16, bool fp16 = true) {
  stc_device_info device{};
  device.struct_size = sizeof device;
  device.type = type;
  device.bf16 = bf16 ? 1 : 0;
  device.fp16 = fp16 ? 1 : 0;
  return device;
}

struct Row {
  const char* name;
  int32_t device;
  bool bf16;  // the device has units for it
  const char* request;
  const char* plugin;
  const char* warning;
  friend std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.name; }
};

const Row kRows[] = {
    {"cuda auto", STC_DEVICE_CUDA, true, "auto", "bf16", ""},
    {"cuda auto without bf16", STC_DEVICE_CUDA, false, "auto", "fp16", ""},
    {"cuda bf16", STC_DEVICE_CUDA, true, "bf16", "bf16", ""},
    {"cuda bf16 without bf16", STC_DEVICE_CUDA, false, "bf16", "fp32",
     "precision: got bf16, but this CUDA device has no bf16 units; computing in fp32"},
    {"cuda fp16", STC_DEVICE_CUDA, true, "fp16", "fp16", ""},
    {"cuda fp16 without bf16", STC_DEVICE_CUDA, false, "fp16", "fp16", ""},
    {"cuda fp32", STC_DEVICE_CUDA, true, "fp32", "fp32", ""},
    {"cpu auto", STC_DEVICE_CPU, false, "auto", "fp32", ""},
    {"cpu auto with bf16", STC_DEVICE_CPU, true, "auto", "fp32", ""},
    {"cpu fp32", STC_DEVICE_CPU, true, "fp32", "fp32", ""},
    {"cpu fp16", STC_DEVICE_CPU, true, "fp16", "fp32",
     "precision: got fp16, but fp16 needs a CUDA device; computing in fp32"},
    {"cpu bf16", STC_DEVICE_CPU, false, "bf16", "bf16", ""},
    {"cpu bf16 with bf16", STC_DEVICE_CPU, true, "bf16", "bf16", ""},
    {"mps auto", STC_DEVICE_MPS, true, "auto", "fp32", ""},
    {"mps fp32", STC_DEVICE_MPS, true, "fp32", "fp32", ""},
    {"mps bf16", STC_DEVICE_MPS, true, "bf16", "fp32",
     "precision: got bf16, but bf16 and fp16 need a CUDA device, or a CPU for bf16; computing in fp32"},
    {"mps fp16", STC_DEVICE_MPS, true, "fp16", "fp32",
     "precision: got fp16, but bf16 and fp16 need a CUDA device, or a CPU for bf16; computing in fp32"},
    {"another device", STC_DEVICE_OTHER, true, "auto", "fp32", ""},
};

const PrecisionPlan kBf16{STC_DTYPE_BFLOAT16, true, false, ""};

BOOST_AUTO_TEST_SUITE(precision_choice)

BOOST_DATA_TEST_CASE(follows_the_table, boost::unit_test::data::make(kRows), row) {
  const PrecisionChoice choice = choose_precision(device_of(row.device, row.bf16), row.request);
  BOOST_TEST(choice.plugin == row.plugin);
  BOOST_TEST(choice.warning == row.warning);
}

BOOST_AUTO_TEST_CASE(emulated_kernels_are_told_with_the_cause_and_what_to_do) {
  BOOST_TEST(emulation_warning(device_of(STC_DEVICE_CPU, false), kBf16, "mlp", false) ==
             "precision: this processor has no bf16 units, and model mlp computes with LibTorch's operators, which "
             "emulate them: expect steps several times slower than in float32; set precision.mode: fp32");
  const PrecisionPlan fp16{STC_DTYPE_FLOAT16, true, true, ""};
  BOOST_TEST(emulation_warning(device_of(STC_DEVICE_CPU, true, false), fp16, "mlp", false).find("no fp16 units") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(nothing_is_told_where_nothing_is_emulated) {
  const PrecisionPlan fp32;
  BOOST_TEST(emulation_warning(device_of(STC_DEVICE_CPU, true), kBf16, "mlp", false) == "");
  BOOST_TEST(emulation_warning(device_of(STC_DEVICE_CPU, false), kBf16, "reference_transformer", true) == "");
  BOOST_TEST(emulation_warning(device_of(STC_DEVICE_CUDA, false), kBf16, "mlp", false) == "");
  BOOST_TEST(emulation_warning(device_of(STC_DEVICE_CPU, false), fp32, "mlp", false) == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::host
