/* test_announce.c - the file by which Home Assistant finds the Wyoming port: its text, its end, and what is
 * said where it cannot be written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "serve/announce.h"
#include "support/folder_testing.h"

static void it_is_there_until_the_end(void **state)
{
    Folder folder = folder_make();
    Announcement a = {0};
    Err err = {0};
    Buf text = {0};
    struct stat st;
    char path[400];
    snprintf(path, sizeof path, "%s", folder_file(&folder, "myxtts-12345.service"));
    assert_int_equal(announce_open(&a, folder.path, 12345, &err), 0);
    assert_int_equal(file_read(&text, path, 10000, &err), 0);
    buf_add(&text, "", 1);
    assert_non_null(strstr(text.data, "<type>_wyoming._tcp</type>"));
    assert_non_null(strstr(text.data, "<port>12345</port>"));
    assert_null(strstr(text.data, "10200"));
    assert_non_null(strstr(text.data, "</service-group>\n"));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644); /* the daemon is another user */
    announce_close(&a);
    assert_int_not_equal(stat(path, &st), 0);
    announce_close(&a);
    buf_free(&text);
    folder_remove(&folder);
}

static void what_hinders_is_said(void **state)
{
    Folder folder = folder_make();
    Announcement a = {0};
    Err err = {0};
    char path[400];
    snprintf(path, sizeof path, "%s", folder_file(&folder, "none"));
    assert_int_equal(announce_open(&a, path, 1, &err), ERR_MISSING);
    assert_non_null(strstr(err.msg, path));
    assert_non_null(strstr(err.hint, "avahi-daemon"));
    announce_close(&a);
    /* A folder in the file's place hinders root too. */
    snprintf(path, sizeof path, "%s", folder_file(&folder, "myxtts-1.service"));
    assert_int_equal(mkdir(path, 0755), 0);
    err = (Err){0};
    assert_true(announce_open(&a, folder.path, 1, &err) < 0);
    assert_non_null(strstr(err.msg, "myxtts-1.service"));
    assert_non_null(strstr(err.hint, "sudo"));
    assert_null(a.path);
    assert_int_equal(rmdir(path), 0);
    folder_remove(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_there_until_the_end),
        cmocka_unit_test(what_hinders_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
