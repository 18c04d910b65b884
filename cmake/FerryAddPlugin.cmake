# SPDX-License-Identifier: Apache-2.0
#
# ferry_add_plugin(NAME sources...): a plugin library `ferry_NAME.so` that
# exports one symbol, leaves none undefined, and is installed where Ferry looks.
set(_FERRY_PLUGIN_MAP "${CMAKE_CURRENT_LIST_DIR}/plugin.map")

function(ferry_add_plugin name)
  set(target ferry_${name})
  add_library(${target} MODULE ${ARGN})
  target_link_libraries(${target} PRIVATE ferry::sdk)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES
    PREFIX "" CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON LINK_DEPENDS "${_FERRY_PLUGIN_MAP}")
  target_link_options(${target} PRIVATE "LINKER:--version-script=${_FERRY_PLUGIN_MAP}")
  if(NOT FERRY_SANITIZE)
    target_link_options(${target} PRIVATE LINKER:-z,defs)
  endif()
  if(DEFINED FERRY_PLUGIN_OUTPUT_DIRECTORY)
    set_target_properties(${target} PROPERTIES
      LIBRARY_OUTPUT_DIRECTORY "${FERRY_PLUGIN_OUTPUT_DIRECTORY}")
  endif()
  if(COMMAND ferry_configure_target)
    ferry_configure_target(${target})
  endif()
  include(GNUInstallDirs)
  install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/ferry/plugins)
endfunction()
