// A sink in plain C, its note written by hand. Each HOSTILE_* macro breaks one thing.

#include "stc/abi/sink.h"

#include <stdlib.h>
#include <string.h>

#include "stc/abi/plugin.h"

#ifndef NAME
#define NAME "good"
#endif
#ifndef NOTE_NAME
#define NOTE_NAME NAME
#endif

#ifndef HOSTILE_NO_NOTE
__attribute__((
    used, section(".note.stc"), aligned(4))) static const stc_elf_note_library library_note = {
    sizeof(STC_NOTE_NAME),
    sizeof(stc_note_library),
    STC_NOTE_TYPE_LIBRARY,
    STC_NOTE_NAME,
    {.note_version = STC_NOTE_VERSION,
     .abi_major = STC_ABI_MAJOR,
     .abi_minor_built = STC_ABI_MINOR,
     .abi_minor_required = STC_ABI_MINOR,
     .level = STC_LEVEL_PLAIN,
     .cxx11_abi = 0,
     .compiler = "a C compiler",
     .package = "corpus",
     .version = "1.2.3",
     .licence = "Apache-2.0"}};
__attribute__((
    used, section(".note.stc"), aligned(4))) static const stc_elf_note_plugin plugin_note = {
    sizeof(STC_NOTE_NAME),
    sizeof(stc_note_plugin),
    STC_NOTE_TYPE_PLUGIN,
    STC_NOTE_NAME,
    {.kind = STC_KIND_SINK,
     .name = NOTE_NAME,
     .version = "1.0.0",
     .doc = "a sink that keeps nothing"}};
#ifdef HOSTILE_SECOND
__attribute__((
    used, section(".note.stc"), aligned(4))) static const stc_elf_note_plugin second_note = {
    sizeof(STC_NOTE_NAME),
    sizeof(stc_note_plugin),
    STC_NOTE_TYPE_PLUGIN,
    STC_NOTE_NAME,
    {.kind = STC_KIND_SINK, .name = "second", .version = "1.0.0", .doc = "another one"}};
#endif
#endif

struct stc_sink {
  const stc_host* host;
  int state;  // 0 created, 1 open, 2 closed
};

static const stc_host* process_host;
static int entry_calls;

static stc_error* sink_create(const stc_host* host, const stc_config* config, stc_sink** out) {
  (void)config;
#ifdef HOSTILE_CREATE_FAILS
  (void)out;
  return host->error_new_config(host->ctx, "path", "got nothing, expected a path");
#endif
#ifdef HOSTILE_CREATE_NOTHING
  (void)host;
  (void)out;
  return NULL;
#endif
#ifdef HOSTILE_CREATE_CRASHES
  *(volatile int*)8 = 1;
#endif
  stc_sink* self = calloc(1, sizeof *self);
  self->host = host;
  *out = self;
  return NULL;
}
static void sink_destroy(stc_sink* self) {
#ifdef HOSTILE_DESTROY_EXITS
  exit(0);
#endif
  free(self);
}
static stc_error* wrong_state(stc_sink* self, const char* slot) {
  return self->host->error_new(self->host->ctx, STC_ERROR_STATE, slot);
}
static stc_error* sink_open(stc_sink* self, const stc_run_info* run) {
  (void)run;
  if (self->state != 0) return wrong_state(self, "open after open");
  self->state = 1;
  return NULL;
}
static stc_error* sink_event(stc_sink* self, const stc_event* event) {
  (void)event;
#ifdef HOSTILE_EVENT_ABORTS
  abort();
#endif
  return self->state == 1 ? NULL : wrong_state(self, "event while not open");
}
static stc_error* sink_flush(stc_sink* self) {
  return self->state == 1 ? NULL : wrong_state(self, "flush while not open");
}
static void sink_close(stc_sink* self) {
  self->state = 2;
}

static const stc_sink_api table = {.struct_size = sizeof table,
                                   .create = sink_create,
                                   .destroy = sink_destroy,
                                   .open = sink_open,
                                   .event = sink_event,
#ifndef HOSTILE_NULL_SLOT
                                   .flush = sink_flush,
#endif
                                   .close = sink_close};
static const stc_plugin plugin = {.struct_size = sizeof plugin,
                                  .kind = STC_KIND_SINK,
                                  .name = NAME,
                                  .version = "1.0.0",
                                  .doc = "a sink that keeps nothing",
                                  .table = &table};
#ifdef HOSTILE_SECOND
static const stc_plugin second = {.struct_size = sizeof second,
                                  .kind = STC_KIND_SINK,
                                  .name = "second",
                                  .version = "1.0.0",
                                  .doc = "another one",
                                  .table = &table};
static const stc_plugin* const plugins[] = {&plugin, &second};
#else
static const stc_plugin* const plugins[] = {&plugin};
#endif
static const stc_plugin_set set = {
    .struct_size = sizeof set, .plugins = plugins, .num_plugins = sizeof plugins / sizeof plugins[0]};

#ifdef HOSTILE_ABORTS
__attribute__((constructor)) static void at_load(void) {
  abort();
}
#endif
#ifdef HOSTILE_EXITS
__attribute__((constructor)) static void at_load(void) {
  exit(0);
}
#endif
#ifdef HOSTILE_CRASHES
__attribute__((constructor)) static void at_load(void) {
  *(volatile int*)8 = 1;
}
#endif

#ifndef HOSTILE_NO_ENTRY
__attribute__((visibility("default"))) stc_error* stc_plugin_entry_v1(const stc_host* host,
                                                                      const stc_plugin_set** out);
stc_error* stc_plugin_entry_v1(const stc_host* host, const stc_plugin_set** out) {
  process_host = host;
  if (++entry_calls > 1)
    return host->error_new(host->ctx, STC_ERROR_STATE, "the entry was called twice");
#ifdef HOSTILE_ENTRY_FAILS
  return host->error_new(host->ctx, STC_ERROR_UNSUPPORTED, "no such device: frobnicator 7");
#endif
#ifdef HOSTILE_ENTRY_NOTHING
  (void)out;
  return NULL;
#endif
#ifdef HOSTILE_ENTRY_ABORTS
  abort();
#endif
  *out = &set;
  (void)sink_flush;
  return NULL;
}
#endif
