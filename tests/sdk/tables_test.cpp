// The rules that a host applies to the table of each kind, tried with every size and every null
// slot.
#include "stc/testing/tables.hpp"

#include <vector>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

using stc::testing::table_problem;
using stc::testing::table_rule;
using stc::testing::TableRule;

namespace {

void some_function() {}

/// A table with every slot of the kind, as if built from today's header.
std::vector<char> full_table(const TableRule& rule, uint32_t size) {
  std::vector<char> table(rule.first_size + 64, 0);
  std::memcpy(table.data(), &size, sizeof size);
  void (*function)() = &some_function;
  for (const auto& slot : rule.slots) {
    std::memcpy(table.data() + slot.offset, &function, sizeof function);
  }
  return table;
}

const int32_t kKinds[] = {STC_KIND_DATASET,     STC_KIND_TOKENIZER,  STC_KIND_MODEL,
                          STC_KIND_OPTIMIZER,   STC_KIND_PRECISION,  STC_KIND_SYNC,
                          STC_KIND_COORDINATOR, STC_KIND_COLLECTIVE, STC_KIND_SINK};

}  // namespace

BOOST_AUTO_TEST_SUITE(tables)

BOOST_DATA_TEST_CASE(every_slot_of_the_header_is_known, kKinds, kind) {
  const TableRule& rule = *table_rule(kind);
  // struct_size and reserved, then nothing but slots.
  BOOST_TEST(rule.slots.front().offset == 8u);
  for (std::size_t i = 0; i + 1 < rule.slots.size(); ++i) {
    BOOST_TEST(rule.slots[i + 1].offset == rule.slots[i].offset + sizeof(void*), rule.slots[i].name);
  }
  BOOST_TEST(rule.slots.back().offset + sizeof(void*) == rule.first_size);
}

BOOST_DATA_TEST_CASE(sizes_from_the_first_to_64_kib_are_taken, kKinds, kind) {
  const TableRule& rule = *table_rule(kind);
  for (uint32_t size : {0u, 3u, rule.first_size - 1, STC_MAX_STRUCT_SIZE + 1}) {
    BOOST_TEST_CONTEXT("size=" << size) {
      BOOST_TEST(table_problem(kind, full_table(rule, size).data()).find("struct_size " + std::to_string(size)) !=
                 std::string::npos);
    }
  }
  for (uint32_t size : {rule.first_size, rule.first_size + 8, STC_MAX_STRUCT_SIZE}) {
    BOOST_TEST_CONTEXT("size=" << size) { BOOST_TEST(table_problem(kind, full_table(rule, size).data()) == ""); }
  }
}

BOOST_DATA_TEST_CASE(required_slots_must_be_there_and_optional_ones_may_be_null, kKinds, kind) {
  const TableRule& rule = *table_rule(kind);
  for (const auto& slot : rule.slots) {
    auto table = full_table(rule, rule.first_size);
    std::memset(table.data() + slot.offset, 0, sizeof(void*));
    const std::string problem = table_problem(kind, table.data());
    const std::string name = slot.name;
    BOOST_TEST_CONTEXT("slot=" << name) {
      if (slot.required) {
        BOOST_TEST(problem == std::string(rule.kind) + ": required slot " + name + " is null");
      } else if (name == "seek" || name == "state_save" || name == "state_load") {
        BOOST_TEST(problem.find(name) != std::string::npos);  // one of a pair
      } else {
        BOOST_TEST(problem == "");
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_dataset_has_get_or_next) {
  const TableRule& rule = *table_rule(STC_KIND_DATASET);
  auto table = full_table(rule, rule.first_size);
  auto& api = *reinterpret_cast<stc_dataset_api*>(table.data());
  api.next = nullptr;
  api.seek = nullptr;
  BOOST_TEST(table_problem(STC_KIND_DATASET, &api) == "");
  api.get = nullptr;
  BOOST_TEST(table_problem(STC_KIND_DATASET, &api) ==
             "dataset: slots get and next are both null, one of them is required");
}

BOOST_AUTO_TEST_CASE(null_and_unknown_kinds_are_named) {
  BOOST_TEST(table_problem(STC_KIND_SINK, nullptr) == "sink: table is null");
  BOOST_TEST(table_problem(42, nullptr) == "kind 42 is none of 1 to 9");
}

BOOST_AUTO_TEST_SUITE_END()
