// One kind of event as a table: a row an event, a column a field.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "csv_row.hpp"
#include "stc/plain/line_file.hpp"
#include "stc/plain/sink.hpp"

namespace stc::csv {
namespace {

struct Csv {
  struct Params {
    std::optional<std::string> path;
    std::string event = "train_step";
    template <class V>
    static void describe(V& v) {
      v.path("path", &Params::path, "file to write; null: <event>.csv in run.output_dir");
      v("event", &Params::event, "the event whose fields are the columns");
    }
  };

  Csv(const Params& params, stc::Host host) : params_(params), host_(host) {}

  // The file is opened here, so that a wrong path ends the run at its start, and begun at the first event, whose
  // fields are the columns.
  void open(const stc::RunInfo& run) {
    path_ =
        params_.path ? host_.path_resolve(*params_.path) : std::string(run.run_dir()) + "/" + params_.event + ".csv";
    resumed_ = run.resumed();
    file_ = stc::LineFile(path_);
  }

  void event(const stc::EventView& event) {
    if (event.name() != params_.event) {
      return;
    }
    if (columns_.empty()) {
      begin_table(event);
    }
    file_.write(row_of(event));
  }

  void close() {
    file_.sync();
    file_.close();
  }

 private:
  void begin_table(const stc::EventView& event) {
    std::vector<std::string> columns;
    for (const auto& [name, value] : event) {
      if (std::find(columns.begin(), columns.end(), name) == columns.end()) {
        columns.emplace_back(name);
      }
    }
    const std::string header = header_line(columns);
    const bool holds_rows = std::filesystem::is_regular_file(path_) && std::filesystem::file_size(path_) > 0;
    if (resumed_ && holds_rows && first_line() == header) {
      cut_torn_row();
    } else {
      if (holds_rows) {
        set_aside();
      }
      file_.write(header);
    }
    columns_ = std::move(columns);  // only now: a failure is tried again with the next event
  }

  std::string first_line() const {
    std::ifstream in(path_, std::ios::binary);
    std::string line;
    std::getline(in, line);
    return line + "\n";
  }

  void cut_torn_row() {
    const std::string torn = stc::unfinished_line(path_);
    if (!torn.empty()) {
      stc::cut_end(path_, torn.size());
      host_.warning(path_ + ": removed an unfinished last row of " + std::to_string(torn.size()) + " bytes");
    }
  }

  // Keeps the table of an earlier run, or with other columns, under the first free <name>.<n>.
  void set_aside() {
    int n = 1;
    while (std::filesystem::exists(path_ + "." + std::to_string(n))) {
      ++n;
    }
    const std::string kept = path_ + "." + std::to_string(n);
    std::filesystem::rename(path_, kept);
    file_ = stc::LineFile(path_);
    host_.info("the earlier " + path_ + " is now " + kept);
  }

  std::string row_of(const stc::EventView& event) {
    std::vector<std::string> cells(columns_.size());
    std::vector<bool> filled(columns_.size(), false);
    for (const auto& [name, value] : event) {
      const auto column = std::find(columns_.begin(), columns_.end(), name);
      const auto index = static_cast<std::size_t>(column - columns_.begin());
      if (column == columns_.end()) {
        warn_of_new_field(name);
      } else if (!filled[index]) {
        cells[index] = cell_of(value);
        filled[index] = true;
      }
    }
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      line += (i == 0 ? "" : ",") + cells[i];
    }
    return line + "\n";
  }

  void warn_of_new_field(std::string_view name) {
    if (std::find(left_out_.begin(), left_out_.end(), name) != left_out_.end()) {
      return;
    }
    left_out_.emplace_back(name);
    host_.warning("field " + left_out_.back() + " is no column of " + path_ + ": columns are the fields of the first " +
                  params_.event);
  }

  Params params_;
  stc::Host host_;
  std::string path_;
  bool resumed_ = false;
  stc::LineFile file_;
  std::vector<std::string> columns_;   // empty: no event yet
  std::vector<std::string> left_out_;  // fields that were warned of
};

}  // namespace

STC_SINK_PLUGIN(Csv, "csv", "1.0.0", "one kind of event as comma-separated values")

}  // namespace stc::csv
