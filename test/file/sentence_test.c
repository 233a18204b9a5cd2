// sentence-transformers folders: every spelling that its versions write, and folders that must be refused.
#include "file/crafted.h"

#define MODULE(path, type) "{\"idx\":0,\"name\":\"0\",\"path\":\"" path "\",\"type\":\"" type "\"}"
#define OLD "sentence_transformers.models."

static const char *folder_of(const char *modules, const char *pooling) {
    const char *folder = crafted_folder();
    crafted_text(folder, "modules.json", modules);
    mkdir(crafted_path(folder, "1_Pooling"), 0700);
    mkdir(crafted_path(folder, "2_Dense"), 0700);
    crafted_text(folder, "1_Pooling/config.json", pooling);
    return folder;
}

static const char two[] = "[" MODULE("", OLD "Transformer") "," MODULE("1_Pooling", OLD "Pooling") "]";
static const char three[] = "[" MODULE("", OLD "Transformer") "," MODULE(
    "1_Pooling", OLD "Pooling") "," MODULE("2_Dense", OLD "Dense") "]";

static struct sentence_folder good(const char *folder) {
    struct sentence_folder s;
    sabok_error err = {0};
    if (sentence_open(&s, folder, &err) != SABOK_OK) fail_msg("%s", err.message);
    return s;
}

static void refused(const char *folder, sabok_status code, const char *message) {
    struct sentence_folder s;
    sabok_error err = {0};
    int64_t live = mem_live();
    if (sentence_open(&s, folder, &err) == SABOK_OK)
        fail_msg("opened a bad folder, expected \"%s\"", message);
    assert_contains(err.message, message);
    assert_int_equal(err.code, code);
    assert_int_equal(mem_live(), live);
    assert_int_not_equal(sentence_open(&s, folder, NULL), SABOK_OK);
}

static void test_no_modules(void **state) {
    (void)state;
    const char *folder = crafted_folder();
    struct sentence_folder s = good(folder);
    assert_int_equal(s.count, 2);
    assert_int_equal(s.modules[1].pooling, POOLING_MEAN);
    assert_true(s.modules[1].include_prompt && !s.sentence_transformers);
    assert_string_equal(s.transformer, folder);
    assert_int_equal(s.max_seq_length, 0);
    sentence_close(&s);
    crafted_text(folder, "tokenizer_config.json", "{\"model_max_length\":512}");
    s = good(folder);
    assert_int_equal(s.max_seq_length, 512);
    sentence_close(&s);
    crafted_text(folder, "tokenizer_config.json", "{\"model_max_length\":1000000000000000019884624838656}");
    s = good(folder);
    assert_int_equal(s.max_seq_length, 0);
    sentence_close(&s);
    crafted_remove(folder);
    refused(folder, SABOK_ENOTFOUND, "expected a model folder");
}

static void test_module_paths_of_versions(void **state) {
    (void)state;
    static const char *const types[][2] = {
        {OLD "Transformer", OLD "Pooling"},
        {OLD "Transformer.Transformer", OLD "Pooling.Pooling"},
        {"sentence_transformers.base.modules.transformer.Transformer",
         "sentence_transformers.sentence_transformer.modules.pooling.Pooling"},
        {"sentence_transformers.sentence_transformer.modules.Transformer",
         "sentence_transformers.sentence_transformer.modules.Pooling"},
    };
    char modules[600];
    for (size_t i = 0; i < COUNT(types); i++) {
        snprintf(
            modules, sizeof modules,
            "[{\"path\":\"0_Transformer\",\"type\":\"%s\",\"kwargs\":[\"task\"]},{\"path\":\"1_Pooling\","
            "\"type\":\"%s\"},{\"path\":\"2_Normalize\",\"type\":\"sentence_transformers.base.modules."
            "normalize.Normalize\"}]",
            types[i][0], types[i][1]);
        const char *folder = folder_of(modules, "{\"embedding_dimension\":8}");
        struct sentence_folder s = good(folder);
        assert_int_equal(s.count, 3);
        assert_int_equal(s.modules[2].kind, MODULE_NORMALIZE);
        assert_string_equal(s.transformer, crafted_path(folder, "0_Transformer"));
        assert_int_equal(s.modules[1].in_features, 8);
        sentence_close(&s);
        crafted_remove(folder);
    }
}

