//! Secrets go whatever shape they have; what is none stays.

use super::*;

const SECRET: &str = "Zq9-s3cr3t/Value+77";

fn line(text: &str) -> String {
    let arguments: Vec<String> = text.split('|').map(str::to_owned).collect();
    command(&arguments).join("|")
}

#[test]
fn secrets_go_whatever_shape_they_have() {
    let shapes = [
        "--api-key|X",
        "--api-key=X",
        "--api_key=X",
        "--apikey|X",
        "--wandb.api_key=X",
        "model.hub_token=X",
        "HF_TOKEN=X",
        "WANDB_API_KEY=X",
        "AWS_SECRET_ACCESS_KEY=X",
        "+logger.apiKey=X",
        "--password|X",
        "--db-password=X",
        "-password|X",
        "--passwd=X",
        "PGPASSWORD=X",
        "--auth-token|X",
        "--authToken=X",
        "--secret|X",
        "--client-secret=X",
        "--hftoken=X",
        "--private-key|X",
        "--header|Authorization: Bearer X",
        "-H|Authorization: Basic X",
        "-H|X-Api-Key: X",
        "--header|Authorization:|X",
        "--auth|Bearer|X",
        "--cookie=X",
        "--access-key-id=X",
        "--dsn=X",
        "--signature=X",
        "https://user:X@host/path",
        "postgresql://me:X@db:5432/runs",
        "--url=https://X@github.com/a/b",
        "redis://:X@cache",
        "https://host/upload?token=X&part=2",
        "https://host/?a=1&api_key=X",
        "{\"api_key\": \"X\"}",
        "{'password':'X'}",
        "{\"auth\":{\"token\":\"X\"}}",
        "-c|import os; os.environ[\"HF_TOKEN\"]=\"X\"",
        "-c|login(token='X')",
        "-c|export WANDB_API_KEY=X && python train.py",
        "-c|curl --oauth2-bearer X host",
        "-c|python t.py --api-key X --lr 1",
        "-c|curl -H 'Authorization: Bearer X' host",
        "-u|user:X",
        "--user|me:X",
        "--proxy-user|me:X",
        "-----BEGIN PRIVATE KEY-----\nX\n-----END",
        "--key=-----BEGIN RSA PRIVATE KEY-----X",
        "--key|X",
        "--key=X",
        "KEY=X",
        "--pin|X",
        "--user-pin=X",
        "--tokens|X",
        "--tokens=X",
        "--password|--X",
        "--password|-X",
        "--api-key|--X",
        "mysql|-u|me|-pX|runs",
        "/usr/bin/mysqldump|-pX",
        "sudo|mysql|-p|X",
        "sshpass|-pX|ssh|host",
        "sshpass|-p|X|ssh|-p|22|host",
        "redis-cli|-a|X",
        "docker|login|-u|me|-p|X",
        "docker|login|-pX",
        "7z|x|-pX|a.7z",
    ];
    for shape in shapes {
        let found = line(&shape.replace('X', SECRET).replace(&format!("{SECRET}-Api-Key"), "X-Api-Key"));
        assert!(!found.contains("s3cr3t") && !found.contains("Value+77"), "{shape}: {found}");
        assert!(found.contains(REDACTED), "{shape}: {found}");
    }
}

#[test]
fn keys_are_told_by_their_looks() {
    // Made up, in the shapes that issuers give.
    let keys = [
        "hf_AbCdEfGhIjKlMnOpQrStUvWx",
        "sk-proj-Abc123Def456Ghi789",
        "ghp_0123456789abcdefghijklmnopqrstuvwxyz",
        "AKIAIOSFODNN7EXAMPLE",
        "glpat-abcdefghij1234567890",
        "xoxb-123456789012-abcdef",
        "xoxs-123456789012-abcdef",
        "xapp-1-A012345-abcdef",
        "nvapi-abcdefghijklmnop",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        "0123456789abcdef0123456789abcdef01234567",
    ];
    for key in keys {
        for shape in ["X", "--name=X", "--run X", "login X now", "a,X,b", "x=X", "run-X", "a_X", "(X)", "k:X"]
        {
            let found = line(&shape.replace('X', key));
            assert!(!found.contains(key), "{shape}: {found}");
            assert!(found.contains(REDACTED), "{shape}: {found}");
        }
    }
}

#[test]
fn what_is_no_secret_stays() {
    for kept in [
        "python3|train.py|--lr|0.0003|--max-tokens|4096|--tokenizer|gpt2|--num_tokens=12",
        "--pad_token|<pad>|--eos-token=</s>|--author|me|--passes=3|--keys|a,b|--sort-key|loss",
        "--tokens|4096|--tokens=1e9|--pin-memory|true|--spin|3|sort.key=loss",
        "ssh|-p|22|host",
        "docker|run|-p|80:80|image",
        "train.py|-p|0.5",
        "disk-usage-2024-report|risk_score_v2_final",
        "/data/llama-3-70b-instruct/checkpoint_step_000010000/rank0.pt",
        "https://host:8080/path?step=3",
        "--monkey=1",
        "GPU-6f1c2d3e-1111-2222-3333-444455556666",
        "model.hidden_size=4096",
        "--compass=north",
        "-u|nobody",
        "tcp://10.0.0.1:29500",
    ] {
        assert_eq!(line(kept), kept);
    }
    assert_eq!(variable("NCCL_DEBUG", "INFO"), "INFO");
    assert_eq!(variable("PYTORCH_HUB_TOKEN", "x"), REDACTED);
}

#[test]
fn any_text_is_taken() {
    let odd = [
        "",
        "=",
        "--token",
        "--token=",
        "\"",
        "token:",
        "://@",
        "a://",
        "é=ü",
        "--password|--lr|3",
        "token: 'é",
        "\u{0}=\n",
    ];
    for text in odd {
        let _ = line(text);
    }
    assert_eq!(line("--password|--lr|3"), "--password|[redacted]|3");
}
