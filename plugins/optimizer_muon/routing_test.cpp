#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "routing.hpp"

namespace {

struct Case {
  const char* name;
  int32_t role;
  size_t rank;
  bool muon;
  friend std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name << " role " << c.role; }
};

const Case kCases[] = {
    {"h.0.attn.q_proj.weight", STC_ROLE_LINEAR, 2, true},
    {"h.0.attn.q_proj.weight", STC_ROLE_OTHER, 2, false},
    {"h.0.attn.q_proj.weight", STC_ROLE_FORCE_ADAMW, 2, false},
    {"h.0.attn.q_proj.weight", STC_ROLE_FORCE_MUON, 2, true},
    {"conv.weight", STC_ROLE_FORCE_MUON, 4, false},
    {"norm.weight", STC_ROLE_FORCE_MUON, 1, false},
    {"q_proj.bias", STC_ROLE_FORCE_MUON, 2, false},
    {"q_proj.attention_bias", STC_ROLE_FORCE_MUON, 2, false},
    {"wte.weight", STC_ROLE_EMBEDDING, 2, false},
    {"wte.weight", STC_ROLE_LINEAR, 2, false},
    {"model.embed.proj.weight", STC_ROLE_LINEAR, 2, false},
    {"LM_Head.weight", STC_ROLE_LINEAR, 2, false},
    {"layers.3.output.dense.weight", STC_ROLE_LINEAR, 2, false},
    {"layers.3.output_layer.weight", STC_ROLE_LINEAR, 2, true},
    {"score_proj", STC_ROLE_LINEAR, 2, false},
    {"score_proj", STC_ROLE_FORCE_MUON, 2, true},
    {"embeddings.weight", STC_ROLE_LINEAR, 2, true},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(optimizer_muon_routing)

BOOST_DATA_TEST_CASE(goes_by_role_rank_and_name, boost::unit_test::data::make(kCases), c) {
  BOOST_TEST(stc::muon::takes(c.role, c.name, c.rank, 12) == c.muon);
}

BOOST_AUTO_TEST_CASE(every_word_that_excludes_does_so_as_leaf_and_as_parent) {
  for (const char* word : {"embed", "embedding", "wte", "wpe", "lm_head", "classifier", "output", "output_proj",
                           "score", "score_proj", "head"}) {
    for (const std::string& name :
         {std::string(word), std::string(word) + ".weight", "a." + std::string(word) + ".b.weight"}) {
      BOOST_TEST(!stc::muon::takes(STC_ROLE_LINEAR, name, 2, 12), name);
    }
  }
}

BOOST_AUTO_TEST_CASE(an_empty_matrix_has_no_direction) {
  BOOST_TEST(!stc::muon::takes(STC_ROLE_LINEAR, "a.weight", 2, 0));
}

BOOST_AUTO_TEST_SUITE_END()
