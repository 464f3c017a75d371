// The writing system of a letter (after Unicode's Scripts.txt, in blocks). Pure.
#pragma once

#include <cstdint>

namespace sluice {

enum class Script {
  kNone,  // not a letter, or of a writing system that is not listed
  kLatin,
  kGreek,
  kCyrillic,
  kArmenian,
  kHebrew,
  kArabic,
  kDevanagari,
  kBengali,
  kGurmukhi,
  kGujarati,
  kTamil,
  kTelugu,
  kKannada,
  kMalayalam,
  kSinhala,
  kThai,
  kLao,
  kMyanmar,
  kGeorgian,
  kEthiopic,
  kKhmer,
  kKana,
  kHangul,
  kHan,
  kOther,  // a letter of a writing system that is not listed
};

Script ScriptOf(int32_t code_point);

}  // namespace sluice