static void test_modules_refused(void **state) {
    (void)state;
    static const struct {
        const char *modules, *message;
        sabok_status code;
    } bad[] = {
        {"{}", "expected an array", SABOK_EFORMAT},
        {"[]", "found 0 modules", SABOK_EFORMAT},
        {"[1]", "expected an object", SABOK_EFORMAT},
        {"[" MODULE("", OLD "Transformer") "]", "found 1 modules", SABOK_EFORMAT},
        {"[" MODULE("", OLD "Transformer") "," MODULE("1_Pooling", OLD "Pooling") "]]", "expected",
         SABOK_EFORMAT},
        {"[" MODULE("", OLD "CLIPModel") "]", "found the module type '" OLD "CLIPModel'", SABOK_EUNSUPPORTED},
        {"[" MODULE("", "custom_st.Transformer") "]", "module type 'custom_st.Transformer'",
         SABOK_EUNSUPPORTED},
        {"[" MODULE("", OLD "Transformer") "," MODULE("1", OLD "LSTM") "]", "LSTM", SABOK_EUNSUPPORTED},
        {"[" MODULE("", "Transformer") "]", "'Transformer'", SABOK_EUNSUPPORTED},
        {"[" MODULE("", "sentence_transformers.") "]", "module type", SABOK_EUNSUPPORTED},
        {"[" MODULE("1", OLD "Pooling") "]", "found a Pooling module at place 1", SABOK_EFORMAT},
        {"[" MODULE("", OLD "Transformer") "," MODULE("1", OLD "Normalize") "]",
         "at place 2, expected Pooling", SABOK_EFORMAT},
        {"[" MODULE("", OLD "Transformer") "," MODULE("1", OLD "Pooling") "," MODULE("1", OLD "Pooling") "]",
         "at place 3, expected Dense", SABOK_EFORMAT},
        {"[{\"path\":\"\"}]", "without 'type'", SABOK_EFORMAT},
        {"[{\"type\":\"" OLD "Transformer\"}]", "without 'path'", SABOK_EFORMAT},
        {"[{\"path\":\"\",\"path\":\"x\"}]", "'path' twice", SABOK_EFORMAT},
        {"[{\"type\":\"" OLD "Transformer\",\"type\":\"" OLD "Pooling\"}]", "'type' twice", SABOK_EFORMAT},
        {"[" MODULE("../x", OLD "Transformer") "]", "path '../x', expected a relative path", SABOK_EFORMAT},
        {"[" MODULE("a/../../x", OLD "Transformer") "]", "expected a relative path", SABOK_EFORMAT},
        {"[" MODULE("a/..", OLD "Transformer") "]", "expected a relative path", SABOK_EFORMAT},
        {"[" MODULE("/etc", OLD "Transformer") "]", "expected a relative path", SABOK_EFORMAT},
        {"[" MODULE("a\\\\b", OLD "Transformer") "]", "expected a relative path", SABOK_EFORMAT},
        {"[" MODULE("a\\u0000", OLD "Transformer") "]", "expected a relative path", SABOK_EFORMAT},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        const char *folder = folder_of(bad[i].modules, "{}");
        refused(folder, bad[i].code, bad[i].message);
        crafted_remove(folder);
    }
    const char *folder =
        folder_of("[" MODULE("..a", OLD "Transformer") "," MODULE("1_Pooling", OLD "Pooling") "]", "{}");
    struct sentence_folder s = good(folder); // two dots that are not a way up
    sentence_close(&s);
    unlink(crafted_path(folder, "1_Pooling/config.json"));
    refused(folder, SABOK_ENOTFOUND, "1_Pooling/config.json");
    crafted_remove(folder);
}

