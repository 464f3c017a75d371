# How targets are declared. One library per folder:
#
#   sluice_library(core_base [TORCH] [APART] [BATCH n] HDRS a.h SRCS a.cc DEPS core_rl EXTERNAL absl::status)
#     APART: not in batches. BATCH: of so many files, not eight: less to compile after a change, more in all.
#   sluice_test(core_base a_test.cc ...)        one test binary per folder: <library>_test
#   sluice_binary(sluice-reward MAIN main.cc DEPS ...)
#
# DEPS are first-party targets: the layer guard (tests/guards/layers.py) checks each #include against them.

add_library(sluice_flags INTERFACE)
target_include_directories(sluice_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(sluice_flags INTERFACE -Wall -Wextra -Werror -Wno-unused-parameter
  -Wno-missing-field-initializers $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-array-bounds;-Wno-stringop-overflow;-Wno-restrict>)
if(SLUICE_SANITIZER)
  target_compile_options(sluice_flags INTERFACE -fsanitize=${SLUICE_SANITIZER} -fno-omit-frame-pointer)
  target_link_options(sluice_flags INTERFACE -fsanitize=${SLUICE_SANITIZER})
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
set_property(GLOBAL PROPERTY SLUICE_TABLE "")

function(_sluice_record name kind files deps)
  string(REPLACE ";" "," f "${files}")
  string(REPLACE ";" "," d "${deps}")
  file(RELATIVE_PATH dir ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set_property(GLOBAL APPEND PROPERTY SLUICE_TABLE "${name}|${kind}|${dir}|${f}|${d}")
endfunction()

function(sluice_library name)
  cmake_parse_arguments(A "TORCH;APART" "BATCH" "HDRS;SRCS;DEPS;EXTERNAL" ${ARGN})
  if(A_SRCS)
    add_library(${name} STATIC ${A_SRCS})
    set(scope PUBLIC)
  else()
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  if(A_HDRS)
    target_sources(${name} ${scope} FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${A_HDRS})
    set_target_properties(${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  endif()
  target_link_libraries(${name} ${scope} sluice_flags ${A_DEPS} ${A_EXTERNAL})
  if(A_TORCH)
    target_link_libraries(${name} ${scope} sluice::torch)
  endif()
  if(A_SRCS)
    if(A_TORCH)
      set(kind torch)
    else()
      _sluice_kind(kind "" "${A_DEPS}")
    endif()
    set(apart)
    if(A_APART)
      set(apart APART)
    endif()
    if(NOT A_BATCH)
      set(A_BATCH 8)
    endif()
    _sluice_batches("${A_SRCS}" ${A_BATCH})
    sluice_compile_together(${name} ${kind} ${apart})
  endif()
  _sluice_record(${name} library "${A_HDRS};${A_SRCS}" "${A_DEPS}")
endfunction()

# How files are compiled together (docs/building.md). SLUICE_UNITY (on, but in the preset "dev"): files of a target are
# compiled in batches, whose headers are read once; SLUICE_PCH: what most files include is compiled once for all of
# them. Off, each file stands alone: tests/guards/stand_alone.py keeps both forms building.
option(SLUICE_UNITY "Compile the files of a target in batches" ON)
option(SLUICE_PCH "Precompile the headers that most files include" ON)

# The precompiled headers: one for each kind of target, made once for the whole project. Only headers that cost little once
# they are read: the compiler instantiates what their inline functions use in each file anew, 10 s for <torch/torch.h>, 5 s
# for <CLI/CLI.hpp>, 1 s for <nlohmann/json.hpp>.
set(_sluice_pch_base <algorithm> <functional> <map> <memory> <optional> <string> <utility> <variant> <vector>
  <absl/container/flat_hash_map.h> <absl/status/statusor.h> <absl/strings/str_cat.h> <absl/strings/str_format.h>
  <absl/strings/str_join.h> <absl/strings/str_split.h> <absl/synchronization/mutex.h> <absl/time/time.h>)
set(_sluice_pch_test ${_sluice_pch_base} <gmock/gmock.h> <gtest/gtest.h>)
set(_sluice_pch_service ${_sluice_pch_base} <grpcpp/grpcpp.h> <sluice/v1/fleet.grpc.pb.h> <sluice/v1/job.grpc.pb.h>
  <sluice/v1/learner.grpc.pb.h> <sluice/v1/reward.grpc.pb.h> <sluice/v1/rollout.grpc.pb.h> <sluice/v1/weights.grpc.pb.h>)
set(_sluice_pch_service_test ${_sluice_pch_service} <gmock/gmock.h> <gtest/gtest.h>)
set(_sluice_pch_torch <torch/types.h> <torch/csrc/autograd/custom_function.h>)
set(_sluice_pch_links_base absl::statusor absl::synchronization absl::time absl::str_format absl::flat_hash_map)
set(_sluice_pch_links_test ${_sluice_pch_links_base} GTest::gmock GTest::gtest)
set(_sluice_pch_links_service ${_sluice_pch_links_base} sluice_proto)
set(_sluice_pch_links_service_test ${_sluice_pch_links_service} GTest::gmock GTest::gtest)
set(_sluice_pch_links_torch sluice::torch)

# sluice_compile_together(TARGET KIND [APART]): KIND base, test, service, service_test or torch. APART: not in batches; so are
# tests, whose files share names (fixtures, helpers) on purpose.
function(sluice_compile_together name kind)
  if(SLUICE_PCH)
    if(NOT TARGET sluice_pch_${kind})
      file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/pch_${kind}.cc CONTENT "// Carries the precompiled header.\n")  # as it was: not touched
      add_library(sluice_pch_${kind} STATIC ${CMAKE_BINARY_DIR}/pch_${kind}.cc)
      target_link_libraries(sluice_pch_${kind} PUBLIC sluice_flags ${_sluice_pch_links_${kind}})
      target_precompile_headers(sluice_pch_${kind} PRIVATE ${_sluice_pch_${kind}})
    endif()
    target_precompile_headers(${name} REUSE_FROM sluice_pch_${kind})
  endif()
  if(SLUICE_UNITY AND "${ARGN}" STREQUAL "")
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  endif()
endfunction()

# Batches of so many, in the order of the list.
function(_sluice_batches sources size)
  set(place 0)
  foreach(source ${sources})
    math(EXPR batch "${place} / ${size}")
    math(EXPR place "${place} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${batch})
  endforeach()
endfunction()

# What kind a target of this folder with these DEPS, and what they link, is; `suffix` _test or empty.
function(_sluice_kind out suffix deps)
  file(RELATIVE_PATH dir ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  foreach(dep ${deps})
    if(TARGET ${dep})
      get_target_property(below ${dep} INTERFACE_LINK_LIBRARIES)
      list(APPEND deps ${below})
    endif()
  endforeach()
  if(dir MATCHES "^services" OR "${deps}" MATCHES "(^|;)(services_|sluice_proto)")
    set(${out} service${suffix} PARENT_SCOPE)
  elseif(suffix)
    set(${out} test PARENT_SCOPE)
  else()
    set(${out} base PARENT_SCOPE)
  endif()
endfunction()

# sluice_test(LIBRARY tests... [HDRS ...] [DEPS ...] [LABELS ...] [NAME n] [PARTS p...]): one binary over the given
# files; a ctest case NAME_P for each part, of the tests whose names match *P*, or one of all.
function(sluice_test library)
  cmake_parse_arguments(A "TORCH" "NAME;TIMEOUT" "DEPS;LABELS;EXTERNAL;HDRS;PARTS" ${ARGN})
  if(NOT A_NAME)
    set(A_NAME ${library}_test)
  endif()
  if(NOT A_LABELS)
    set(A_LABELS unit)
  endif()
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 300)
  endif()
  add_executable(${A_NAME} ${A_UNPARSED_ARGUMENTS})
  set_target_properties(${A_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${A_NAME} PRIVATE ${library} ${A_DEPS} ${A_EXTERNAL} GTest::gmock GTest::gtest_main)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${A_NAME} PRIVATE -O1)  # the test's own code, half of what -O2 costs; what it tests has -O2
  endif()
  if(A_TORCH)
    target_link_libraries(${A_NAME} PRIVATE sluice::torch)
    sluice_compile_together(${A_NAME} torch APART)
  else()
    _sluice_kind(kind _test "${library};${A_DEPS}")
    sluice_compile_together(${A_NAME} ${kind} APART)
  endif()
  target_compile_definitions(${A_NAME} PRIVATE SLUICE_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    SLUICE_BINARY_DIR="${CMAKE_BINARY_DIR}")
  if(A_PARTS)
    foreach(part ${A_PARTS})
      add_test(NAME ${A_NAME}_${part} COMMAND ${A_NAME} --gtest_filter=*${part}*)
      set_tests_properties(${A_NAME}_${part} PROPERTIES LABELS "${A_LABELS}" TIMEOUT ${A_TIMEOUT})
    endforeach()
  else()
    add_test(NAME ${A_NAME} COMMAND ${A_NAME})
    set_tests_properties(${A_NAME} PROPERTIES LABELS "${A_LABELS}" TIMEOUT ${A_TIMEOUT})
  endif()
  if("parity" IN_LIST A_LABELS)  # without the oracle all of it is skipped, and ctest must say so
    set_tests_properties(${A_NAME} PROPERTIES SKIP_REGULAR_EXPRESSION "SLUICE_ORACLE_DIR")
  endif()
  _sluice_record(${A_NAME} test "${A_UNPARSED_ARGUMENTS};${A_HDRS}" "${library};${A_DEPS}")
endfunction()

function(sluice_binary name)
  cmake_parse_arguments(A "" "MAIN" "DEPS" ${ARGN})
  add_executable(${name} ${A_MAIN})
  target_link_libraries(${name} PRIVATE ${A_DEPS})
  _sluice_kind(kind "" "${A_DEPS}")
  sluice_compile_together(${name} ${kind} APART)
  _sluice_record(${name} binary "${A_MAIN}" "${A_DEPS}")
endfunction()

# Fail points (core/base/fail_point.h) are nothing in what is shipped. For the tests of faults each binary has a twin in
# ${CMAKE_BINARY_DIR}/fault/bin: the same libraries, but for the few files with fail points, which are compiled a second
# time and are linked in place of the libraries' own.
#   sluice_fail_points(coordinator store.cc ...)          after the library: its files with fail points
#   sluice_fault_binary(sluice-coordinator coordinator)   after the binary: the libraries in it that have such files
function(sluice_fail_points library)
  cmake_parse_arguments(A "TORCH" "" "" ${ARGN})
  add_library(${library}_fail_points OBJECT ${A_UNPARSED_ARGUMENTS})
  target_compile_definitions(${library}_fail_points PRIVATE SLUICE_FAIL_POINTS)
  target_link_libraries(${library}_fail_points PRIVATE ${library})
  # A batch of their own in both: the linker takes all of it from one of them.
  set_source_files_properties(${A_UNPARSED_ARGUMENTS} PROPERTIES UNITY_GROUP fail_points)
  if(A_TORCH)
    set(kind torch)
  else()
    get_target_property(deps ${library} LINK_LIBRARIES)
    _sluice_kind(kind "" "${deps}")
  endif()
  get_target_property(_unity ${library} UNITY_BUILD)
  if(_unity)
    sluice_compile_together(${library}_fail_points ${kind})
  else()
    sluice_compile_together(${library}_fail_points ${kind} APART)
  endif()
endfunction()

function(sluice_fault_binary name)
  get_target_property(main ${name} SOURCES)
  add_executable(fault-${name} ${main})
  set_target_properties(fault-${name} PROPERTIES OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fault/bin)
  list(TRANSFORM ARGN APPEND _fail_points)
  get_target_property(libraries ${name} LINK_LIBRARIES)
  target_link_libraries(fault-${name} PRIVATE ${ARGN} ${libraries})
  foreach(property COMPILE_DEFINITIONS SLUICE_WITHOUT_TORCH_HEADERS)
    get_target_property(value ${name} ${property})
    if(value)
      set_target_properties(fault-${name} PROPERTIES ${property} "${value}")
    endif()
  endforeach()
endfunction()

function(sluice_write_target_table)
  get_property(rows GLOBAL PROPERTY SLUICE_TABLE)
  string(REPLACE ";" "\n" text "${rows}")
  file(WRITE ${CMAKE_BINARY_DIR}/targets.txt "${text}\n")
endfunction()
