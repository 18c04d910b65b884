// SPDX-License-Identifier: Apache-2.0
//
// The layout of the ABI as a C++ compiler sees it.
#include "layout.h"

#include <type_traits>

// What crosses the boundary is copied as bytes.
#define LAYOUT_PLAIN(type)                                                  \
  static_assert(std::is_standard_layout_v<type> && std::is_trivial_v<type>, \
                #type " is not plain data")
LAYOUT_PLAIN(ferry_device_info);
LAYOUT_PLAIN(ferry_core_api);
LAYOUT_PLAIN(ferry_stream_api);
LAYOUT_PLAIN(ferry_peer_api);
LAYOUT_PLAIN(ferry_tensor);
LAYOUT_PLAIN(ferry_program);
LAYOUT_PLAIN(ferry_call);
LAYOUT_PLAIN(ferry_kernel);
LAYOUT_PLAIN(ferry_host);
LAYOUT_PLAIN(ferry_plugin_api);
LAYOUT_PLAIN(ferry_plugin_desc);
