// What stands behind a component's verdict, as JSON. Pure.
#pragma once

#include "nlohmann/json.hpp"
#include "sluice/v1/types.pb.h"

namespace sluice::cli {

// Adds "tests" [{CLASS, "seconds", "memory_bytes", "detail"}], "steps" [{"end_offset", "score"}] and "stamps"
// where the component has them; `class_name` is what CLASS is called.
void AddEvidence(const v1::VerdictComponent& component, const char* class_name, nlohmann::ordered_json& out);

// "7 of 10 tests passed: wrong_answer 2, time_limit 1"; empty without tests.
std::string TestsText(const v1::VerdictComponent& component);

}  // namespace sluice::cli
