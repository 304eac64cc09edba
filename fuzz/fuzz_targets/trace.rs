#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| whyidle_fuzz::files::trace(bytes));
