//! A model from the `config.json` that Hugging Face transformers writes.

use serde_json::{Map, Value};

use super::{Act, Attention, Family, Head, Mla, Model, Moe, Pattern, shared_width};
use crate::PlanError;

/// The `model_type`s that are understood.
pub(crate) const KNOWN: &[&str] = &[
    "llama",
    "mistral",
    "qwen2",
    "qwen3",
    "gemma",
    "gemma2",
    "gemma3_text",
    "gpt2",
    "gpt_neox",
    "bert",
    "vit",
    "t5",
    "mixtral",
    "qwen2_moe",
    "qwen3_moe",
    "deepseek_v2",
    "deepseek_v3",
];

/// Reads a `config.json`.
///
/// # Errors
/// If the text is no JSON object, the architecture is unknown, or a size is missing.
pub fn from_config(text: &str) -> Result<Model, PlanError> {
    let value: Value =
        serde_json::from_str(text).map_err(|_| PlanError::new("plan-error-config-not-json"))?;
    let fields = value.as_object().ok_or_else(|| PlanError::new("plan-error-config-not-json"))?;
    let kind = fields.get("model_type").and_then(Value::as_str).unwrap_or_default();
    // Multimodal configurations keep the language model in a part of their own.
    if !KNOWN.contains(&kind)
        && let Some(inner) = fields.get("text_config").filter(|inner| inner.is_object())
    {
        return from_config(&inner.to_string());
    }
    let config = Config { fields, kind };
    let model = match kind {
        "llama" | "mistral" | "qwen2" | "qwen3" | "gemma" | "gemma2" | "gemma3_text" | "mixtral"
        | "qwen2_moe" | "qwen3_moe" => config.llama()?,
        "gpt2" => config.gpt2()?,
        "gpt_neox" => config.neox()?,
        "bert" => config.bert()?,
        "vit" => config.vit()?,
        "t5" => config.t5()?,
        "deepseek_v2" | "deepseek_v3" => config.deepseek()?,
        _ => {
            let named = if kind.is_empty() { "–" } else { kind };
            return Err(PlanError::new("plan-error-unknown-architecture")
                .with("architecture", named)
                .with("known", KNOWN.join(", ")));
        }
    };
    model.check()?;
    Ok(model)
}

struct Config<'a> {
    fields: &'a Map<String, Value>,
    kind: &'a str,
}

