// Level plain: counts the records by name and writes the counts when the run ends.
#include <stc/plain/sink.hpp>

#include <fstream>
#include <map>
#include <string>

struct Tally {
  struct Params {
    std::string path = "tally.txt";
    template <class V>
    static void describe(V& v) {
      v.path("path", &Params::path, "file to write");
    }
  };
  Tally(const Params& params, stc::Host host) : path_(host.path_resolve(params.path)) {}
  void event(const stc::EventView& event) { ++counts_[std::string(event.name())]; }
  void close() {
    std::ofstream out(path_);
    for (const auto& [name, count] : counts_) {
      out << name << " " << count << "\n";
    }
  }

 private:
  std::string path_;
  std::map<std::string, int64_t> counts_;
};

STC_SINK_PLUGIN(Tally, "tally", "1.0.0", "how many records of each name")
