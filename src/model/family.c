// The list of families, and the words of config.json that all of them share.
#include "model/model.h"

#include <string.h>

extern const struct model_family bert_family, roberta_family, xlm_roberta_family, camembert_family,
    electra_family, distilbert_family, albert_family, mpnet_family;

static const struct model_family *const family_list[] = {
    &bert_family,    &roberta_family,    &xlm_roberta_family, &camembert_family,
    &electra_family, &distilbert_family, &albert_family,      &mpnet_family,
};

static sabok_status family_unknown(const struct config *c, const char *found, sabok_error *err) {
    char names[512] = "";
    for (size_t i = 0; i < COUNT(family_list); i++) {
        strncat(names, i ? ", " : "", sizeof names - strlen(names) - 1);
        strncat(names, family_list[i]->model_type, sizeof names - strlen(names) - 1);
    }
    if (!found)
        return error_set(err, SABOK_EUNSUPPORTED, config_where(c), "no model_type; supported: %s", names);
    return error_set(err, SABOK_EUNSUPPORTED, config_where(c), "model_type is \"%s\"; supported: %s", found,
                     names);
}

sabok_status family_find(const struct config *c, const struct model_family **out, sabok_error *err) {
    const char *type = NULL;
    TRY(config_string(c, "model_type", &type, err));
    for (size_t i = 0; type && i < COUNT(family_list); i++)
        if (strcmp(family_list[i]->model_type, type) == 0) {
            *out = family_list[i];
            return SABOK_OK;
        }
    return family_unknown(c, type, err);
}

static const struct {
    const char *name;
    enum act act;
} act_names[] = {
    {"gelu", ACT_GELU},           {"gelu_new", ACT_GELU_TANH},    {"gelu_pytorch_tanh", ACT_GELU_TANH},
    {"gelu_fast", ACT_GELU_TANH}, {"quick_gelu", ACT_QUICK_GELU}, {"relu", ACT_RELU},
    {"tanh", ACT_TANH},           {"sigmoid", ACT_SIGMOID},       {"silu", ACT_SILU},
    {"swish", ACT_SILU},          {"identity", ACT_NONE},         {"linear", ACT_NONE},
};

sabok_status act_find(const char *name, const char *where, enum act *out, sabok_error *err) {
    char names[512] = "";
    for (size_t i = 0; i < COUNT(act_names); i++) {
        if (strcmp(act_names[i].name, name) == 0) {
            *out = act_names[i].act;
            return SABOK_OK;
        }
        strncat(names, i ? ", " : "", sizeof names - strlen(names) - 1);
        strncat(names, act_names[i].name, sizeof names - strlen(names) - 1);
    }
    return error_set(err, SABOK_EUNSUPPORTED, where, "activation \"%s\"; supported: %s", name, names);
}

sabok_status config_act(const struct config *c, const char *key, enum act *out, sabok_error *err) {
    const char *name = NULL;
    TRY(config_string(c, key, &name, err));
    return name ? act_find(name, config_where(c), out, err) : SABOK_OK;
}
