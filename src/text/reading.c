#include "text/tokenizer.h"

bool object_type(struct json *j, struct json_text *type, size_t *at) {
    *type = (struct json_text){0};
    json_peek(j); // moves over blanks, so that errors point at the object
    *at = j->at;
    struct json ahead = *j;
    struct json_text key;
    if (!json_object_begin(&ahead)) {
        j->failed = true;
        return false;
    }
    while (json_key(&ahead, &key)) {
        if (json_text_is(key, "type")) {
            json_peek(&ahead);
            *at = ahead.at;
            if (json_string(&ahead, type)) return true;
            break;
        }
        if (!json_skip(&ahead)) break;
    }
    if (ahead.failed) j->failed = true;
    return !j->failed;
}

bool read_memory(struct json *j) {
    if (!j->failed) error_memory(j->err, j->where);
    j->failed = true;
    return false;
}
