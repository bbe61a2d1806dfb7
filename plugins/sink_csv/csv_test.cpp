
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>

#include <boost/test/unit_test.hpp>

#include "host/events/fields.hpp"
#include "host/services/services.hpp"
#include "plugins/sink_csv/csv_row.hpp"
#include "stc/testing/folder.hpp"

extern "C" stc_error* stc_plugin_entry_v1(const stc_host* host, const stc_plugin_set** out);

using stc::host::Event;
using stc::host::FieldValue;
namespace fs = std::filesystem;

namespace {

// The plugin as the host drives it: created, opened on `path`, closed at the end.
class OpenSink {
 public:
  OpenSink(const fs::path& path, uint64_t start_step)
      : section_{{"path", path.string()}, {"event", "train_step"}}, services_("csv", &context_) {
    context_.log = [this](int, const std::string&, const std::string& message) { log_ += message + "\n"; };
    const stc_plugin_set* set = nullptr;
    require(stc_plugin_entry_v1(&services_.table(), &set));
    api_ = static_cast<const stc_sink_api*>(set->plugins[0]->table);
    require(api_->create(&services_.table(), services_.config_node(section_), &sink_));
    stc_run_info run{};
    run.struct_size = sizeof run;
    run.run_id = run.run_name = run.run_dir = run.config_json = "";
    run.start_step = start_step;
    require(api_->open(sink_, &run));
  }
  ~OpenSink() {
    api_->close(sink_);
    api_->destroy(sink_);
  }
  void event(const Event& event) {
    const std::vector<stc_field> fields = stc::host::fields_of_event(event);
    stc_event raw{};
    raw.struct_size = sizeof raw;
    raw.name = event.name.c_str();
    raw.fields = fields.data();
    raw.num_fields = fields.size();
    require(api_->event(sink_, &raw));
  }
  const std::string& log() const { return log_; }

 private:
  static void require(stc_error* error) {
    const stc::host::ErrorText text = stc::host::take_error(error);
    BOOST_REQUIRE_MESSAGE(text.code == 0, text.message);
  }
  stc::host::Value section_;
  stc::host::RunContext context_;
  std::string log_;
  stc::host::Services services_;
  const stc_sink_api* api_ = nullptr;
  stc_sink* sink_ = nullptr;
};

Event step(int64_t n, double loss) {
  Event event("train_step");
  event.add("step", n).add("loss", loss);
  return event;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(csv)

BOOST_AUTO_TEST_CASE(cells) {
  const auto cell = [](const stc::Value& value) { return stc::csv::cell_of(value); };
  BOOST_CHECK_EQUAL(cell(stc::Value()), "");
  BOOST_CHECK_EQUAL(cell(true), "true");
  BOOST_CHECK_EQUAL(cell(-12), "-12");
  BOOST_CHECK_EQUAL(cell(0.1), "0.1");
  BOOST_CHECK_EQUAL(cell(std::nan("")), "nan");
  BOOST_CHECK_EQUAL(cell(-std::numeric_limits<double>::infinity()), "-inf");
  BOOST_CHECK_EQUAL(cell("plain"), "plain");
  BOOST_CHECK_EQUAL(cell("a,b"), "\"a,b\"");
  BOOST_CHECK_EQUAL(cell("say \"x\"\n"), "\"say \"\"x\"\"\n\"");
}

BOOST_AUTO_TEST_CASE(columns_are_the_fields_of_the_first_record) {
  const stc::testing::Folder folder;
  const fs::path path = folder.path() / "new" / "steps.csv";
  std::string log;
  {
    OpenSink sink(path, 0);
    sink.event(Event("train_start"));
    sink.event(step(1, 2.5));
    Event later("train_step");
    later.add("loss", 2.25).add("norm", 1.0).add("step", int64_t{2});
    sink.event(later);
    sink.event(later);
    Event fewer("train_step");
    fewer.add("step", int64_t{4}).add("loss", FieldValue());
    sink.event(fewer);
    log = sink.log();
  }
  BOOST_CHECK_EQUAL(stc::testing::read_file(path), "step,loss\n1,2.5\n2,2.25\n2,2.25\n4,\n");
  BOOST_CHECK_EQUAL(
      log, "field norm is no column of " + path.string() + ": columns are the fields of the first train_step\n");
}

BOOST_AUTO_TEST_CASE(a_resumed_run_continues_the_table) {
  const stc::testing::Folder folder;
  const fs::path path = folder.path() / "steps.csv";
  OpenSink(path, 0).event(step(1, 2.5));
  std::ofstream(path, std::ios::app) << "2,2.";  // torn by a power cut
  OpenSink(path, 1).event(step(2, 2.25));
  BOOST_CHECK_EQUAL(stc::testing::read_file(path), "step,loss\n1,2.5\n2,2.25\n");
}

BOOST_AUTO_TEST_CASE(other_columns_or_a_new_run_keep_the_earlier_table_aside) {
  const stc::testing::Folder folder;
  const fs::path path = folder.path() / "steps.csv";
  OpenSink(path, 0).event(step(1, 2.5));
  OpenSink(path, 0).event(step(1, 3.5));
  BOOST_CHECK_EQUAL(stc::testing::read_file(path.string() + ".1"), "step,loss\n1,2.5\n");
  Event wider = step(2, 3.25);
  wider.add("norm", 1.5);
  OpenSink(path, 1).event(wider);
  BOOST_CHECK_EQUAL(stc::testing::read_file(path.string() + ".2"), "step,loss\n1,3.5\n");
  BOOST_CHECK_EQUAL(stc::testing::read_file(path), "step,loss,norm\n2,3.25,1.5\n");
}

BOOST_AUTO_TEST_SUITE_END()
