#include "reward/math/text/unit_words.h"

#include <string>

#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "reward/math/text/units.h"
#include "reward/math/verifier.h"

namespace sluice::math {
namespace {

UnitDoubt DoubtOf(const std::string& phrase, bool countable = true) {
  UnitPhraseDoubt doubt;
  for (absl::string_view word : absl::StrSplit(phrase, ' ')) doubt.Add(word, !FindUnit(word).empty());
  return doubt.Result(countable);
}

TEST(UnitWordsTest, CountedNounsAndUnitsLeaveTheValue) {
  for (const char* phrase : {"apples", "red marbles", "apples left", "left", "people", "firemen", "cm",
                             "years old", "more apples", "Marbles", "tents", "pairs"}) {
    EXPECT_EQ(DoubtOf(phrase), UnitDoubt::kNone) << phrase;
  }
  EXPECT_EQ(DoubtOf("pizza", false), UnitDoubt::kNone);
}

TEST(UnitWordsTest, OtherWordsMaySayAnything) {
  for (const char* phrase : {"zorp", "more", "hex", "bis", "sqft", "gross ton short", "apple"}) {
    EXPECT_NE(DoubtOf(phrase), UnitDoubt::kNone) << phrase;
  }
}

TEST(UnitWordsTest, NumbersOperatorsAndOrdinalsChangeTheValue) {
  for (const char* phrase : {"th", "zillions", "zillion dollars", "apples doubled", "nines", "thousandfold",
                             "dozenish", "XVIII", "apples maybe", "groups three"}) {
    EXPECT_EQ(DoubtOf(phrase), UnitDoubt::kChanges) << phrase;
  }
}

TEST(UnitWordsTest, WhatTheQuestionSaysIsAUnit) {
  EquivalenceOptions asked;
  asked.question = "How many zorps did she buy, and how many more than he?";
  for (const char* answer : {"8 zorp", "8 more"}) {
    EXPECT_EQ(ComparePair("8", answer).decision.answer, Answer::kUndecided) << answer;
    EXPECT_EQ(ComparePair("8", answer, asked).decision.answer, Answer::kEqual) << answer;
    EXPECT_EQ(ComparePair("9", answer, asked).decision.answer, Answer::kDifferent) << answer;
  }
  asked.question = "What is the eighth zillion?";
  EXPECT_EQ(ComparePair("8", "8 zillion", asked).decision.answer, Answer::kUndecided);
}

}  // namespace
}  // namespace sluice::math
