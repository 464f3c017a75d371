#include "reward/script.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

namespace sluice {
namespace {

struct Block {
  int32_t first, last;
  Script script;
};

// By first code point, without overlap.
constexpr Block kBlocks[] = {
    {0x0041, 0x024F, Script::kLatin},      {0x0250, 0x02AF, Script::kLatin},
    {0x0370, 0x03FF, Script::kGreek},      {0x0400, 0x052F, Script::kCyrillic},
    {0x0531, 0x058F, Script::kArmenian},   {0x0590, 0x05FF, Script::kHebrew},
    {0x0600, 0x06FF, Script::kArabic},     {0x0750, 0x077F, Script::kArabic},
    {0x0870, 0x08FF, Script::kArabic},     {0x0900, 0x097F, Script::kDevanagari},
    {0x0980, 0x09FF, Script::kBengali},    {0x0A00, 0x0A7F, Script::kGurmukhi},
    {0x0A80, 0x0AFF, Script::kGujarati},   {0x0B80, 0x0BFF, Script::kTamil},
    {0x0C00, 0x0C7F, Script::kTelugu},     {0x0C80, 0x0CFF, Script::kKannada},
    {0x0D00, 0x0D7F, Script::kMalayalam},  {0x0D80, 0x0DFF, Script::kSinhala},
    {0x0E00, 0x0E7F, Script::kThai},       {0x0E80, 0x0EFF, Script::kLao},
    {0x1000, 0x109F, Script::kMyanmar},    {0x10A0, 0x10FF, Script::kGeorgian},
    {0x1100, 0x11FF, Script::kHangul},     {0x1200, 0x139F, Script::kEthiopic},
    {0x1780, 0x17FF, Script::kKhmer},      {0x1C80, 0x1C8F, Script::kCyrillic},
    {0x1C90, 0x1CBF, Script::kGeorgian},   {0x1E00, 0x1EFF, Script::kLatin},
    {0x1F00, 0x1FFF, Script::kGreek},      {0x2C60, 0x2C7F, Script::kLatin},
    {0x2D00, 0x2D2F, Script::kGeorgian},   {0x2D80, 0x2DDF, Script::kEthiopic},
    {0x2DE0, 0x2DFF, Script::kCyrillic},   {0x2E80, 0x2FDF, Script::kHan},
    {0x3005, 0x3007, Script::kHan},        {0x3041, 0x30FF, Script::kKana},
    {0x3131, 0x318E, Script::kHangul},     {0x31F0, 0x31FF, Script::kKana},
    {0x3400, 0x4DBF, Script::kHan},        {0x4E00, 0x9FFF, Script::kHan},
    {0xA640, 0xA69F, Script::kCyrillic},   {0xA720, 0xA7FF, Script::kLatin},
    {0xA8E0, 0xA8FF, Script::kDevanagari}, {0xA960, 0xA97F, Script::kHangul},
    {0xAA60, 0xAA7F, Script::kMyanmar},    {0xAC00, 0xD7FF, Script::kHangul},
    {0xF900, 0xFAFF, Script::kHan},        {0xFB00, 0xFB06, Script::kLatin},
    {0xFB13, 0xFB17, Script::kArmenian},   {0xFB1D, 0xFB4F, Script::kHebrew},
    {0xFB50, 0xFDFF, Script::kArabic},     {0xFE70, 0xFEFE, Script::kArabic},
    {0xFF21, 0xFF5A, Script::kLatin},      {0xFF66, 0xFF9F, Script::kKana},
    {0xFFA0, 0xFFDC, Script::kHangul},     {0x1B000, 0x1B16F, Script::kKana},
    {0x20000, 0x323AF, Script::kHan},
};

bool IsLetter(int32_t code_point) {
  switch (utf8proc_category(code_point)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return true;
    default:
      return false;
  }
}

}  // namespace

Script ScriptOf(int32_t code_point) {
  if (code_point < 0x41 || !IsLetter(code_point)) return Script::kNone;
  const Block* after = std::upper_bound(std::begin(kBlocks), std::end(kBlocks), code_point,
                                        [](int32_t c, const Block& block) { return c < block.first; });
  if (after == std::begin(kBlocks) || code_point > std::prev(after)->last) return Script::kOther;
  return std::prev(after)->script;
}

}  // namespace sluice
