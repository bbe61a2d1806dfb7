/// \file
/// Conformance of sinks.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stc/core/host.hpp"
#include "stc/testing/folder.hpp"
#include "stc/testing/subject.hpp"

namespace stc::testing {

using SinkInstance = Instance<stc_sink_api, stc_sink>;

struct SinkCase {
  /// Paths in it are relative to the run's folder, which is where FakeHost resolves them.
  Section config;
  /// A configuration whose place cannot be opened; empty: not tried.
  std::optional<Section> unusable;
  /// Whether equal events give equal files (no time of day in them).
  bool reproducible = true;
  /// Whether a resumed run keeps what was there (start_step > 0).
  bool continues = true;
};

namespace detail {

inline void send(Report& report, const SinkInstance& sink, const char* name, const std::vector<EventField>& fields,
                 double unix_time_s = 1700000000.0) {
  std::vector<stc_field> raw;
  for (const EventField& field : fields) {
    raw.push_back({field.name, field.value.raw()});
  }
  const stc_event event{STC_SIZE_TO_END(stc_event, unix_time_s), 0, name, raw.data(), raw.size(), unix_time_s};
  const SlotError error = sink.call(sink.api().event, &event);
  report.expect(!error, std::string("event ") + name + ": " + error.message);
}

inline void send_samples(Report& report, const SinkInstance& sink, uint64_t first_step) {
  const std::string text = "quotes \" and \\, commas, \n lines, \t tabs, \xe2\x82\xac";
  send(report, sink, "run_start", {{"name", text}, {"nothing", Value()}, {"yes", true}, {"elapsed_s", 0.0}});
  for (uint64_t step = first_step; step < first_step + 20; ++step) {
    send(report, sink, "train_step",
         {{"step", step},
          {"loss", 1.0 / static_cast<double>(step + 1)},
          {"elapsed_s", 0.5 * static_cast<double>(step)}});
  }
  send(report, sink, "train_step",
       {{"step", first_step + 20}, {"loss", std::nan("")}, {"elapsed_s", std::numeric_limits<double>::infinity()}});
  send(report, sink, "train_step", {{"step", first_step + 21}, {"added_later", -1}});
  send(report, sink, "limits",
       {{"least", std::numeric_limits<int64_t>::min()},
        {"most", std::numeric_limits<int64_t>::max()},
        {"tiny", std::numeric_limits<double>::denorm_min()},
        {"huge", std::numeric_limits<double>::max()}});
  send(report, sink, "empty", {});
  send(report, sink, "long", {{"text", std::string(100000, 'x')}});
}

/// One whole life in a folder.
inline void live(Report& report, const Subject& subject, const Section& config, const Folder& folder,
                 uint64_t start_step) {
  FakeHost host;
  host.run_dir = host.root = folder.path().string();
  {
    SinkInstance sink(subject, host, config);
    if (!report.expect(!sink.error(), "create: " + sink.error().message)) {
      return;
    }
    const stc_run_info run{
        STC_SIZE_TO_END(stc_run_info, start_step), 0,         "20240101-000000-abcd", "a run", host.run_dir.c_str(),
        "{\"run\": {\"name\": \"a run\"}}",        start_step};
    const SlotError opened = sink.call(sink.api().open, &run);
    if (!report.expect(!opened, "open: " + opened.message)) {
      return;
    }
    send_samples(report, sink, start_step);
    SlotError error = sink.call(sink.api().flush);
    report.expect(!error, "flush: " + error.message);
    const auto flushed = folder.files();
    error = sink.call(sink.api().flush);
    report.expect(!error, "second flush: " + error.message);
    report.expect(folder.files() == flushed, "a second flush changed the files");
    send_samples(report, sink, start_step + 30);
    sink.api().close(sink.get());
  }
  for (const FakeHost::LogLine& line : host.log_lines()) {
    report.expect(line.level < STC_LOG_ERROR, "logged an error: " + line.message);
  }
  report.expect(host.errors_alive() == 0, "errors were not freed");
}

}  // namespace detail

/// Values of every kind are taken, a life ends without errors, equal events give equal files, a
/// resumed run keeps what is there, and a place that cannot be used is an error of create or open.
inline Report check_sink(const Subject& subject, const SinkCase& given = {}) {
  Report report = check_declaration(subject);
  report.context("life");
  Folder first, second;
  detail::live(report, subject, given.config, first, 0);
  detail::live(report, subject, given.config, second, 0);
  const auto files = first.files();
  if (given.reproducible) {
    report.expect(files == second.files(), "equal events gave different files");
  }
  if (given.continues) {
    report.context("resume");
    detail::live(report, subject, given.config, first, 100);
    for (const auto& [path, before] : files) {
      const auto now = first.files();
      const auto found = now.find(path);
      report.expect(found != now.end() && found->second.compare(0, before.size(), before) == 0,
                    path + ": what was there before the resumption is gone");
    }
  }
  if (given.unusable) {
    report.context("unusable place");
    FakeHost host;
    host.run_dir = host.root = first.path().string();
    SinkInstance sink(subject, host, *given.unusable);
    if (!sink.error()) {
      const stc_run_info run{STC_SIZE_TO_END(stc_run_info, start_step), 0, "id", "name", host.run_dir.c_str(), "{}", 0};
      const SlotError error = sink.call(sink.api().open, &run);
      report.expect(static_cast<bool>(error), "open gave no error");
      report.expect(!error.message.empty(), "open gave an error without a message");
    }
  }
  return report;
}

}  // namespace stc::testing
