// A small tokenizer.json that uses most of what such a file can say.
#ifndef TEST_TEXT_SAMPLE_H
#define TEST_TEXT_SAMPLE_H

static const char sample_json[] =
    "{\"version\":\"1.0\",\n"
    "\"truncation\":{\"direction\":\"Right\",\"max_length\":64,\"strategy\":\"LongestFirst\",\"stride\":2},\n"
    "\"padding\":{\"strategy\":{\"Fixed\":64},\"direction\":\"Right\",\"pad_to_multiple_of\":null,\"pad_id\":"
    "0,"
    "\"pad_type_id\":0,\"pad_token\":\"[PAD]\"},\n"
    "\"added_tokens\":["
    "{\"id\":1,\"content\":\"[UNK]\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":"
    "false,"
    "\"special\":true},"
    "{\"id\":15,\"content\":\"\\u003cNEW>\",\"single_word\":true,\"lstrip\":true,\"rstrip\":true,"
    "\"normalized\":false,"
    "\"special\":false}],\n"
    "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"BertNormalizer\",\"clean_text\":true,"
    "\"handle_chinese_chars\":true,\"strip_accents\":null,\"lowercase\":true},{\"type\":\"NFKC\"},"
    "{\"type\":\"Replace\",\"pattern\":{\"String\":\"``\"},\"content\":\"\\\"\"}]},\n"
    "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\n"
    "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"[CLS]\","
    "\"type_id\":0}},"
    "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},{\"SpecialToken\":{\"id\":\"[SEP]\",\"type_id\":0}}],"
    "\"pair\":[{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},{\"SpecialToken\":{\"id\":\"[SEP]\",\"type_id\":0}"
    "},"
    "{\"Sequence\":{\"id\":\"B\",\"type_id\":1}}],\"special_tokens\":{\"[CLS]\":{\"id\":\"[CLS]\",\"ids\":[2]"
    ","
    "\"tokens\":[\"[CLS]\"]},\"[SEP]\":{\"id\":\"[SEP]\",\"ids\":[3],\"tokens\":[\"[SEP]\"]}}},\n"
    "\"decoder\":{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true},\n"
    "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##\","
    "\"max_input_chars_per_word\":20,\"vocab\":{\"[PAD]\":0,\"[UNK]\":1,\"[CLS]\":2,\"[SEP]\":3,\"a\":4,\"##"
    "a\":5,"
    "\"b\":6,\"##b\":7,\"abc\":8,\"the\":9,\"##s\":10,\"\\u00df\":11,\"\xe5\xa4\xa7\":12,\"!\":13,\"long\":"
    "14}}}\n";

static const char sample_text[] = "The ABC abs \xe5\xa4\xa7\xe5\xae\xb6! x <NEW>  a\xcc\x81\xcc\x96 "
                                  "\xff\xe3\x81 ``long'' \xea\xb0\x80 [UNK] aaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

#endif
