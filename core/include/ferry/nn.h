// SPDX-License-Identifier: Apache-2.0
//
// Everything about modules: the base class, the layers, first values.
#ifndef FERRY_NN_H
#define FERRY_NN_H

#include "ferry/nn/activation.h"
#include "ferry/nn/conv.h"
#include "ferry/nn/data_parallel.h"
#include "ferry/nn/dropout.h"
#include "ferry/nn/init.h"
#include "ferry/nn/linear.h"
#include "ferry/nn/module.h"
#include "ferry/nn/norm.h"
#include "ferry/nn/parameter.h"
#include "ferry/nn/parts.h"
#include "ferry/nn/sequential.h"

#endif  // FERRY_NN_H