static void test_pooling_spellings(void **state) {
    (void)state;
    static const struct {
        const char *config;
        unsigned pooling;
    } cases[] = {
        {"{\"word_embedding_dimension\":8,\"pooling_mode_cls_token\":true,\"pooling_mode_mean_tokens\":"
         "false}",
         POOLING_CLS},
        {"{\"pooling_mode_cls_token\":true,\"pooling_mode_max_tokens\":true,\"pooling_mode_mean_tokens\":"
         "true,"
         "\"pooling_mode_mean_sqrt_len_tokens\":true,\"pooling_mode_weightedmean_tokens\":true,"
         "\"pooling_mode_lasttoken\":true}",
         63},
        {"{\"pooling_mode_mean_tokens\":false}",
         POOLING_MEAN}, // nothing is on: the mean, as the reference does
        {"{}", POOLING_MEAN},
        {"{\"pooling_mode\":\"lasttoken\"}", POOLING_LASTTOKEN},
        {"{\"pooling_mode\":\"mean_sqrt_len_tokens\",\"pooling_mode_cls_token\":true}",
         POOLING_MEAN_SQRT_LEN},
        {"{\"pooling_mode\":[\"cls\",\"mean\"]}", POOLING_CLS | POOLING_MEAN},
        {"{\"pooling_mode\":[\"weightedmean\"],\"include_prompt\":false}", POOLING_WEIGHTEDMEAN},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *folder = folder_of(two, cases[i].config);
        struct sentence_folder s = good(folder);
        assert_int_equal(s.modules[1].pooling, cases[i].pooling);
        assert_int_equal(s.modules[1].include_prompt, !strstr(cases[i].config, "include_prompt"));
        sentence_close(&s);
        crafted_remove(folder);
    }
    static const struct {
        const char *config, *message;
        sabok_status code;
    } bad[] = {
        {"{\"pooling_mode\":\"median\"}", "found 'median', expected cls, max, mean", SABOK_EUNSUPPORTED},
        {"{\"pooling_mode\":[\"mean\",\"cls\"]}", "found 'cls' out of order", SABOK_EUNSUPPORTED},
        {"{\"pooling_mode\":[\"mean\",\"mean\"]}", "out of order", SABOK_EUNSUPPORTED},
        {"{\"pooling_mode\":[]}", "found [], expected a mode", SABOK_EFORMAT},
        {"{\"pooling_mode\":3}", "found 3, expected a string", SABOK_EFORMAT},
        {"{\"pooling_mode_cls_token\":1}", "expected true or false", SABOK_EFORMAT},
        {"{\"word_embedding_dimension\":0}", "found 0, expected an integer from 1", SABOK_EFORMAT},
        {"{\"embedding_dimension\":-3}", "found -3", SABOK_EFORMAT},
        {"{\"include_prompt\":\"no\"}", "expected true or false", SABOK_EFORMAT},
        {"[]", "expected an object", SABOK_EFORMAT},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        const char *folder = folder_of(two, bad[i].config);
        refused(folder, bad[i].code, bad[i].message);
        crafted_remove(folder);
    }
}

static void write_dense(const char *folder, const char *config, bool bias) {
    crafted_text(folder, "2_Dense/config.json", config);
    crafted_shard(folder, "2_Dense/model.safetensors",
                  bias ? "{\"linear.weight\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[0,24]},"
                         "\"linear.bias\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[24,36]}}"
                       : "{\"linear.weight\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[0,24]}}",
                  bias ? 36 : 24);
}

static void test_dense(void **state) {
    (void)state;
    const char *folder = folder_of(three, "{}");
    write_dense(folder,
                "{\"in_features\":2,\"out_features\":3,\"bias\":true,\"activation_function\":"
                "\"torch.nn.modules.activation.GELU\",\"module_input_name\":\"sentence_embedding\"}",
                true);
    struct sentence_folder s = good(folder);
    assert_int_equal(s.modules[2].out_features, 3);
    assert_string_equal(s.modules[2].activation, "gelu");
    assert_true(s.modules[2].bias);
    assert_non_null(store_find(s.modules[2].store, "linear.weight"));
    sentence_close(&s);
    write_dense(folder, "{\"in_features\":2,\"out_features\":3,\"bias\":false}", false);
    s = good(folder);
    assert_string_equal(s.modules[2].activation, "tanh");
    sentence_close(&s);
    static const struct {
        const char *config, *message;
        sabok_status code;
    } bad[] = {
        {"{\"in_features\":2,\"out_features\":3}", "found no tensor 'linear.bias'", SABOK_ENOTFOUND},
        {"{\"in_features\":3,\"out_features\":3,\"bias\":false}", "found [3, 2], expected [3, 3]",
         SABOK_ESHAPE},
        {"{\"in_features\":2,\"bias\":false}", "found no \"out_features\"", SABOK_EFORMAT},
        {"{\"out_features\":2,\"bias\":false}", "found no \"in_features\"", SABOK_EFORMAT},
        {"{\"in_features\":2,\"out_features\":1048577}", "found 1048577, expected an integer", SABOK_EFORMAT},
        {"{\"in_features\":2,\"out_features\":3,\"use_residual\":true}", "use_residual", SABOK_EUNSUPPORTED},
        {"{\"in_features\":2,\"out_features\":3,\"module_input_name\":\"token_embeddings\"}",
         "found 'token_embeddings', expected 'sentence_embedding'", SABOK_EUNSUPPORTED},
        {"{\"in_features\":2,\"out_features\":3,\"activation_function\":\"os.system\"}", "found 'os.system'",
         SABOK_EUNSUPPORTED},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        write_dense(folder, bad[i].config, false);
        refused(folder, bad[i].code, bad[i].message);
    }
    crafted_remove(folder);
}

