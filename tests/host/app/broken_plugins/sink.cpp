// A sink that keeps nothing, and breaks one rule of every plugin: what may leave a slot, and how a process may end.

#include "stc/abi/sink.h"

#include <unistd.h>

#include <stdexcept>

#include "library.hpp"

using stc::broken::breaks;

struct stc_sink {
  const stc_host* host;
};

namespace {

stc_error* create(const stc_host* host, const stc_config* config, stc_sink** out) {
  if (breaks("create_throws")) throw std::runtime_error("no licence server at 10.0.0.1");
  return stc::broken::create(host, config, out);
}

void destroy(stc_sink* self) {
  stc::broken::destroy(self);
  if (breaks("destroy_throws")) throw 7;
}

stc_error* open(stc_sink*, const stc_run_info*) { return nullptr; }
stc_error* event(stc_sink*, const stc_event*) { return nullptr; }
stc_error* flush(stc_sink*) { return nullptr; }
void close(stc_sink*) {}

constexpr stc_sink_api kTable{.struct_size = sizeof(stc_sink_api),
                              .reserved = 0,
                              .create = create,
                              .destroy = destroy,
                              .open = open,
                              .event = event,
                              .flush = flush,
                              .close = close};

__attribute__((destructor)) void at_end() {
  if (breaks("ends_otherwise")) ::_exit(7);
}

}  // namespace

STC_BROKEN_LIBRARY(STC_KIND_SINK, kTable)
