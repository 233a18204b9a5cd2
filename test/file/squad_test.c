// Questions of SQuAD files.
#include "file/crafted.h"

#define GOOD                                                                                                 \
    "{\"version\": \"v2.0\", \"data\": [{\"title\": \"t\", \"paragraphs\": [{\"qas\": [{\"question\": "      \
    "\"Who?\", "                                                                                             \
    "\"id\": \"1\", \"answers\": [{\"text\": \"a\\u00e9\", \"answer_start\": 0}, {\"answer_start\": 3, "     \
    "\"text\": \"b\"}], "                                                                                    \
    "\"is_impossible\": false}, {\"id\": \"2\", \"question\": \"W\", \"answers\": [], \"is_impossible\": "   \
    "true}], "                                                                                               \
    "\"context\": \"c\"}]}, {\"paragraphs\": []}, {\"paragraphs\": [{\"context\": \"d\", \"qas\": "          \
    "[{\"id\": \"3\", "                                                                                      \
    "\"question\": \"X\", \"answers\": []}]}]}]}"

static void test_questions(void **state) {
    (void)state;
    const char *folder = crafted_folder(), *path = crafted_path(folder, "x.json");
    sabok_error err = {0};
    crafted_text(folder, "x.json", GOOD);
    sabok_squad *squad = sabok_squad_open(path, &err);
    if (!squad) fail_msg("%s", err.message);
    assert_int_equal(sabok_squad_count(squad), 3);
    const sabok_squad_question *q = sabok_squad_get(squad, 0);
    assert_string_equal(q->id, "1");
    assert_string_equal(q->question, "Who?");
    assert_string_equal(q->context, "c");
    assert_int_equal(q->answer_count, 2);
    assert_string_equal(q->answers[0], "a\xC3\xA9");
    assert_string_equal(q->answers[1], "b");
    assert_false(q->impossible);
    q = sabok_squad_get(squad, 1);
    assert_string_equal(q->context, "c");
    assert_true(q->impossible && q->answer_count == 0);
    assert_string_equal(sabok_squad_get(squad, 2)->context, "d");
    assert_null(sabok_squad_get(squad, 3));
    sabok_squad_close(squad);
    crafted_remove(folder);
}

static void test_errors(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "x.json: byte 0"},
        {"[]", "x.json: byte 0"},
        {"{}", "found no key \"data\""},
        {"{\"data\": [{}]}", "found no key \"paragraphs\""},
        {"{\"data\": [{\"paragraphs\": [{\"qas\": []}]}]}", "found a paragraph without \"context\""},
        {"{\"data\": [{\"paragraphs\": [{\"context\": 1}]}]}",
         "byte 38: context: found a number, expected a string"},
        {"{\"data\": [{\"paragraphs\": [{\"context\": \"a\\u0000\"}]}]}", "context: found a NUL"},
        {"{\"data\": [{\"paragraphs\": [{\"context\": \"a\", \"qas\": [{\"id\": \"1\"}]}]}]}",
         "found a question without \"id\" and \"question\""},
        {"{\"data\": [{\"paragraphs\": [{\"context\": \"a\", \"qas\": [{\"answers\": [{}]}]}]}]}",
         "found an answer without \"text\""},
        {"{\"data\": []} x", "byte 13"},
    };
    const char *folder = crafted_folder(), *path = crafted_path(folder, "x.json");
    for (size_t i = 0; i < COUNT(cases); i++) {
        const int64_t live = mem_live();
        sabok_error err = {0};
        crafted_text(folder, "x.json", cases[i].text);
        assert_null(sabok_squad_open(path, &err));
        assert_contains(err.message, cases[i].message);
        assert_contains(err.message, "x.json");
        assert_int_equal(mem_live(), live);
    }
    crafted_remove(folder);
}

// Cut anywhere, and with the k-th allocation failing.
static void test_damage(void **state) {
    (void)state;
    const char *folder = crafted_folder(), *path = crafted_path(folder, "x.json");
    const int64_t live = mem_live();
    sabok_error err = {0};
    for (size_t n = 0; n < sizeof GOOD - 1; n++) {
        crafted_write(folder, "x.json", GOOD, n);
        assert_null(sabok_squad_open(path, &err));
    }
    crafted_text(folder, "x.json", GOOD);
    for (uint64_t k = 1;; k++) {
        mem_fail_at(k, true);
        sabok_squad *squad = sabok_squad_open(path, &err);
        mem_fail_at(0, false);
        sabok_squad_close(squad);
        if (squad) break;
        assert_int_equal(err.code, SABOK_ENOMEM);
        assert_true(k < 500);
    }
    assert_int_equal(mem_live(), live);
    crafted_remove(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_questions), cmocka_unit_test(test_errors),
                                       cmocka_unit_test(test_damage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
