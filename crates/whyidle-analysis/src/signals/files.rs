//! Whose file a frame is in: the user's own, a framework's that launches work, or a library's.

/// A path as a person names it: relative to the folder that holds the package.
pub(super) fn short_path(file: &str) -> &str {
    for folder in ["/site-packages/", "/dist-packages/"] {
        if let Some((_, rest)) = file.rsplit_once(folder) {
            return rest;
        }
    }
    let Some(at) = file.find("/lib/python3") else {
        return if file.starts_with('/') { file.rsplit('/').next().unwrap_or(file) } else { file };
    };
    file[at + 1..].splitn(3, '/').nth(2).unwrap_or(file)
}

/// Packages whose Python code launches work on the GPU, or decides what is launched.
pub(super) fn is_framework(file: &str) -> bool {
    const FRAMEWORKS: [&str; 16] = [
        "torch",
        "transformers",
        "accelerate",
        "lightning",
        "pytorch_lightning",
        "lightning_fabric",
        "deepspeed",
        "megatron",
        "triton",
        "torchvision",
        "timm",
        "apex",
        "peft",
        "flash_attn",
        "diffusers",
        "xformers",
    ];
    let package = short_path(file).split('/').next().unwrap_or_default();
    FRAMEWORKS.contains(&package)
}

/// A file of the user's own: neither of an installed package nor of the standard library. Recorders give whole
/// paths, or paths relative to the package's folder.
pub(super) fn is_user_file(file: &str) -> bool {
    if file.is_empty() || file.starts_with('<') {
        return false;
    }
    if file.starts_with('/') {
        return !["/site-packages/", "/dist-packages/", "/lib/python"].iter().any(|part| file.contains(part));
    }
    let first = file.split('/').next().unwrap_or_default().trim_end_matches(".py");
    !is_framework(file) && !LIBRARIES.contains(&first)
}

/// Modules of the standard library, and packages, that occur in training programs.
const LIBRARIES: [&str; 74] = [
    "threading",
    "queue",
    "selectors",
    "socket",
    "subprocess",
    "contextlib",
    "functools",
    "random",
    "abc",
    "typing",
    "copy",
    "runpy",
    "re",
    "json",
    "logging",
    "multiprocessing",
    "concurrent",
    "importlib",
    "asyncio",
    "collections",
    "pickle",
    "copyreg",
    "struct",
    "io",
    "os",
    "posixpath",
    "pathlib",
    "tempfile",
    "shutil",
    "tarfile",
    "zipfile",
    "gzip",
    "bz2",
    "lzma",
    "csv",
    "string",
    "textwrap",
    "enum",
    "dataclasses",
    "inspect",
    "types",
    "warnings",
    "weakref",
    "heapq",
    "bisect",
    "itertools",
    "operator",
    "statistics",
    "fractions",
    "decimal",
    "datetime",
    "calendar",
    "hashlib",
    "hmac",
    "uuid",
    "base64",
    "http",
    "urllib",
    "email",
    "ssl",
    "sched",
    "codecs",
    "traceback",
    "numpy",
    "pandas",
    "PIL",
    "cv2",
    "datasets",
    "tokenizers",
    "pyarrow",
    "scipy",
    "sklearn",
    "wandb",
    "tqdm",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_apart_by_whole_and_by_relative_paths() {
        assert!(
            is_user_file("/home/user/train.py") && is_user_file("model.py") && is_user_file("data/text.py")
        );
        for library in
            ["/v/lib/python3.12/site-packages/x/y.py", "/usr/lib/python3.12/json/decoder.py", "queue.py"]
        {
            assert!(!is_user_file(library), "{library}");
        }
        assert!(!is_user_file("<string>") && !is_user_file("") && !is_user_file("transformers/trainer.py"));
        assert!(
            is_framework("/v/lib/python3.12/site-packages/torch/optim/adam.py")
                && !is_framework("numpy/x.py")
        );
        assert_eq!(short_path("/v/lib/python3.12/site-packages/torch/nn/x.py"), "torch/nn/x.py");
        assert_eq!(short_path("/usr/lib/python3.12/json/decoder.py"), "json/decoder.py");
        assert_eq!(short_path("/home/user/train.py"), "train.py");
    }
}
