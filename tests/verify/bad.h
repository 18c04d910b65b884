/* SPDX-License-Identifier: Apache-2.0
 *
 * The one thing that a variant of the test plugin does wrong. BAD is one of
 * these, given by the build; without it the plugin is good.
 */
#ifndef FERRY_TESTS_VERIFY_BAD_H
#define FERRY_TESTS_VERIFY_BAD_H

/* Loading and listing */
#define BAD_NULL_SLOT 1
#define BAD_TWO_SYMBOLS 2
#define BAD_HOST_SYMBOL 3
#define BAD_RESERVED_WORD 4
#define BAD_VENDOR_TEXT 5
#define BAD_PRINTS 6
#define BAD_LISTING_THREAD 7
#define BAD_DIRECTORY 8
#define BAD_LOCALE 9
#define BAD_SIGNAL 10
#define BAD_COUNT_CHANGES 11
#define BAD_INFO_CHANGES 12
#define BAD_NAME_WITHOUT_END 13
#define BAD_ALIGNMENT 14
#define BAD_INFO_PAST_SIZE 15
#define BAD_INDEX_ACCEPTED 16
#define BAD_OPEN_WRITES_ON_FAILURE 17
#define BAD_FAMILY_WITHOUT_REVISION 18

/* Memory */
#define BAD_DESCRIPTOR_LEAK 20
#define BAD_MEMORY_LEAK 21
#define BAD_ODD_SIZES 22
#define BAD_DST_OFFSET 23
#define BAD_SRC_OFFSET 24
#define BAD_H2D_TOO_LONG 25
#define BAD_D2H_TOO_LONG 26
#define BAD_D2D_TOO_LONG 27
#define BAD_OVERLAP 28
#define BAD_OOM_ABORTS 29
#define BAD_OOM_IS_OK 30
#define BAD_OOM_WRITES_OUT 31
#define BAD_OOM_KEEPS 32
#define BAD_FILL_VALUE 33
#define BAD_FREE_BYTES 34
#define BAD_PINNED_HANDLE 35

/* Streams and events */
#define BAD_ORDER 40
#define BAD_EVENT_QUERY_EARLY 41
#define BAD_EVENT_SYNC_EARLY 42
#define BAD_WAIT_NOTHING 43
#define BAD_QUERY_FORGETS 44
#define BAD_FUNCTION_TWICE 45
#define BAD_FUNCTION_EARLY 46
#define BAD_ELAPSED 47
#define BAD_STREAM_THREAD_LEAK 48
#define BAD_SYNC_ALL 49

/* Kernels */
#define BAD_SUM_ODD 50
#define BAD_SUM_TOO_LONG 51
#define BAD_SUM_RANDOM 52
#define BAD_MAP_INPUT 53
#define BAD_MAP_NAN 54
#define BAD_MAP_STRIDES 55
#define BAD_MAP_OFFSET 56
#define BAD_CHECK_LIES 57
#define BAD_REFUSE_CRASHES 58

/* The process */
#define BAD_FORK 60
#define BAD_EXIT 61
#define BAD_OPEN_ALONE 62
#define BAD_OLD_HOST 63
#define BAD_NEW_HOST 64
#define BAD_NO_TEXT 65
#define BAD_OTHER_CODE 66
#define BAD_QUIESCE 67

#ifndef BAD
#define BAD 0
#endif

#endif /* FERRY_TESTS_VERIFY_BAD_H */
