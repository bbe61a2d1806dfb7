// What all adapters share: a plugin's failures become errors of the host that say who and where.

#include "host/plugins/instance.hpp"

#include <stdexcept>

#include <boost/test/unit_test.hpp>

#include "corpus_support.hpp"
#include "host/plugins/registry.hpp"

using namespace stc::host;
using namespace stc::host::test;

namespace {

/// Opens the protected members to the test.
class Probe : public Instance {
 public:
  explicit Probe(InstanceSpec spec) : Instance(std::move(spec)) {}
  using Instance::call;
  using Instance::check;
  using Instance::host;
  using Instance::section;
};

InstanceSpec spec_of(const LoadedPlugin& plugin) {
  InstanceSpec spec;
  spec.plugin = &plugin;
  spec.section = Value{{"path", "x.csv"}};
  spec.section_name = "logging";
  return spec;
}

const LoadedPlugin& good() {
  static Registry* registry = new Registry({corpus("good")});
  return registry->load(STC_KIND_SINK, "good");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(instance)

BOOST_AUTO_TEST_CASE(errors_name_plugin_kind_and_slot) {
  const Probe probe(spec_of(good()));
  probe.check(nullptr, "event");
  BOOST_CHECK_EXCEPTION(probe.check(make_error(STC_ERROR_IO, "disk full"), "event"), PluginError,
                        [](const Error& e) { return std::string(e.what()) == "plugin good (sink): event: disk full"; });
  BOOST_CHECK_EXCEPTION(probe.check(make_error(STC_ERROR_TIMEOUT, ""), "event"), PluginError,
                        [](const Error& e) { return std::string(e.what()) == "plugin good (sink): event: TIMEOUT"; });
}

BOOST_AUTO_TEST_CASE(a_configuration_error_names_the_key) {
  const Probe probe(spec_of(good()));
  BOOST_CHECK_EXCEPTION(probe.check(make_error(STC_ERROR_INVALID_CONFIG, "got -1, expected > 0", "every"), "create"),
                        ConfigError,
                        [](const Error& e) { return std::string(e.what()) == "logging.every: got -1, expected > 0"; });
}

BOOST_AUTO_TEST_CASE(cancelled_is_no_fault) {
  const Probe probe(spec_of(good()));
  BOOST_CHECK_THROW(probe.check(make_error(STC_ERROR_CANCELLED, "stopping"), "next"), Cancelled);
}

BOOST_AUTO_TEST_CASE(exceptions_of_any_type_out_of_a_slot_are_named) {
  const Probe probe(spec_of(good()));
  const auto message = [&](auto&& slot) { return error_of([&] { probe.call("event", slot); }); };
  BOOST_TEST(message([]() -> stc_error* { throw std::runtime_error("boom"); }) ==
             "error: plugin good (sink): event: boom\n");
  BOOST_TEST(message([]() -> stc_error* { throw 42; }) ==
             "error: plugin good (sink): event: an exception of type int\n");
  BOOST_TEST(message([]() -> stc_error* { throw std::bad_alloc(); }) ==
             "error: plugin good (sink): event: out of memory\n");
  BOOST_TEST(message([] { throw std::logic_error("in a void slot"); }) ==
             "error: plugin good (sink): event: in a void slot\n");
  BOOST_TEST(message([]() -> double { throw "text"; }) ==
             "error: plugin good (sink): event: an exception of type char const*\n");
  BOOST_TEST(probe.call("scale", [] { return 2.5; }) == 2.5);
  BOOST_TEST(message([]() -> stc_error* { return nullptr; }) == "");
  BOOST_TEST(message([]() -> stc_error* { return make_error(STC_ERROR_IO, "disk full"); }) ==
             "error: plugin good (sink): event: disk full\n");
}

BOOST_AUTO_TEST_CASE(the_plugin_reads_its_section_through_the_table) {
  const Probe probe(spec_of(good()));
  const stc_host* host = probe.host();
  stc_value value{};
  BOOST_TEST(host->config_get(host->ctx, probe.section(), "path", &value) == nullptr);
  BOOST_TEST(value.kind == STC_VALUE_STRING);
  BOOST_TEST(std::string(reinterpret_cast<const char*>(value.payload[0])) == "x.csv");
}

BOOST_AUTO_TEST_SUITE_END()
