# Every dependency of the project as an imported target. deploy/setup/install.sh puts them in place.
find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(absl REQUIRED)
find_package(Protobuf REQUIRED)
find_package(gRPC REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(GTest REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(prometheus-cpp REQUIRED COMPONENTS core pull)
find_package(civetweb REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(pcre2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)

# FLINT with ball arithmetic: FLINT 3 has it built in, before that it is the library Arb beside FLINT 2.
find_path(SLUICE_FLINT_INCLUDE flint/flint.h REQUIRED)
find_library(SLUICE_FLINT_LIBRARY flint REQUIRED)
add_library(sluice_flint INTERFACE)
add_library(sluice::flint ALIAS sluice_flint)
if(NOT EXISTS ${SLUICE_FLINT_INCLUDE}/flint/acb.h)
  find_path(SLUICE_ARB_INCLUDE acb.h REQUIRED)
  find_library(SLUICE_ARB_LIBRARY NAMES flint-arb arb REQUIRED)
  target_include_directories(sluice_flint SYSTEM INTERFACE ${SLUICE_ARB_INCLUDE})
  target_link_libraries(sluice_flint INTERFACE ${SLUICE_ARB_LIBRARY})
endif()
target_include_directories(sluice_flint SYSTEM INTERFACE ${SLUICE_FLINT_INCLUDE})
target_link_libraries(sluice_flint INTERFACE ${SLUICE_FLINT_LIBRARY})

# LibTorch: the unpacked PyPI wheel. Its include folder carries copies of protobuf and fmt, hence SYSTEM and
# AFTER; its CMake package demands CUDA, hence targets of our own.
set(SLUICE_DEPS_DIR "$ENV{SLUICE_DEPS_DIR}" CACHE PATH "Folder that deploy/setup/install.sh unpacked into")
if(NOT SLUICE_DEPS_DIR)
  file(READ ${CMAKE_CURRENT_SOURCE_DIR}/deploy/setup/libtorch.lock _lock)
  string(REGEX MATCH "directory=([^\n]+)" _ "${_lock}")
  if(DEFINED ENV{XDG_CACHE_HOME})
    set(_cache $ENV{XDG_CACHE_HOME})
  else()
    set(_cache $ENV{HOME}/.cache)
  endif()
  set(SLUICE_DEPS_DIR ${_cache}/sluice/${CMAKE_MATCH_1} CACHE PATH "" FORCE)
endif()
set(_torch ${SLUICE_DEPS_DIR}/torch)
if(NOT EXISTS ${_torch}/lib/libtorch_cpu.so)
  message(FATAL_ERROR "LibTorch is not in ${SLUICE_DEPS_DIR}. Run deploy/setup/install.sh (or make setup) first.")
endif()
add_library(sluice_torch INTERFACE)
add_library(sluice::torch ALIAS sluice_torch)
# A target that only links LibTorch and includes protobuf sets SLUICE_WITHOUT_TORCH_HEADERS, for the wheel's copy of
# protobuf would come first.
foreach(_folder include include/torch/csrc/api/include)
  target_include_directories(sluice_torch SYSTEM INTERFACE
    $<$<NOT:$<BOOL:$<TARGET_PROPERTY:SLUICE_WITHOUT_TORCH_HEADERS>>>:${_torch}/${_folder}>)
endforeach()
target_compile_definitions(sluice_torch INTERFACE USE_C10D_GLOO USE_DISTRIBUTED)
target_link_libraries(sluice_torch INTERFACE ${_torch}/lib/libtorch_cpu.so ${_torch}/lib/libc10.so)
target_link_options(sluice_torch INTERFACE
  -Wl,-rpath-link,${_torch}/lib -Wl,-rpath-link,${SLUICE_DEPS_DIR}/nvidia/cu13/lib -Wl,--disable-new-dtags
  -Wl,-rpath,${_torch}/lib -Wl,-rpath,${SLUICE_DEPS_DIR}/nvidia/cu13/lib)

# LibTorch's CUDA libraries (preset "cuda"), for targets that open CUDA devices: they load libtorch_cuda.so when a
# device is asked for (services/rollout/device_cuda.cc), so only the folders to find it in are set here.
if(SLUICE_CUDA)
  foreach(_file torch/lib/libtorch_cuda.so torch/lib/libc10_cuda.so nvidia/cu13/lib/libcublas.so.13
                nvidia/cudnn/lib/libcudnn.so.9)
    if(NOT EXISTS ${SLUICE_DEPS_DIR}/${_file})
      message(FATAL_ERROR "SLUICE_CUDA: ${_file} is not in ${SLUICE_DEPS_DIR}. Run deploy/setup/install.sh --cuda first.")
    endif()
  endforeach()
  add_library(sluice_torch_cuda INTERFACE)
  add_library(sluice::torch_cuda ALIAS sluice_torch_cuda)
  target_link_libraries(sluice_torch_cuda INTERFACE sluice::torch)
  target_link_libraries(sluice_torch_cuda INTERFACE ${CMAKE_DL_LIBS})
  foreach(_folder cudnn nccl nvshmem cusparselt)
    target_link_options(sluice_torch_cuda INTERFACE -Wl,-rpath,${SLUICE_DEPS_DIR}/nvidia/${_folder}/lib)
  endforeach()
endif()
