#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "host/events/fields.hpp"
#include "host/services/services.hpp"
#include "plugins/sink_tensorboard/event_reader.hpp"
#include "plugins/sink_tensorboard/record.hpp"
#include "stc/testing/folder.hpp"
#include "stc/testing/sink.hpp"

using stc::host::Event;
using stc::tensorboard::test::read_event_file;
using stc::tensorboard::test::ReadEvent;
namespace fs = std::filesystem;

namespace {

const stc::testing::Subject& subject() {
  static const stc::testing::Subject instance(&stc_plugin_entry_v1, STC_KIND_SINK, "tensorboard");
  return instance;
}

// The plugin as the host drives it: created, opened on `folder`, closed at the end.
class OpenSink {
 public:
  OpenSink(const fs::path& folder, uint64_t start_step)
      : section_{{"path", folder.string()}}, services_("tensorboard", &context_) {
    const auto& api = subject().api<stc_sink_api>();
    require(api.create(&services_.table(), services_.config_node(section_), &sink_));
    stc_run_info run{};
    run.struct_size = sizeof run;
    run.run_id = run.run_name = run.run_dir = run.config_json = "";
    run.start_step = start_step;
    require(api.open(sink_, &run));
  }
  ~OpenSink() {
    subject().api<stc_sink_api>().close(sink_);
    subject().api<stc_sink_api>().destroy(sink_);
  }
  void event(const Event& event, double unix_time_s = 1700000000.5) {
    const std::vector<stc_field> fields = stc::host::fields_of_event(event);
    stc_event raw{};
    raw.struct_size = sizeof raw;
    raw.name = event.name.c_str();
    raw.fields = fields.data();
    raw.num_fields = fields.size();
    raw.unix_time_s = unix_time_s;
    require(subject().api<stc_sink_api>().event(sink_, &raw));
  }

