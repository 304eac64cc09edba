//! Parameter counts against the published ones.

use super::*;

/// Counts as the model cards, or the checkpoints' tensors, have them.
#[test]
fn counts_equal_the_published_ones() {
    for (name, published) in [
        ("llama-2-7b", 6_738_415_616_u64),
        ("llama-2-13b", 13_015_864_320),
        ("llama-2-70b", 68_976_648_192),
        ("llama-3-8b", 8_030_261_248),
        ("llama-3-70b", 70_553_706_496),
        ("llama-3.1-405b", 405_853_388_800),
        ("llama-3.2-1b", 1_235_814_400),
        ("llama-3.2-3b", 3_212_749_824),
        ("mistral-7b", 7_241_732_096),
        ("qwen2-0.5b", 494_032_768),
        ("qwen2.5-7b", 7_615_616_512),
        ("qwen2.5-72b", 72_706_203_648),
        ("qwen3-0.6b", 596_049_920),
        ("qwen3-8b", 8_190_735_360),
        ("qwen3-32b", 32_762_123_264),
        ("qwen3-30b-a3b", 30_532_122_624),
        ("qwen1.5-moe-a2.7b", 14_315_784_192),
        ("gemma-2b", 2_506_172_416),
        ("gemma-7b", 8_537_680_896),
        ("gemma-2-2b", 2_614_341_888),
        ("gemma-2-9b", 9_241_705_984),
        ("gemma-3-1b", 999_885_952),
        ("gpt2", 124_439_808),
        ("gpt2-medium", 354_823_168),
        ("gpt2-xl", 1_557_611_200),
        ("gpt-neox-20b", 20_554_567_680),
        ("pythia-1b", 1_011_781_632),
        ("pythia-6.9b", 6_857_302_016),
        ("bert-base", 109_514_298),
        ("bert-large", 335_174_458),
        ("vit-base", 86_567_656),
        ("vit-large", 304_326_632),
        ("t5-small", 60_506_624),
        ("t5-base", 222_903_552),
        ("t5-large", 737_668_096),
        ("mixtral-8x7b", 46_702_792_704),
        ("deepseek-v2-lite", 15_706_484_224),
        ("deepseek-v2", 235_741_434_880),
        ("deepseek-v3", 671_026_404_352),
    ] {
        let model = preset(name).expect("a preset");
        assert_eq!(model.parameters(), published, "{name}: {}", model.parameters() as i64 - published as i64);
    }
}

#[test]
fn experts_that_a_token_does_not_visit_are_not_active() {
    let model = preset("mixtral-8x7b").expect("a preset");
    assert_eq!(model.active_parameters(), 12_879_925_248);
    let dense = preset("llama-3-8b").expect("a preset");
    assert_eq!(dense.active_parameters(), dense.parameters());
}

#[test]
fn unknown_and_contradictory_models_are_refused_by_name() {
    let error = |text: &str| from_config(text).expect_err("an error").id;
    assert_eq!(error("[1]"), "plan-error-config-not-json");
    assert_eq!(error(r#"{"model_type":"mamba"}"#), "plan-error-unknown-architecture");
    assert_eq!(error("{}"), "plan-error-unknown-architecture");
    assert_eq!(error(r#"{"model_type":"llama","hidden_size":64}"#), "plan-error-config-missing");
    let sized = |heads: u64, kv: u64| {
        format!(
            r#"{{"model_type":"llama","vocab_size":9,"hidden_size":64,"intermediate_size":9,
                "num_hidden_layers":1,"num_attention_heads":{heads},"num_key_value_heads":{kv}}}"#
        )
    };
    assert_eq!(error(&sized(7, 7)), "plan-error-heads-hidden");
    assert_eq!(error(&sized(8, 3)), "plan-error-kv-heads");
    assert_eq!(error(&sized(8, 0)), "plan-error-zero");
    let error = preset("llama-9").expect_err("an error");
    assert!(
        error.args.iter().any(|(name, known)| *name == "known" && known.to_string().contains("llama-3-8b"))
    );
}

/// Figures that no model has are refused, whatever they would multiply to.
#[test]
fn slips_of_size_are_refused() {
    let most = (1_u64 << 21).to_string();
    let moe = |top_k: &str, size: &str| {
        from_config(&format!(
            r#"{{"model_type":"mixtral","hidden_size":{size},"num_attention_heads":32,"num_hidden_layers":{size},
            "vocab_size":{size},"intermediate_size":{size},"num_experts_per_tok":{top_k},"num_local_experts":{size}}}"#
        ))
    };
    assert_eq!(moe("2", &most).expect_err("too large").id, "plan-error-too-many-parameters");
    assert_eq!(moe("65", "64").expect_err("more than there are").id, "plan-error-experts");
    assert_eq!(moe("0", "64").expect_err("none").id, "plan-error-experts");
    assert!(moe("2", "64").is_ok());
    let heads = |heads: u64| {
        from_config(&format!(
            r#"{{"model_type":"gpt2","n_embd":768,"n_head":{heads},"n_layer":12,"n_positions":1024,"vocab_size":5}}"#
        ))
    };
    assert_eq!(heads(0).expect_err("none").id, "plan-error-zero");
    assert_eq!(heads(7).expect_err("no divisor").id, "plan-error-heads-hidden");
    let mut setup = crate::Setup::new(heads(12).expect("a model"), 1 << 20, 1 << 23);
    assert_eq!(setup.check().expect_err("too many").id, "plan-error-too-many-tokens");
    (setup.batch, setup.seq, setup.parallel.expert) = (1, 1024, 2);
    assert_eq!(setup.check().expect_err("no experts").id, "plan-error-no-experts");
    (setup.parallel.expert, setup.micro_batches, setup.parallel.data) = (1, 1 << 20, 1 << 17);
    assert_eq!(setup.check().expect_err("too many").id, "plan-error-too-many-tokens");
}
