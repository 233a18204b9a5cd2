// What every cmocka program includes: cmocka and the headers it wants before itself.
#ifndef TEST_BASE_CHECK_H
#define TEST_BASE_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#endif
