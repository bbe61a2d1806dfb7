// Taking over what an entry returns: every size, every slot null in turn, every kind.

#include "host/plugins/tables.hpp"

#include <cstring>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "stc/abi/dataset.h"
#include "stc/version.hpp"

#include "corpus_support.hpp"
#include "host/plugins/kinds.hpp"
#include "host/services/services.hpp"

using namespace stc::host;
using namespace stc::host::test;

namespace {

void any_function() {}

/// A set of one plugin whose parts can be broken before it is imported.
struct Made {
  explicit Made(int kind) : table(STC_MAX_STRUCT_SIZE + 64), kind_info(*kind_table(kind)) {
    note.path = "p.so";
    note.plugins.push_back({kind, "made", "1.0", "doc"});
    set_table_size(kind_info.size);
    for (const Slot& slot : kind_info.slots) set_slot(slot.name, true);
    plugin.struct_size = sizeof plugin;
    plugin.kind = kind;
    plugin.name = "made";
    plugin.version = "1.0";
    plugin.doc = "doc";
    plugin.table = table.data();
    plugin.param_stride = sizeof(stc_param);
    set.struct_size = sizeof set;
    set.plugins = &pointer;
    set.num_plugins = 1;
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;

  void set_table_size(uint32_t size) { std::memcpy(table.data(), &size, sizeof size); }
  void set_slot(const std::string& name, bool given) {
    for (const Slot& slot : kind_info.slots) {
      const auto value = given ? reinterpret_cast<uintptr_t>(&any_function) : uintptr_t{0};
      if (name == slot.name) std::memcpy(table.data() + slot.offset, &value, sizeof value);
    }
  }
  void use_params(std::vector<stc_param> given) {
    params = std::move(given);
    plugin.params = params.data();
    plugin.num_params = static_cast<uint32_t>(params.size());
  }
  /// The refusal, "" when imported.
  std::string refusal() {
    return error_of([&] { imported = import_set(note, &set); });
  }

  std::vector<char> table;
  const KindTable& kind_info;
  PluginNote note;
  stc_plugin plugin{};
  const stc_plugin* pointer = &plugin;
  stc_plugin_set set{};
  std::vector<stc_param> params;
  std::vector<std::unique_ptr<LoadedPlugin>> imported;
};

stc_param param_named(const char* name) {
  stc_param param{};
  param.struct_size = sizeof param;
  param.name = name;
  param.type = STC_PARAM_INT;
  param.default_text = "1";
  param.doc = "a number";
  return param;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_SUITE(tables)

BOOST_AUTO_TEST_CASE(every_kind_imports_with_all_slots) {
  for (int kind = STC_KIND_DATASET; kind <= STC_KIND_SINK; ++kind) {
    Made made(kind);
    BOOST_TEST(made.refusal() == "");
    BOOST_TEST_REQUIRE(made.imported.size() == 1U);
    for (const Slot& slot : made.kind_info.slots) {
      BOOST_TEST((slot_pointer(made.imported[0]->table, slot) != nullptr), kind_name(kind) << "." << slot.name);
    }
    BOOST_TEST(made.imported[0]->plugin->table == made.imported[0]->table);
  }
}

BOOST_AUTO_TEST_CASE(table_sizes_from_the_first_version_to_64_kib_are_taken) {
  for (int kind = STC_KIND_DATASET; kind <= STC_KIND_SINK; ++kind) {
    Made made(kind);
    const uint32_t first = made.kind_info.first_size;
    for (const uint32_t size : {0U, 3U, first - 1, STC_MAX_STRUCT_SIZE + 1, UINT32_MAX}) {
      made.set_table_size(size);
      BOOST_TEST(made.refusal() ==
                 "error: plugin p.so: " + std::string(kind_name(kind)) + " made: its table has struct_size " +
                     std::to_string(size) + ", wanted " + std::to_string(first) +
                     " to 65536\n  hint: rebuild it against stc-sdk " STC_VERSION " (docs/guide/plugins.md)\n");
    }
    for (const uint32_t size : {first, first + 8, STC_MAX_STRUCT_SIZE}) {
      made.set_table_size(size);
      BOOST_TEST(made.refusal() == "");
    }
  }
}

BOOST_AUTO_TEST_CASE(each_required_slot_is_named_when_null_and_each_optional_one_may_be) {
  for (int kind = STC_KIND_DATASET; kind <= STC_KIND_SINK; ++kind) {
    Made made(kind);
    size_t required = 0;
    for (const Slot& slot : made.kind_info.slots) {
      const bool given_with_another = std::string(slot.name) == "seek" || std::string(slot.name) == "generate_step" ||
                                      std::string(slot.name) == "generate_end";
      made.set_slot(slot.name, false);
      const std::string refusal = made.refusal();
      if (slot.required) {
        ++required;
        BOOST_TEST(refusal == "error: plugin p.so: " + std::string(kind_name(kind)) + " made: required slot " +
                                  slot.name + " is null\n  hint: implement it and rebuild (docs/guide/plugins.md)\n");
      } else {
        BOOST_TEST(refusal.empty() == !given_with_another, slot.name << ": " << refusal);
      }
      made.set_slot(slot.name, true);
    }
    BOOST_TEST(required >= 4U);
  }
}

BOOST_AUTO_TEST_CASE(a_dataset_gives_rows_by_index_or_as_a_stream) {
  Made made(STC_KIND_DATASET);
  made.set_slot("get", false);
  BOOST_TEST(made.refusal() == "");
  made.set_slot("seek", false);
  BOOST_TEST(has(made.refusal(), "slot seek is null, required with next"));
  made.set_slot("next", false);
  BOOST_TEST(has(made.refusal(), "slots get and next are both null, one of them is required"));
  made.set_slot("get", true);
  BOOST_TEST(made.refusal() == "");
}

BOOST_AUTO_TEST_CASE(slots_beyond_what_the_plugin_has_read_as_null) {
  // A table of the first version, followed by bytes that are no slots.
  Made made(STC_KIND_SINK);
  const uint32_t first = made.kind_info.first_size;
  std::memset(made.table.data() + first, 0xee, 64);
  made.set_table_size(first);
  BOOST_TEST_REQUIRE(made.refusal() == "");
  const auto* copy = static_cast<const unsigned char*>(made.imported[0]->table);
  for (uint32_t i = first; i < made.kind_info.size; ++i) BOOST_TEST(copy[i] == 0);
}

BOOST_AUTO_TEST_CASE(struct_sizes_of_set_plugin_and_parameters_are_checked) {
  for (const uint32_t size : {0U, 3U, STC_SIZE_TO_END(stc_plugin_set, schemas) - 1, STC_MAX_STRUCT_SIZE + 1}) {
    Made made(STC_KIND_SINK);
    made.set.struct_size = size;
    BOOST_TEST(has(made.refusal(), "the plugin set has struct_size " + std::to_string(size)));
  }
  for (const uint32_t size : {0U, 3U, STC_SIZE_TO_END(stc_plugin, get_extension) - 1, STC_MAX_STRUCT_SIZE + 1}) {
    Made made(STC_KIND_SINK);
    made.plugin.struct_size = size;
    BOOST_TEST(has(made.refusal(), "plugin 0 of its set has struct_size " + std::to_string(size)));
  }
  for (const uint32_t size : {0U, 3U, STC_SIZE_TO_END(stc_param, deprecated) - 1, STC_MAX_STRUCT_SIZE + 1}) {
    Made made(STC_KIND_SINK);
    made.use_params({param_named("n")});
    made.params[0].struct_size = size;
    BOOST_TEST(has(made.refusal(), "sink made: parameter 0 has struct_size " + std::to_string(size)));
  }
}

BOOST_AUTO_TEST_CASE(null_pointers_are_named) {
  Made no_set(STC_KIND_SINK);
  BOOST_TEST(has(error_of([&] { import_set(no_set.note, nullptr); }), "the plugin set is null"));
  Made no_plugins(STC_KIND_SINK);
  no_plugins.set.plugins = nullptr;
  BOOST_TEST(has(no_plugins.refusal(), "returns 1 plugins at null"));
  Made no_plugin(STC_KIND_SINK);
  no_plugin.pointer = nullptr;
  BOOST_TEST(has(no_plugin.refusal(), "plugin 0 of its set is null"));
  Made no_name(STC_KIND_SINK);
  no_name.plugin.name = nullptr;
  BOOST_TEST(has(no_name.refusal(), "plugin 0 of its set has no name"));
  Made no_table(STC_KIND_SINK);
  no_table.plugin.table = nullptr;
  BOOST_TEST(has(no_table.refusal(), "sink made: its table is null"));
  Made no_params(STC_KIND_SINK);
  no_params.plugin.num_params = 2;
  BOOST_TEST(
      has(no_params.refusal(), "sink made: 2 parameters of " + std::to_string(sizeof(stc_param)) + " bytes at null"));
}

BOOST_AUTO_TEST_CASE(counts_out_of_range_are_refused) {
  Made none(STC_KIND_SINK);
  none.set.num_plugins = 0;
  BOOST_TEST(has(none.refusal(), "returns 0 plugins, wanted 1 to 1024"));
  Made many(STC_KIND_SINK);
  many.set.num_plugins = UINT32_MAX;
  BOOST_TEST(has(many.refusal(), "returns 4294967295 plugins"));
  Made params(STC_KIND_SINK);
  params.use_params({param_named("n")});
  params.plugin.num_params = UINT32_MAX;
  BOOST_TEST(has(params.refusal(), "4294967295 parameters"));
  for (const uint32_t stride : {0U, 8U, uint32_t{sizeof(stc_param)} - 8, uint32_t{sizeof(stc_param)} + 1}) {
    Made strides(STC_KIND_SINK);
    strides.use_params({param_named("n")});
    strides.plugin.param_stride = stride;
    BOOST_TEST(has(strides.refusal(), "1 parameters of " + std::to_string(stride) + " bytes"));
  }
}

BOOST_AUTO_TEST_CASE(the_note_and_the_set_name_the_same_plugins) {
  Made other(STC_KIND_SINK);
  other.plugin.name = "other";
  BOOST_TEST(has(other.refusal(), "its entry returns sink other, which its note does not name"));
  Made kind(STC_KIND_SINK);
  kind.plugin.kind = STC_KIND_MODEL;
  BOOST_TEST(has(kind.refusal(), "its entry returns model made, which its note does not name"));
  Made missing(STC_KIND_SINK);
  missing.note.plugins.push_back({STC_KIND_SINK, "promised", "1.0", ""});
  BOOST_TEST(has(missing.refusal(), "its note names sink promised, its entry returns it 0 times"));
  Made twice(STC_KIND_SINK);
  const stc_plugin* both[] = {&twice.plugin, &twice.plugin};
  twice.set.plugins = both;
  twice.set.num_plugins = 2;
  BOOST_TEST(has(twice.refusal(), "its note names sink made, its entry returns it 2 times"));
}

BOOST_AUTO_TEST_CASE(parameters_are_copied_with_a_longer_stride) {
  // Two parameters of a later version, 16 bytes longer.
  constexpr uint32_t kStride = sizeof(stc_param) + 16;
  std::vector<char> raw(2 * kStride, 0x55);
  static const char* const words[] = {"a", "b", nullptr};
  stc_param first = param_named("count");
  first.struct_size = kStride;
  first.flags = STC_PARAM_HAS_MIN | STC_PARAM_HAS_MAX;
  first.min = 1;
  first.max = 9;
  stc_param second = param_named("mode");
  second.struct_size = kStride;
  second.type = STC_PARAM_ENUM;
  second.enum_values = words;
  second.default_text = "a";
  second.since = "1.1";
  std::memcpy(raw.data(), &first, sizeof first);
  std::memcpy(raw.data() + kStride, &second, sizeof second);
  Made made(STC_KIND_SINK);
  made.plugin.params = reinterpret_cast<const stc_param*>(raw.data());
  made.plugin.num_params = 2;
  made.plugin.param_stride = kStride;
  BOOST_TEST_REQUIRE(made.refusal() == "");
  const std::vector<Param>& params = made.imported[0]->declaration.params;
  BOOST_TEST_REQUIRE(params.size() == 2U);
  BOOST_TEST(params[0].name == "count");
  BOOST_TEST(params[0].max == 9.0);
  BOOST_TEST((params[1].enum_values == std::vector<std::string>{"a", "b"}));
  BOOST_TEST(params[1].since == "1.1");
}

BOOST_AUTO_TEST_CASE(parameters_that_contradict_themselves_are_refused) {
  const auto refusal = [](const std::function<void(stc_param&)>& change) {
    Made made(STC_KIND_SINK);
    made.use_params({param_named("n")});
    change(made.params[0]);
    return made.refusal();
  };
  BOOST_TEST(refusal([](stc_param&) {}) == "");
  BOOST_TEST(has(refusal([](stc_param& p) { p.name = nullptr; }), "sink made: a parameter has no name"));
  BOOST_TEST(has(refusal([](stc_param& p) { p.type = 11; }), "parameter n has type 11, this host knows 1 to 10"));
  BOOST_TEST(has(refusal([](stc_param& p) { p.type = STC_PARAM_ENUM; }), "parameter n is an enum without values"));
  BOOST_TEST(
      has(refusal([](stc_param& p) { p.flags = STC_PARAM_REQUIRED; }), "parameter n is required and has a default"));
  BOOST_TEST(has(refusal([](stc_param& p) {
                   p.flags = STC_PARAM_HAS_MIN | STC_PARAM_HAS_MAX;
                   p.min = 2;
                   p.max = 1;
                 }),
                 "parameter n has min > max"));
  Made twice(STC_KIND_SINK);
  twice.use_params({param_named("n"), param_named("n")});
  BOOST_TEST(has(twice.refusal(), "sink made: declares parameter n twice"));
}

BOOST_AUTO_TEST_CASE(a_parameter_larger_than_its_place_is_refused) {
  Made made(STC_KIND_SINK);
  made.use_params({param_named("n")});
  made.params[0].struct_size += 8;
  BOOST_TEST(has(made.refusal(), "sink made: parameter 0 is larger than the stride of its array"));
}

BOOST_AUTO_TEST_CASE(operator_schemas_are_compared_before_the_first_create) {
  static const char* const schemas[] = {"aten::relu(Tensor self) -> Tensor"};
  Made made(STC_KIND_MODEL);
  made.set.schemas = schemas;
  made.set.num_schemas = 1;
  made.note.level = STC_LEVEL_PLAIN;
  BOOST_TEST(
      has(error_of([&] { check_schemas(made.note, &made.set); }), "says level plain, but lists operators of LibTorch"));
  made.note.level = STC_LEVEL_STABLE;
  BOOST_TEST(has(error_of([&] { check_schemas(made.note, &made.set); }),
                 "calls operators of LibTorch, which this program does not hold\n  hint: load it through stc-host"));

  torch_slots().operator_check = [](void*, const char* schema) -> stc_error* {
    return std::string(schema).starts_with("aten::relu(")
               ? nullptr
               : make_error(STC_ERROR_NOT_FOUND, "no operator " + std::string(schema));
  };
  BOOST_TEST(error_of([&] { check_schemas(made.note, &made.set); }) == "");
  static const char* const wrong[] = {"aten::relu(Tensor self) -> Tensor", "aten::rello(Tensor self) -> Tensor"};
  made.set.schemas = wrong;
  made.set.num_schemas = 2;
  BOOST_TEST(has(error_of([&] { check_schemas(made.note, &made.set); }),
                 "no operator aten::rello(Tensor self) -> Tensor\n  hint: rebuild it for this host's LibTorch"));
  static const char* const with_null[] = {nullptr};
  made.set.schemas = with_null;
  made.set.num_schemas = 1;
  BOOST_TEST(has(error_of([&] { check_schemas(made.note, &made.set); }), "p.so: operator schema 0 is null"));
  made.set.schemas = nullptr;
  BOOST_TEST(has(error_of([&] { check_schemas(made.note, &made.set); }), "p.so: lists 1 operator schemas at null"));
  torch_slots().operator_check = nullptr;
}

BOOST_AUTO_TEST_SUITE_END()
