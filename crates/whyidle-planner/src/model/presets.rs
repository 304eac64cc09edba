//! Named models: their published configurations, as far as sizes go.

use super::{Model, from_config};
use crate::PlanError;

/// Name and configuration.
#[rustfmt::skip]
pub(crate) const PRESETS: &[(&str, &str)] = &[
    ("llama-2-7b", r#"{"model_type":"llama","vocab_size":32000,"hidden_size":4096,"intermediate_size":11008,"num_hidden_layers":32,"num_attention_heads":32,"max_position_embeddings":4096}"#),
    ("llama-2-13b", r#"{"model_type":"llama","vocab_size":32000,"hidden_size":5120,"intermediate_size":13824,"num_hidden_layers":40,"num_attention_heads":40,"max_position_embeddings":4096}"#),
    ("llama-2-70b", r#"{"model_type":"llama","vocab_size":32000,"hidden_size":8192,"intermediate_size":28672,"num_hidden_layers":80,"num_attention_heads":64,"num_key_value_heads":8,"max_position_embeddings":4096}"#),
    ("llama-3-8b", r#"{"model_type":"llama","vocab_size":128256,"hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"max_position_embeddings":8192}"#),
    ("llama-3-70b", r#"{"model_type":"llama","vocab_size":128256,"hidden_size":8192,"intermediate_size":28672,"num_hidden_layers":80,"num_attention_heads":64,"num_key_value_heads":8,"max_position_embeddings":8192}"#),
    ("llama-3.1-405b", r#"{"model_type":"llama","vocab_size":128256,"hidden_size":16384,"intermediate_size":53248,"num_hidden_layers":126,"num_attention_heads":128,"num_key_value_heads":8,"max_position_embeddings":131072}"#),
    ("llama-3.2-1b", r#"{"model_type":"llama","vocab_size":128256,"hidden_size":2048,"intermediate_size":8192,"num_hidden_layers":16,"num_attention_heads":32,"num_key_value_heads":8,"head_dim":64,"max_position_embeddings":131072,"tie_word_embeddings":true}"#),
    ("llama-3.2-3b", r#"{"model_type":"llama","vocab_size":128256,"hidden_size":3072,"intermediate_size":8192,"num_hidden_layers":28,"num_attention_heads":24,"num_key_value_heads":8,"head_dim":128,"max_position_embeddings":131072,"tie_word_embeddings":true}"#),
    ("mistral-7b", r#"{"model_type":"mistral","vocab_size":32000,"hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"max_position_embeddings":32768}"#),
    ("qwen2-0.5b", r#"{"model_type":"qwen2","vocab_size":151936,"hidden_size":896,"intermediate_size":4864,"num_hidden_layers":24,"num_attention_heads":14,"num_key_value_heads":2,"max_position_embeddings":32768,"tie_word_embeddings":true}"#),
    ("qwen2.5-7b", r#"{"model_type":"qwen2","vocab_size":152064,"hidden_size":3584,"intermediate_size":18944,"num_hidden_layers":28,"num_attention_heads":28,"num_key_value_heads":4,"max_position_embeddings":32768}"#),
    ("qwen2.5-72b", r#"{"model_type":"qwen2","vocab_size":152064,"hidden_size":8192,"intermediate_size":29568,"num_hidden_layers":80,"num_attention_heads":64,"num_key_value_heads":8,"max_position_embeddings":32768}"#),
    ("qwen3-0.6b", r#"{"model_type":"qwen3","vocab_size":151936,"hidden_size":1024,"intermediate_size":3072,"num_hidden_layers":28,"num_attention_heads":16,"num_key_value_heads":8,"head_dim":128,"max_position_embeddings":40960,"tie_word_embeddings":true}"#),
    ("qwen3-8b", r#"{"model_type":"qwen3","vocab_size":151936,"hidden_size":4096,"intermediate_size":12288,"num_hidden_layers":36,"num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,"max_position_embeddings":40960}"#),
    ("qwen3-32b", r#"{"model_type":"qwen3","vocab_size":151936,"hidden_size":5120,"intermediate_size":25600,"num_hidden_layers":64,"num_attention_heads":64,"num_key_value_heads":8,"head_dim":128,"max_position_embeddings":40960}"#),
    ("qwen3-30b-a3b", r#"{"model_type":"qwen3_moe","vocab_size":151936,"hidden_size":2048,"intermediate_size":6144,"num_hidden_layers":48,"num_attention_heads":32,"num_key_value_heads":4,"head_dim":128,"num_experts":128,"num_experts_per_tok":8,"moe_intermediate_size":768,"max_position_embeddings":40960}"#),
    ("qwen1.5-moe-a2.7b", r#"{"model_type":"qwen2_moe","vocab_size":151936,"hidden_size":2048,"intermediate_size":5632,"num_hidden_layers":24,"num_attention_heads":16,"num_key_value_heads":16,"num_experts":60,"num_experts_per_tok":4,"moe_intermediate_size":1408,"shared_expert_intermediate_size":5632,"max_position_embeddings":8192}"#),
    ("gemma-2b", r#"{"model_type":"gemma","vocab_size":256000,"hidden_size":2048,"intermediate_size":16384,"num_hidden_layers":18,"num_attention_heads":8,"num_key_value_heads":1,"head_dim":256,"max_position_embeddings":8192}"#),
    ("gemma-7b", r#"{"model_type":"gemma","vocab_size":256000,"hidden_size":3072,"intermediate_size":24576,"num_hidden_layers":28,"num_attention_heads":16,"num_key_value_heads":16,"head_dim":256,"max_position_embeddings":8192}"#),
    ("gemma-2-2b", r#"{"model_type":"gemma2","vocab_size":256000,"hidden_size":2304,"intermediate_size":9216,"num_hidden_layers":26,"num_attention_heads":8,"num_key_value_heads":4,"head_dim":256,"max_position_embeddings":8192}"#),
    ("gemma-2-9b", r#"{"model_type":"gemma2","vocab_size":256000,"hidden_size":3584,"intermediate_size":14336,"num_hidden_layers":42,"num_attention_heads":16,"num_key_value_heads":8,"head_dim":256,"max_position_embeddings":8192}"#),
    ("gemma-3-1b", r#"{"model_type":"gemma3_text","vocab_size":262144,"hidden_size":1152,"intermediate_size":6912,"num_hidden_layers":26,"num_attention_heads":4,"num_key_value_heads":1,"head_dim":256,"max_position_embeddings":32768}"#),
    ("gpt2", r#"{"model_type":"gpt2","vocab_size":50257,"n_positions":1024,"n_embd":768,"n_layer":12,"n_head":12}"#),
    ("gpt2-medium", r#"{"model_type":"gpt2","vocab_size":50257,"n_positions":1024,"n_embd":1024,"n_layer":24,"n_head":16}"#),
    ("gpt2-xl", r#"{"model_type":"gpt2","vocab_size":50257,"n_positions":1024,"n_embd":1600,"n_layer":48,"n_head":25}"#),
    ("gpt-neox-20b", r#"{"model_type":"gpt_neox","vocab_size":50432,"hidden_size":6144,"intermediate_size":24576,"num_hidden_layers":44,"num_attention_heads":64,"max_position_embeddings":2048}"#),
    ("pythia-1b", r#"{"model_type":"gpt_neox","vocab_size":50304,"hidden_size":2048,"intermediate_size":8192,"num_hidden_layers":16,"num_attention_heads":8,"max_position_embeddings":2048}"#),
    ("pythia-6.9b", r#"{"model_type":"gpt_neox","vocab_size":50432,"hidden_size":4096,"intermediate_size":16384,"num_hidden_layers":32,"num_attention_heads":32,"max_position_embeddings":2048}"#),
    ("bert-base", r#"{"model_type":"bert","vocab_size":30522,"hidden_size":768,"intermediate_size":3072,"num_hidden_layers":12,"num_attention_heads":12,"max_position_embeddings":512}"#),
    ("bert-large", r#"{"model_type":"bert","vocab_size":30522,"hidden_size":1024,"intermediate_size":4096,"num_hidden_layers":24,"num_attention_heads":16,"max_position_embeddings":512}"#),
    ("vit-base", r#"{"model_type":"vit","hidden_size":768,"intermediate_size":3072,"num_hidden_layers":12,"num_attention_heads":12,"image_size":224,"patch_size":16,"num_labels":1000}"#),
    ("vit-large", r#"{"model_type":"vit","hidden_size":1024,"intermediate_size":4096,"num_hidden_layers":24,"num_attention_heads":16,"image_size":224,"patch_size":16,"num_labels":1000}"#),
    ("t5-small", r#"{"model_type":"t5","vocab_size":32128,"d_model":512,"d_kv":64,"d_ff":2048,"num_layers":6,"num_heads":8}"#),
    ("t5-base", r#"{"model_type":"t5","vocab_size":32128,"d_model":768,"d_kv":64,"d_ff":3072,"num_layers":12,"num_heads":12}"#),
    ("t5-large", r#"{"model_type":"t5","vocab_size":32128,"d_model":1024,"d_kv":64,"d_ff":4096,"num_layers":24,"num_heads":16}"#),
    ("mixtral-8x7b", r#"{"model_type":"mixtral","vocab_size":32000,"hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"num_local_experts":8,"num_experts_per_tok":2,"max_position_embeddings":32768}"#),
    ("deepseek-v2-lite", r#"{"model_type":"deepseek_v2","vocab_size":102400,"hidden_size":2048,"intermediate_size":10944,"num_hidden_layers":27,"num_attention_heads":16,"kv_lora_rank":512,"q_lora_rank":null,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"n_routed_experts":64,"n_shared_experts":2,"num_experts_per_tok":6,"moe_intermediate_size":1408,"first_k_dense_replace":1,"max_position_embeddings":163840}"#),
    ("deepseek-v2", r#"{"model_type":"deepseek_v2","vocab_size":102400,"hidden_size":5120,"intermediate_size":12288,"num_hidden_layers":60,"num_attention_heads":128,"kv_lora_rank":512,"q_lora_rank":1536,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"n_routed_experts":160,"n_shared_experts":2,"num_experts_per_tok":6,"moe_intermediate_size":1536,"first_k_dense_replace":1,"max_position_embeddings":163840}"#),
    ("deepseek-v3", r#"{"model_type":"deepseek_v3","vocab_size":129280,"hidden_size":7168,"intermediate_size":18432,"num_hidden_layers":61,"num_attention_heads":128,"kv_lora_rank":512,"q_lora_rank":1536,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"n_routed_experts":256,"n_shared_experts":1,"num_experts_per_tok":8,"moe_intermediate_size":2048,"first_k_dense_replace":3,"max_position_embeddings":163840}"#),
];

/// The model called `name`, without regard to case.
///
/// # Errors
/// If there is no such preset; the error names the closest ones.
pub fn preset(name: &str) -> Result<Model, PlanError> {
    let wanted = name.to_ascii_lowercase();
    let (found, config) = PRESETS.iter().find(|(known, _)| *known == wanted).ok_or_else(|| {
        let stem: String = wanted.chars().take_while(char::is_ascii_alphabetic).collect();
        let alike: Vec<_> = PRESETS
            .iter()
            .map(|(known, _)| *known)
            .filter(|known| !stem.is_empty() && known.starts_with(&stem))
            .collect();
        let known = if alike.is_empty() { PRESETS.iter().map(|(known, _)| *known).collect() } else { alike };
        PlanError::new("plan-error-unknown-model").with("model", name).with("known", known.join(", "))
    })?;
    let mut model = from_config(config)?;
    model.name = (*found).to_owned();
    Ok(model)
}
