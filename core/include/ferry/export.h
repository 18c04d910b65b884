// SPDX-License-Identifier: Apache-2.0
//
// FERRY_API: marks what libferry exports; everything else is hidden.
#ifndef FERRY_EXPORT_H
#define FERRY_EXPORT_H

#define FERRY_API __attribute__((visibility("default")))

#endif  // FERRY_EXPORT_H
