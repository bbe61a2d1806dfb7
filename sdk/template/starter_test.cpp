// The conformance suite of sinks, and what this sink promises beyond it.
#include <cstdio>

#include "stc/testing/sink.hpp"

using namespace stc::testing;

int main() {
  const Subject starter(&stc_plugin_entry_v1, STC_KIND_SINK, "starter");
  SinkCase given;
  given.config = Section{{"every", 2}};
  given.unusable = Section{{"path", "/no/such/folder/loss.txt"}};
  Report report = check_sink(starter, given);

  Folder folder;
  FakeHost host;
  host.run_dir = folder.path().string();
  {
    SinkInstance sink(starter, host, Section{{"every", 2}});
    const stc_run_info run{sizeof run, 0, "id", "name", host.run_dir.c_str(), "{}", 0};
    report.expect(!sink.call(sink.api().open, &run), "open failed");
    for (int64_t step = 1; step <= 4; ++step) {
      stc::testing::detail::send(report, sink, "train_step", {{"step", step}, {"loss", 0.5}});
    }
    sink.call(sink.api().flush);
    sink.api().close(sink.get());
  }
  report.expect(folder.files()["loss.txt"] == "2 0.5\n4 0.5\n", "got " + folder.files()["loss.txt"]);
  std::puts(report.text().c_str());
  return report.passed() ? 0 : 1;
}