static void test_settings(void **state) {
    (void)state;
    const char *folder = folder_of(two, "{}");
    crafted_text(folder, "sentence_bert_config.json", "{\"max_seq_length\":256,\"do_lower_case\":true}");
    crafted_text(folder, "tokenizer_config.json", "{\"model_max_length\":128}"); // bugs 46: 256 wins
    crafted_text(folder, "config_sentence_transformers.json",
                 "{\"prompts\":{\"query\":\"q: \",\"document\":null},\"default_prompt_name\":\"query\","
                 "\"similarity_fn_name\":\"dot\",\"__version__\":{\"pytorch\":\"2\"}}");
    struct sentence_folder s = good(folder);
    assert_int_equal(s.max_seq_length, 256);
    assert_true(s.lower_case && s.sentence_transformers);
    assert_int_equal(s.prompt_count, 2);
    assert_string_equal(s.prompt_names[1], "document");
    assert_string_equal(s.prompts[1], "");
    assert_string_equal(s.default_prompt, "q: ");
    assert_string_equal(s.similarity, "dot");
    sentence_close(&s);
    static const struct {
        const char *file, *text, *message;
        sabok_status code;
    } bad[] = {
        {"config_sentence_transformers.json", "{\"default_prompt_name\":\"x\"}",
         "found 'x', expected a key of", SABOK_EFORMAT},
        {"config_sentence_transformers.json", "{\"prompts\":{\"a\":1}}", "\"a\": found 1, expected a string",
         SABOK_EFORMAT},
        {"config_sentence_transformers.json", "{\"prompts\":[]}", "expected an object", SABOK_EFORMAT},
        {"config_sentence_transformers.json", "{\"similarity_fn_name\":\"jaccard\"}", "found 'jaccard'",
         SABOK_EUNSUPPORTED},
        {"sentence_bert_config.json", "{\"max_seq_length\":0}", "found 0, expected an integer from 1",
         SABOK_EFORMAT},
        {"sentence_bert_config.json", "{\"max_seq_length\":\"256\"}", "found \"256\"", SABOK_EFORMAT},
        {"sentence_bert_config.json", "{\"transformer_task\":\"fill-mask\"}", "found 'fill-mask'",
         SABOK_EUNSUPPORTED},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct crafted old = crafted_read(crafted_path(folder, bad[i].file));
        crafted_text(folder, bad[i].file, bad[i].text);
        refused(folder, bad[i].code, bad[i].message);
        crafted_write(folder, bad[i].file, old.data, old.size);
        crafted_free(&old);
    }
    // The names that older versions wrote for other families.
    unlink(crafted_path(folder, "sentence_bert_config.json"));
    crafted_text(folder, "sentence_roberta_config.json", "{\"max_seq_length\":77}");
    s = good(folder);
    assert_int_equal(s.max_seq_length, 77);
    sentence_close(&s);
    crafted_remove(folder);
}

// What sentence-transformers 5 and later save of a cross-encoder.
static void test_cross_encoder(void **state) {
    (void)state;
    const char *folder = crafted_folder();
    crafted_text(folder, "modules.json",
                 "[" MODULE("", "sentence_transformers.base.modules.transformer.Transformer") "]");
    crafted_text(folder, "sentence_bert_config.json", "{\"transformer_task\":\"sequence-classification\"}");
    crafted_text(folder, "config_sentence_transformers.json",
                 "{\"activation_fn\":\"torch.nn.modules.activation.Tanh\"}");
    struct sentence_folder s = good(folder);
    assert_true(s.cross_encoder);
    assert_int_equal(s.count, 2);
    assert_int_equal(s.modules[1].pooling, POOLING_MEAN);
    assert_string_equal(s.rank_activation, "torch.nn.modules.activation.Tanh");
    sentence_close(&s);
    crafted_text(folder, "modules.json", two);
    mkdir(crafted_path(folder, "1_Pooling"), 0700);
    crafted_text(folder, "1_Pooling/config.json", "{}");
    refused(folder, SABOK_EFORMAT, "found 2 modules, expected the Transformer alone");
    crafted_remove(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_modules),      cmocka_unit_test(test_module_paths_of_versions),
        cmocka_unit_test(test_modules_refused), cmocka_unit_test(test_pooling_spellings),
        cmocka_unit_test(test_dense),           cmocka_unit_test(test_settings),
        cmocka_unit_test(test_cross_encoder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
