// The plugin behind its table.
#include <boost/test/unit_test.hpp>

#include "stc/abi/model.h"
#include "stc/testing/subject.hpp"

using stc::testing::FakeHost;

BOOST_AUTO_TEST_SUITE(plugin)

BOOST_AUTO_TEST_CASE(a_device_that_it_has_no_code_for_is_refused) {
  for (const char* name : {"reference_transformer", "gpt"}) {
    const stc::testing::Subject subject(&stc_plugin_entry_v1, STC_KIND_MODEL, name);
    FakeHost host;
    host.device.type = STC_DEVICE_OTHER;
    const stc::testing::Instance<stc_model_api, stc_model> model(subject, host, {});
    BOOST_TEST(model.error().code == STC_ERROR_UNSUPPORTED);
    BOOST_TEST(model.error().message == "reference_transformer runs on cpu, cuda and mps devices");
  }
}

BOOST_AUTO_TEST_SUITE_END()