 private:
  static void require(stc_error* error) {
    const stc::host::ErrorText text = stc::host::take_error(error);
    BOOST_REQUIRE_MESSAGE(text.code == 0, text.message);
  }
  stc::host::Value section_;
  stc::host::RunContext context_;
  stc::host::Services services_;
  stc_sink* sink_ = nullptr;
};

Event step(int64_t n, double loss) {
  Event event("train_step");
  event.add("step", n).add("loss", loss).add("tokens", n * 100).add("elapsed_s", 0.5 * static_cast<double>(n));
  return event;
}

Event evaluation(int64_t n, const std::string& weights, double loss) {
  Event event("eval");
  event.add("step", n).add("set", "held out").add("weights", weights).add("loss", loss).add("elapsed_s", 1.0);
  return event;
}

Event sample(int64_t n, const std::string& prompt, const std::string& text) {
  Event event("sample");
  event.add("step", n).add("prompt", prompt).add("text", text);
  return event;
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Output of a shell command; nullopt when it fails.
std::optional<std::string> output_of(const std::string& command) {
  std::string out;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  BOOST_REQUIRE(pipe != nullptr);
  std::array<char, 4096> buffer;
  for (size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    out.append(buffer.data(), n);
  }
  return ::pclose(pipe) == 0 ? std::optional(out) : std::nullopt;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(record)

// RFC 3720, appendix B.4, and the check value of the Castagnoli CRC.
BOOST_AUTO_TEST_CASE(crc32c_gives_the_published_values) {
  using stc::tensorboard::crc32c;
  std::string rising, falling;
  for (int i = 0; i < 32; ++i) {
    rising += static_cast<char>(i);
    falling += static_cast<char>(31 - i);
  }
  BOOST_TEST(crc32c("") == 0u);
  BOOST_TEST(crc32c("123456789") == 0xE3069283u);
  BOOST_TEST(crc32c(std::string(32, '\0')) == 0x8A9136AAu);
  BOOST_TEST(crc32c(std::string(32, '\xFF')) == 0x62A8AB43u);
  BOOST_TEST(crc32c(rising) == 0x46DD794Eu);
  BOOST_TEST(crc32c(falling) == 0x113FDB5Cu);
}

// Bytes that the tensorboard package 2.21 writes for the same records.
BOOST_AUTO_TEST_CASE(bytes_are_those_of_the_tensorboard_package) {
  stc::tensorboard::SummaryEvent event(1700000000.5, 300);
  event.add_scalar("train/loss", 2.5);
  event.add_text("sample/a", "    abc");
  const auto hex = [](const std::string& bytes) {
    std::string out;
    for (const char c : bytes) {
      char two[3];
      std::snprintf(two, sizeof two, "%02x", static_cast<unsigned char>(c));
      out += two;
    }
    return out;
  };
  BOOST_TEST(hex(stc::tensorboard::framed(event.message())) ==
             "4a00000000000000af77dbb00900002040fc54d94110ac022a3c0a110a0a747261696e2f6c6f7373"
             "15000020400a270a0873616d706c652f61421108071204120208014207202020206162634a080a06"
             "0a047465787484754b3f");
  BOOST_TEST(hex(stc::tensorboard::framed(stc::tensorboard::start_event(1700000000.5, 12))) ==
             "0f000000000000006d532b090900002040fc54d941100c3a0208014205d214");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(tensorboard)

BOOST_AUTO_TEST_CASE(conforms) {
  stc::testing::SinkCase given;
  given.unusable = stc::testing::Section{{"path", "/dev/null/x"}};
  given.reproducible = false;  // file names and first records hold the time
  const auto report = stc::testing::check_sink(subject(), given);
  BOOST_TEST(report.passed(), report.text());
}

BOOST_AUTO_TEST_CASE(numbers_of_steps_and_evaluations_are_scalars) {
  const stc::testing::Folder folder;
  {
    OpenSink sink(folder.path() / "new" / "tb", 0);
    sink.event(Event("train_start"));
    Event first = step(1, 2.5);
    first.add("name", "text").add("nothing", stc::host::FieldValue()).add("fused", true);
    sink.event(first);
    sink.event(step(int64_t{1} << 40, std::nan("")));
    sink.event(evaluation(2, "model", 3.5), 1700000001.25);
    sink.event(evaluation(2, "ema", 3.25));
  }
  const std::vector<fs::path> files = files_in(folder.path() / "new" / "tb");
  BOOST_REQUIRE(files.size() == 1u);
  BOOST_TEST(files[0].filename().string().starts_with("events.out.tfevents."));
  const std::vector<ReadEvent> events = read_event_file(files[0]);
  BOOST_REQUIRE(events.size() == 6u);
  BOOST_TEST(events[0].file_version == "brain.Event:2");
  BOOST_TEST(events[1].session_status.value() == 1u);
  BOOST_TEST(events[1].step == 0);
  using Scalars = std::vector<std::pair<std::string, float>>;
  BOOST_TEST(events[2].step == 1);
  BOOST_TEST(events[2].wall_time_s == 1700000000.5);
  BOOST_TEST((events[2].scalars == Scalars{{"train/loss", 2.5f}, {"train/tokens", 100.0f}, {"train/fused", 1.0f}}));
  BOOST_TEST(events[3].step == int64_t{1} << 40);
  BOOST_TEST(std::isnan(events[3].scalars.at(0).second));
  BOOST_TEST((events[4].scalars == Scalars{{"eval/held out/loss", 3.5f}}));
  BOOST_TEST(events[4].wall_time_s == 1700000001.25);
  BOOST_TEST((events[5].scalars == Scalars{{"eval_ema/held out/loss", 3.25f}}));
}

BOOST_AUTO_TEST_CASE(samples_are_texts_in_valid_utf8) {
  const stc::testing::Folder folder;
  {
    OpenSink sink(folder.path(), 0);
    sink.event(sample(4, "Once", " upon\na \xff time"));
    std::string long_prompt;
    for (int i = 0; i < 50; ++i) {
      long_prompt += "\xc3\xa4";
    }
    sink.event(sample(4, long_prompt, "x"));
  }
  const std::vector<ReadEvent> events = read_event_file(files_in(folder.path()).at(0));
  BOOST_REQUIRE(events.size() == 4u);
  BOOST_TEST(events[2].texts.at(0).first == "sample/Once");
  BOOST_TEST(events[2].texts.at(0).second == "    Once upon\n    a \xEF\xBF\xBD time");
  BOOST_TEST(events[3].texts.at(0).first.size() == 7u + 2u * 40u);
}

BOOST_AUTO_TEST_CASE(each_process_has_a_file_that_sorts_behind_the_earlier_ones) {
  const stc::testing::Folder folder;
  for (const uint64_t start : {0u, 5u, 7u, 0u}) {
    OpenSink(folder.path(), start).event(step(static_cast<int64_t>(start) + 1, 1.0));
  }
  const std::vector<fs::path> files = files_in(folder.path());
  BOOST_REQUIRE(files.size() == 4u);
  const std::vector<int64_t> first_steps = {0, 6, 8, 0};  // what follows the start, which readers drop
  for (size_t i = 0; i < files.size(); ++i) {
    const std::vector<ReadEvent> events = read_event_file(files[i]);
    BOOST_TEST(events.at(1).session_status.value() == 1u);
    BOOST_TEST(events.at(1).step == first_steps[i]);
  }
}

BOOST_AUTO_TEST_CASE(records_are_on_the_disk_before_the_next_event) {
  const stc::testing::Folder folder;
  OpenSink sink(folder.path(), 0);
  for (int64_t n = 1; n <= 3; ++n) {
    sink.event(step(n, 1.0));
    BOOST_TEST(read_event_file(files_in(folder.path()).at(0)).size() == static_cast<size_t>(n) + 2);
  }
}

BOOST_AUTO_TEST_CASE(a_changed_byte_is_found_by_the_reader_of_these_tests) {
  const stc::testing::Folder folder;
  { OpenSink(folder.path(), 0).event(step(1, 1.0)); }
  const fs::path file = files_in(folder.path()).at(0);
  const std::string bytes = stc::testing::read_file(file);
  for (size_t i = 0; i < bytes.size(); i += 7) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    std::ofstream(file, std::ios::binary) << changed;
    BOOST_CHECK_THROW(read_event_file(file), std::runtime_error);
  }
}

// TensorBoard itself, where its Python package is there (STC_TEST_PYTHON names the interpreter).
BOOST_AUTO_TEST_CASE(tensorboard_reads_it) {
  const char* named = std::getenv("STC_TEST_PYTHON");
  const std::string python = named != nullptr ? named : "python3";
  if (!output_of(python + " -c 'import tensorboard' 2>/dev/null")) {
    BOOST_TEST_MESSAGE("skipped: " << python << " has no package tensorboard");
    return;
  }
  const stc::testing::Folder folder;
  {
    OpenSink sink(folder.path(), 0);
    for (int64_t n = 1; n <= 6; ++n) {
      sink.event(step(n, 1.0 / static_cast<double>(n)));
    }
    sink.event(evaluation(4, "model", 3.5));
    sink.event(evaluation(6, "model", 3.0));
    sink.event(sample(4, "Once", " upon"));
  }
  {
    OpenSink sink(folder.path(), 4);  // killed after step 6, the last checkpoint was that of step 4
    sink.event(step(5, 0.25));
  }
  const std::string script =
      std::string(std::getenv("STC_TEST_SOURCE")) + "/plugins/sink_tensorboard/read_with_tensorboard.py";
  const auto output = output_of(python + " " + script + " " + folder.path().string() + " 2>/dev/null");
  BOOST_REQUIRE(output.has_value());
  const auto found = nlohmann::json::parse(*output);
  BOOST_TEST(found["scalars"]["train/tokens"].dump() == "[[1,100.0],[2,200.0],[3,300.0],[4,400.0],[5,500.0]]");
  BOOST_TEST(found["scalars"]["train/loss"][1].dump() == "[2,0.5]");
  BOOST_TEST(found["scalars"]["train/loss"][4].dump() == "[5,0.25]");
  BOOST_TEST(found["scalars"]["eval/held out/loss"].dump() == "[[4,3.5]]");
  BOOST_TEST(found["texts"]["sample/Once"].dump() == R"([[4,"    Once upon"]])");
}

BOOST_AUTO_TEST_SUITE_END()
