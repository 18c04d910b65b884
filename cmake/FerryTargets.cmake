# SPDX-License-Identifier: Apache-2.0
#
# What every target of the tree shares: language level, warnings, sanitizers
# and where outputs go. Nothing of it reaches a consumer.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(FERRY_PLUGIN_SUBDIR ferry/plugins)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(FERRY_PLUGIN_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/${FERRY_PLUGIN_SUBDIR}")

# Warnings, hidden symbols, position independence and sanitizers for `target`.
function(ferry_configure_target target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic
                         $<$<BOOL:${FERRY_WERROR}>:-Werror>)
  # GCC 12 sees overlaps in joined std::strings that are not there (GCC bug 105651).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
  endif()
  set_target_properties(${target} PROPERTIES
    CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON)
  if(FERRY_SANITIZE)
    # GCC takes what the sanitizers add for uses of uninitialised memory.
    target_compile_options(${target} PRIVATE -fsanitize=${FERRY_SANITIZE}
                           -fno-omit-frame-pointer -fno-sanitize-recover=all
                           $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    target_link_options(${target} PRIVATE -fsanitize=${FERRY_SANITIZE})
  endif()
endfunction()

# ferry_add_backend(NAME FOLDER): the backend's folder, where it is asked for by
# FERRY_BACKEND_NAME and is part of this version. One line says what was left
# out; a folder whose toolkit is absent says so itself, through
# ferry_skip_backend, and makes no target.
function(ferry_add_backend name folder)
  string(TOUPPER "FERRY_BACKEND_${name}" wanted)
  if(NOT ${wanted})
    return()
  endif()
  if(NOT EXISTS "${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt")
    ferry_skip_backend(${name} "it is not part of this version")
    return()
  endif()
  add_subdirectory("${PROJECT_SOURCE_DIR}/${folder}" "${PROJECT_BINARY_DIR}/${folder}")
endfunction()

function(ferry_skip_backend name reason)
  message(STATUS "Ferry: backend ${name} skipped: ${reason}")
endfunction()