impl Config<'_> {
    fn number(&self, name: &str) -> Option<u64> {
        // Larger figures are slips, and their products are no numbers.
        self.fields.get(name).and_then(Value::as_u64).filter(|&number| number <= 1 << 21)
    }

    fn need(&self, name: &'static str) -> Result<u64, PlanError> {
        self.number(name).ok_or_else(|| {
            PlanError::new("plan-error-config-missing").with("name", name).with("architecture", self.kind)
        })
    }

    fn flag(&self, name: &str, default: bool) -> bool {
        self.fields.get(name).and_then(Value::as_bool).unwrap_or(default)
    }

    fn fraction(&self, name: &str, default: f64) -> f64 {
        self.fields.get(name).and_then(Value::as_f64).unwrap_or(default)
    }

    /// Fields that most architectures share, with Llama's defaults.
    fn base(&self, family: Family) -> Result<Model, PlanError> {
        let (hidden, heads) = (self.need("hidden_size")?, self.need("num_attention_heads")?);
        let head_dim = match self.number("head_dim") {
            Some(width) => width,
            None => shared_width(hidden, heads)?,
        };
        Ok(Model {
            name: self.kind.to_owned(),
            family,
            layers: self.need("num_hidden_layers")?,
            decoder_layers: 0,
            hidden,
            ffn: self.number("intermediate_size").unwrap_or(4 * hidden),
            gated: true,
            act: Act::Fused,
            mlp_bias: self.flag("mlp_bias", false),
            vocab: self.number("vocab_size").unwrap_or(0),
            positions: 0,
            max_seq: self.number("max_position_embeddings").unwrap_or(0),
            extra_embeddings: 0,
            tied: self.flag("tie_word_embeddings", false),
            dropout: false,
            attention: Attention {
                heads,
                kv_heads: self.number("num_key_value_heads").unwrap_or(heads),
                head_dim,
                qkv_bias: self.flag("attention_bias", false),
                out_bias: self.flag("attention_bias", false),
                qk_norm: false,
                mla: None,
            },
            norm_bias: false,
            moe: None,
            softcap: false,
            head: Head::Lm,
        })
    }

    fn llama(&self) -> Result<Model, PlanError> {
        let mut model = self.base(Family::Llama)?;
        self.need("vocab_size")?;
        self.need("intermediate_size")?;
        match self.kind {
            "qwen2" | "qwen2_moe" => {
                model.attention.qkv_bias = self.flag("qkv_bias", true);
                model.attention.out_bias = false;
            }
            "qwen3" | "qwen3_moe" => model.attention.qk_norm = true,
            "gemma" | "gemma2" | "gemma3_text" => {
                model.tied = self.flag("tie_word_embeddings", true);
                model.attention.head_dim = self.number("head_dim").unwrap_or(256);
                model.attention.qk_norm = self.kind == "gemma3_text";
                model.softcap = self.kind == "gemma2"
                    && self.fields.get("final_logit_softcapping").is_none_or(|cap| !cap.is_null());
                if self.kind != "gemma" {
                    model.family = Family::Gemma2;
                }
            }
            _ => {}
        }
        if self.kind == "mixtral" {
            let experts = self.number("num_local_experts").unwrap_or(8);
            model.moe = Some(Moe {
                experts,
                top_k: self.number("num_experts_per_tok").unwrap_or(2),
                ffn: model.ffn,
                shared_ffn: 0,
                shared_gate: false,
                pattern: Pattern { dense_first: 0, every: 1 },
            });
        }
        if matches!(self.kind, "qwen2_moe" | "qwen3_moe") {
            let shared = self.kind == "qwen2_moe";
            model.moe = Some(Moe {
                experts: self.need("num_experts")?,
                top_k: self.need("num_experts_per_tok")?,
                ffn: self.need("moe_intermediate_size")?,
                shared_ffn: if shared { self.need("shared_expert_intermediate_size")? } else { 0 },
                shared_gate: shared,
                pattern: Pattern { dense_first: 0, every: self.number("decoder_sparse_step").unwrap_or(1) },
            });
        }
        Ok(model)
    }

    fn deepseek(&self) -> Result<Model, PlanError> {
        let mut model = self.base(Family::DeepSeek)?;
        let (nope, rope) = (self.need("qk_nope_head_dim")?, self.need("qk_rope_head_dim")?);
        model.attention.mla = Some(Mla {
            q_rank: self.number("q_lora_rank"),
            kv_rank: self.need("kv_lora_rank")?,
            nope,
            rope,
            v: self.need("v_head_dim")?,
        });
        model.attention.head_dim = nope + rope;
        model.attention.kv_heads = model.attention.heads;
        if let Some(experts) = self.number("n_routed_experts") {
            let ffn = self.need("moe_intermediate_size")?;
            model.moe = Some(Moe {
                experts,
                top_k: self.need("num_experts_per_tok")?,
                ffn,
                shared_ffn: self.number("n_shared_experts").unwrap_or(0) * ffn,
                shared_gate: false,
                pattern: Pattern {
                    dense_first: self.number("first_k_dense_replace").unwrap_or(0),
                    every: self.number("moe_layer_freq").unwrap_or(1),
                },
            });
        }
        Ok(model)
    }

    fn gpt2(&self) -> Result<Model, PlanError> {
        let (hidden, heads) = (self.need("n_embd")?, self.need("n_head")?);
        let head_dim = shared_width(hidden, heads)?;
        let positions = self.need("n_positions")?;
        let act = self.fields.get("activation_function").and_then(Value::as_str).unwrap_or("gelu_new");
        Ok(Model {
            name: "gpt2".to_owned(),
            family: Family::Gpt,
            layers: self.need("n_layer")?,
            decoder_layers: 0,
            hidden,
            ffn: self.number("n_inner").unwrap_or(4 * hidden),
            gated: false,
            act: if act == "gelu_new" { Act::Written } else { Act::Fused },
            mlp_bias: true,
            vocab: self.need("vocab_size")?,
            positions,
            max_seq: positions,
            extra_embeddings: 0,
            tied: self.flag("tie_word_embeddings", true),
            dropout: self.fraction("resid_pdrop", 0.1) > 0.0,
            attention: full_attention(heads, head_dim),
            norm_bias: true,
            moe: None,
            softcap: false,
            head: Head::Lm,
        })
    }

    fn neox(&self) -> Result<Model, PlanError> {
        let mut model = self.base(Family::Neox)?;
        model.attention = full_attention(model.attention.heads, model.attention.head_dim);
        let bias = self.flag("attention_bias", true);
        (model.attention.qkv_bias, model.attention.out_bias) = (bias, bias);
        (model.gated, model.mlp_bias, model.norm_bias) = (false, true, true);
        Ok(model)
    }

    fn bert(&self) -> Result<Model, PlanError> {
        let mut model = self.base(Family::Bert)?;
        model.attention = full_attention(model.attention.heads, model.attention.head_dim);
        (model.gated, model.mlp_bias, model.norm_bias) = (false, true, true);
        model.positions = self.need("max_position_embeddings")?;
        model.extra_embeddings = self.number("type_vocab_size").unwrap_or(2);
        model.tied = self.flag("tie_word_embeddings", true);
        model.dropout = self.fraction("hidden_dropout_prob", 0.1) > 0.0;
        let bare = self.fields.get("architectures").and_then(|list| list.get(0)).and_then(Value::as_str)
            == Some("BertModel");
        model.head = if bare { Head::Bare { pooler: true } } else { Head::MaskedLm };
        Ok(model)
    }

    fn vit(&self) -> Result<Model, PlanError> {
        let mut model = self.base(Family::Vit)?;
        model.attention = full_attention(model.attention.heads, model.attention.head_dim);
        (model.gated, model.mlp_bias, model.norm_bias) = (false, true, true);
        let (image, patch) =
            (self.number("image_size").unwrap_or(224), self.number("patch_size").unwrap_or(16));
        if patch == 0 || !image.is_multiple_of(patch) {
            return Err(PlanError::new("plan-error-zero").with("name", "patch_size"));
        }
        model.vocab = self.number("num_channels").unwrap_or(3) * patch * patch;
        model.positions = (image / patch).pow(2) + 1;
        model.max_seq = model.positions;
        model.dropout = self.fraction("hidden_dropout_prob", 0.0) > 0.0;
        let labels = self.fields.get("id2label").and_then(Value::as_object).map(|labels| labels.len() as u64);
        let classes = labels.or(self.number("num_labels")).unwrap_or(2);
        model.head = Head::Classifier { classes };
        Ok(model)
    }

    fn t5(&self) -> Result<Model, PlanError> {
        let (hidden, heads) = (self.need("d_model")?, self.need("num_heads")?);
        let layers = self.need("num_layers")?;
        let gated = self
            .fields
            .get("feed_forward_proj")
            .and_then(Value::as_str)
            .is_some_and(|name| name.starts_with("gated"));
        Ok(Model {
            name: "t5".to_owned(),
            family: Family::T5,
            layers,
            decoder_layers: self.number("num_decoder_layers").unwrap_or(layers),
            hidden,
            ffn: self.need("d_ff")?,
            gated,
            act: if gated { Act::Written } else { Act::Fused },
            mlp_bias: false,
            vocab: self.need("vocab_size")?,
            positions: 0,
            max_seq: 0,
            extra_embeddings: self.number("relative_attention_num_buckets").unwrap_or(32) * heads,
            tied: self.flag("tie_word_embeddings", true),
            dropout: self.fraction("dropout_rate", 0.1) > 0.0,
            attention: Attention {
                qkv_bias: false,
                out_bias: false,
                ..full_attention(heads, self.need("d_kv")?)
            },
            norm_bias: false,
            moe: None,
            softcap: false,
            head: Head::Lm,
        })
    }
}

/// Attention with biases and without grouping.
fn full_attention(heads: u64, head_dim: u64) -> Attention {
    Attention { heads, kv_heads: heads, head_dim, qkv_bias: true, out_bias: true, qk_norm: false, mla: None }
}
