#include "host/events/sink.hpp"

#include <utility>

#include "host/events/fields.hpp"

namespace stc::host {

Sink::Sink(InstanceSpec spec) : Instance(std::move(spec)) {
  call("create", [&] { return api<stc_sink_api>().create(host(), section(), &raw_); });
}

void Sink::open(const SinkRun& run) {
  stc_run_info info{};
  info.struct_size = STC_SIZE_TO_END(stc_run_info, start_step);
  info.run_id = run.run_id.c_str();
  info.run_name = run.run_name.c_str();
  info.run_dir = run.run_dir.c_str();
  info.config_json = run.config_json.c_str();
  info.start_step = run.start_step;
  call("open", [&] { return api<stc_sink_api>().open(raw_, &info); });
  open_ = true;
}

Sink::~Sink() {
  if (open_) api<stc_sink_api>().close(raw_);
  if (raw_ != nullptr) api<stc_sink_api>().destroy(raw_);
}

std::string Sink::name() const { return Instance::name(); }

void Sink::on_event(const Event& event, double unix_time_s) {
  const std::vector<stc_field> fields = fields_of_event(event);
  stc_event record{};
  record.struct_size = STC_SIZE_TO_END(stc_event, unix_time_s);
  record.name = event.name.c_str();
  record.fields = fields.data();
  record.num_fields = fields.size();
  record.unix_time_s = unix_time_s;
  call("event", [&] { return api<stc_sink_api>().event(raw_, &record); });
}

void Sink::flush() {
  call("flush", [&] { return api<stc_sink_api>().flush(raw_); });
}

void Sink::close() {
  if (!std::exchange(open_, false)) return;
  call("close", [&] { api<stc_sink_api>().close(raw_); });
}

}  // namespace stc::host
