//! Names of kernels, as different tools print them.
//!
//! A trace has `void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, false>(int, …)`;
//! Nsight Compute's raw page `void native::<unnamed>::vectorized_layer_norm_kernel<c10::BFloat16, float, 0>(int, T2, …)`, its
//! details page `void unnamed>::vectorized_layer_norm_kernel<BFloat16, float, 0>(…)`: outer namespaces dropped, parameters
//! by their place in the template, lambdas as `[lambda(int) (instance 1)]` for `{lambda(int)#1}`.

use std::collections::BTreeSet;

/// What stands for a nameless namespace.
const NAMELESS: [&str; 5] =
    ["(anonymous namespace)::", "<unnamed>::", "{anonymous}::", "`anonymous namespace'::", "unnamed>::"];
/// Words that say nothing about which kernel it is: namespaces that one tool drops, and how parameters are written.
const EMPTY_WORDS: [&str; 22] = [
    "void",
    "at",
    "native",
    "c10",
    "std",
    "detail",
    "const",
    "instance",
    "operator",
    "unsigned",
    "char",
    "int",
    "long",
    "lambda",
    "cuda",
    "templates",
    "unnamed",
    "memory",
    "internal",
    "array",
    "cutlass",
    "dropout",
];
/// So much of what Nsight Compute says of a kernel's template must be in the trace's name too.
const SAME: f64 = 0.8;

/// The function alone: `vectorized_layer_norm_kernel`.
#[must_use]
pub fn short(name: &str) -> String {
    let mut name = name.trim().to_owned();
    for nameless in NAMELESS {
        name = name.replace(nameless, "");
    }
    let end = name.find(['<', '(']).filter(|&end| end > 0).unwrap_or(name.len());
    let qualified = name[..end].trim_end();
    let last = qualified.rsplit(' ').next().unwrap_or(qualified);
    let function = last.rsplit("::").next().unwrap_or(last);
    if function.is_empty() { name } else { function.to_owned() }
}

/// The words of a name that tell kernels apart: functors, types, numbers of its template.
pub(super) fn words(name: &str) -> BTreeSet<&str> {
    let text = name.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').map(|word| match word {
        "true" => "1",
        "false" => "0",
        word if word.as_bytes().first().is_some_and(u8::is_ascii_digit) => {
            word.trim_end_matches(['u', 'l', 'U', 'L'])
        }
        word => word,
    });
    // `T1`: a parameter by its place.
    let is_place = |word: &str| {
        word.strip_prefix('T')
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
    };
    text.filter(|word| !word.is_empty() && !EMPTY_WORDS.contains(word) && !is_place(word)).collect()
}

/// How well the names of one function agree, 0–1; `None` where they are of different kernels: a functor or a type that
/// Nsight Compute names must be in the trace's name too, and most numbers.
pub(super) fn agreement(ncu: &BTreeSet<&str>, trace: &BTreeSet<&str>) -> Option<f64> {
    let is_number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    let common = ncu.intersection(trace).count() as f64;
    let is_another = ncu.difference(trace).any(|word| !is_number(word));
    (!ncu.is_empty() && !is_another && common >= SAME * ncu.len() as f64)
        .then(|| common / ncu.union(trace).count() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, false>(int, float, c10::BFloat16 const*)";
    const RAW: &str =
        "void native::<unnamed>::vectorized_layer_norm_kernel<c10::BFloat16, float, 0>(int, T2, const T1 *)";
    const DETAILS: &str =
        "void unnamed>::vectorized_layer_norm_kernel<BFloat16, float, 0>(int, T2, const T1 *)";

    #[test]
    fn one_kernel_is_the_same_in_each_print() {
        for name in [TRACE, RAW, DETAILS] {
            assert_eq!(short(name), "vectorized_layer_norm_kernel");
            assert!(agreement(&words(name), &words(TRACE)).is_some(), "{name}");
        }
        assert_eq!(
            short("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"),
            "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"
        );
        assert_eq!(short("philox::unpack_cudnn(at::PhiloxCudaState, long *)"), "unpack_cudnn");
        assert_eq!((short(""), short("<<<")), (String::new(), "<<<".to_owned()));
    }

    #[test]
    fn functors_tell_kernels_of_one_function_apart() {
        let add = "void native::elementwise_kernel<128, 4, void native::gpu_kernel_impl_nocast<native::CUDAFunctor_add<c10::BFloat16>>(at::TensorIteratorBase &, const T1 &)::[lambda(int) (instance 1)]>(int, T3)";
        let trace_add = "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<c10::BFloat16> >(at::TensorIteratorBase&, at::native::CUDAFunctor_add<c10::BFloat16> const&)::{lambda(int)#1}>(int, at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<c10::BFloat16> >(at::TensorIteratorBase&, at::native::CUDAFunctor_add<c10::BFloat16> const&)::{lambda(int)#1})";
        let trace_copy = "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#12}::operator()() const::{lambda(c10::BFloat16)#1}>(at::TensorIteratorBase&)";
        assert!(agreement(&words(add), &words(trace_add)).is_some_and(|agreement| agreement > 0.9));
        assert_eq!(agreement(&words(add), &words(trace_copy)).map(|_| ()), None);
    }
}
