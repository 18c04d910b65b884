// SPDX-License-Identifier: Apache-2.0
//
// The whole library in one include.
#ifndef FERRY_FERRY_H
#define FERRY_FERRY_H

#include "ferry/call.h"
#include "ferry/device.h"
#include "ferry/dtype.h"
#include "ferry/error.h"
#include "ferry/functional.h"
#include "ferry/fuse.h"
#include "ferry/indexing.h"
#include "ferry/io/load.h"
#include "ferry/io/map_location.h"
#include "ferry/io/value.h"
#include "ferry/log.h"
#include "ferry/losses.h"
#include "ferry/memory.h"
#include "ferry/nn.h"
#include "ferry/ops.h"
#include "ferry/random.h"
#include "ferry/shape_ops.h"
#include "ferry/sort_ops.h"
#include "ferry/state_dict.h"
#include "ferry/stream.h"
#include "ferry/tensor.h"

#endif  // FERRY_FERRY_H
