// Answers built to be slow, deep or large. No judgement of them may take longer than 100 ms.
#pragma once

#include <string>
#include <vector>

namespace sluice::math {

struct Pathological {
  std::string name;
  std::string text;
};

std::vector<Pathological> PathologicalAnswers();

}  // namespace sluice::math
