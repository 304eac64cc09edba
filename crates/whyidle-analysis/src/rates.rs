//! What a GPU can do at best, by product name: dense peak rates and memory bandwidth.
//!
//! Figures are the vendors' data sheets, without structured sparsity (NVIDIA prints both; the
//! dense figure is half the sparse one). A product that is not listed has no figures: models then
//! fall back to rates seen in the trace, or say nothing.

use crate::shapes::DType;

/// Rates of one product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Name of the row, for evidence.
    pub product: &'static str,
    /// fp32 outside tensor cores (vector units), FLOP/s.
    pub fp32: f64,
    /// fp32 rounded to TF32 in tensor cores, FLOP/s; the same as `fp32` where there is no such mode.
    pub tf32: f64,
    /// fp16 in tensor cores with fp32 accumulation, FLOP/s.
    pub fp16: f64,
    /// bf16 in tensor cores with fp32 accumulation, FLOP/s; `None` before Ampere.
    pub bf16: Option<f64>,
    /// fp8 in tensor cores, FLOP/s.
    pub fp8: Option<f64>,
    /// Memory bandwidth, bytes/s.
    pub bandwidth: f64,
    /// Where the figures are printed.
    pub source: &'static str,
}

impl Rates {
    /// Peak rate of matrix products of a type, FLOP/s; fp32 without TF32.
    #[must_use]
    pub fn matmul(&self, dtype: DType) -> Option<f64> {
        match dtype {
            DType::F32 => Some(self.fp32),
            DType::F16 => Some(self.fp16),
            DType::BF16 => self.bf16,
            DType::F8 => self.fp8,
            _ => None,
        }
    }

    /// The 16-bit type to train in on this product: bf16 where there is one, else fp16.
    #[must_use]
    pub fn half(&self) -> (DType, f64) {
        self.bf16.map_or((DType::F16, self.fp16), |rate| (DType::BF16, rate))
    }
}

/// One product: words that its name must hold, words that it must not, its figures.
struct Product {
    all: &'static [&'static str],
    none: &'static [&'static str],
    rates: Rates,
}

/// Teraflops to FLOP/s, gigabytes to bytes.
const fn row(
    product: &'static str,
    tera: (f64, f64, f64, Option<f64>, Option<f64>),
    gigabytes: f64,
    source: &'static str,
) -> Rates {
    const T: f64 = 1e12;
    const fn scale(value: Option<f64>) -> Option<f64> {
        match value {
            Some(value) => Some(value * T),
            None => None,
        }
    }
    Rates {
        product,
        fp32: tera.0 * T,
        tf32: tera.1 * T,
        fp16: tera.2 * T,
        bf16: scale(tera.3),
        fp8: scale(tera.4),
        bandwidth: gigabytes * 1e9,
        source,
    }
}

/// fp32, tf32, fp16, bf16, fp8 in TFLOP/s dense; bandwidth in GB/s. The first row that fits is taken.
#[rustfmt::skip]
const PRODUCTS: &[Product] = &[
    p(&["V100"], &[], row("V100", (15.7, 15.7, 125.0, None, None), 900.0, "NVIDIA V100 data sheet (SXM2)")),
    p(&["V100S"], &[], row("V100S", (16.4, 16.4, 130.0, None, None), 1134.0, "NVIDIA V100 data sheet")),
    p(&["T4"], &[], row("T4", (8.1, 8.1, 65.0, None, None), 320.0, "NVIDIA T4 data sheet")),
    p(&["A10"], &[], row("A10", (31.2, 62.5, 125.0, Some(125.0), None), 600.0, "NVIDIA A10 data sheet")),
    p(&["A100", "80GB", "PCIE"], &[], row("A100 PCIe 80GB", (19.5, 156.0, 312.0, Some(312.0), None), 1935.0, "NVIDIA A100 data sheet")),
    p(&["A100", "80GB"], &[], row("A100 SXM 80GB", (19.5, 156.0, 312.0, Some(312.0), None), 2039.0, "NVIDIA A100 data sheet")),
    p(&["A100"], &[], row("A100 40GB", (19.5, 156.0, 312.0, Some(312.0), None), 1555.0, "NVIDIA A100 data sheet")),
    p(&["A800"], &[], row("A800", (19.5, 156.0, 312.0, Some(312.0), None), 2039.0, "NVIDIA A800 data sheet")),
    p(&["H100", "PCIE"], &[], row("H100 PCIe", (51.0, 378.0, 756.0, Some(756.0), Some(1513.0)), 2000.0, "NVIDIA H100 data sheet")),
    p(&["H100", "NVL"], &[], row("H100 NVL", (60.0, 417.5, 835.5, Some(835.5), Some(1670.5)), 3900.0, "NVIDIA H100 NVL data sheet")),
    p(&["H100"], &[], row("H100 SXM", (67.0, 494.5, 989.5, Some(989.5), Some(1979.0)), 3350.0, "NVIDIA H100 data sheet")),
    p(&["H800"], &["PCIE"], row("H800 SXM", (67.0, 494.5, 989.5, Some(989.5), Some(1979.0)), 3350.0, "NVIDIA H800 data sheet")),
    p(&["H200", "NVL"], &[], row("H200 NVL", (60.0, 417.5, 835.5, Some(835.5), Some(1670.5)), 4800.0, "NVIDIA H200 data sheet")),
    p(&["H200"], &[], row("H200 SXM", (67.0, 494.5, 989.5, Some(989.5), Some(1979.0)), 4800.0, "NVIDIA H200 data sheet")),
    p(&["GH200"], &[], row("GH200", (67.0, 494.5, 989.5, Some(989.5), Some(1979.0)), 4000.0, "NVIDIA GH200 data sheet (96 GB HBM3)")),
    p(&["H20"], &[], row("H20", (44.0, 74.0, 148.0, Some(148.0), Some(296.0)), 4000.0, "NVIDIA H20 data sheet")),
    p(&["B200"], &[], row("B200", (75.0, 1125.0, 2250.0, Some(2250.0), Some(4500.0)), 7700.0, "NVIDIA DGX B200 data sheet, per GPU")),
    p(&["L4"], &[], row("L4", (30.3, 60.0, 121.0, Some(121.0), Some(242.5)), 300.0, "NVIDIA L4 data sheet")),
    p(&["L40S"], &[], row("L40S", (91.6, 183.0, 362.0, Some(362.0), Some(733.0)), 864.0, "NVIDIA L40S data sheet")),
    p(&["3090"], &["TI", "LAPTOP"], row("RTX 3090", (35.6, 35.6, 71.0, Some(71.0), None), 936.0, "NVIDIA GA102 white paper")),
    p(&["4090"], &["D", "LAPTOP"], row("RTX 4090", (82.6, 82.6, 165.2, Some(165.2), Some(330.3)), 1008.0, "NVIDIA Ada white paper")),
    p(&["5090"], &["D", "LAPTOP"], row("RTX 5090", (104.8, 104.8, 209.5, Some(209.5), Some(419.0)), 1792.0, "NVIDIA RTX Blackwell white paper")),
    p(&["MI210"], &[], row("MI210", (22.6, 22.6, 181.0, Some(181.0), None), 1638.0, "AMD Instinct MI210 data sheet")),
    // The program sees each of the two dies as a device of its own: half of the data sheet's figures.
    p(&["MI250"], &[], row("MI250, one die", (22.6, 22.6, 181.0, Some(181.0), None), 1638.0, "AMD Instinct MI250 data sheet, halved")),
    p(&["MI250X"], &[], row("MI250X, one die", (23.9, 23.9, 191.5, Some(191.5), None), 1638.0, "AMD Instinct MI250X data sheet, halved")),
    p(&["MI300X"], &[], row("MI300X", (163.4, 653.7, 1307.4, Some(1307.4), Some(2614.9)), 5300.0, "AMD Instinct MI300X data sheet")),
    p(&["MI325X"], &[], row("MI325X", (163.4, 653.7, 1307.4, Some(1307.4), Some(2614.9)), 6000.0, "AMD Instinct MI325X data sheet")),
    p(&["MI355X"], &[], row("MI355X", (157.3, 157.3, 2516.6, Some(2516.6), Some(5033.2)), 8000.0, "AMD Instinct MI355X data sheet")),
    // The second figure of a B300 is not printed apart from B200's.
    p(&["B300"], &[], row("B300", (75.0, 1125.0, 2250.0, Some(2250.0), Some(4500.0)), 8000.0, "NVIDIA DGX B300 data sheet, per GPU")),
    p(&["3080"], &["TI", "LAPTOP"], row("RTX 3080", (29.8, 29.8, 59.5, Some(59.5), None), 760.0, "NVIDIA GA102 white paper")),
    p(&["4080"], &["SUPER", "LAPTOP"], row("RTX 4080", (48.7, 48.7, 97.5, Some(97.5), Some(194.9)), 717.0, "NVIDIA Ada white paper")),
    p(&["5080"], &["LAPTOP"], row("RTX 5080", (56.3, 56.3, 112.6, Some(112.6), Some(225.1)), 960.0, "NVIDIA RTX Blackwell white paper")),
    // Huawei prints fp16 and fp32 of the cube unit; the program sees each die of a 910C as a device.
    p(&["ASCEND", "910B"], &[], row("Ascend 910B", (94.0, 94.0, 376.0, Some(376.0), None), 1600.0, "Huawei Atlas 800T A2 data sheet")),
    p(&["ASCEND", "910C"], &[], row("Ascend 910C, one die", (94.0, 94.0, 376.0, Some(376.0), None), 1600.0, "Huawei Atlas 800T A3 data sheet, per die")),
];

const fn p(all: &'static [&'static str], none: &'static [&'static str], rates: Rates) -> Product {
    Product { all, none, rates }
}

/// The rates of the product called `name`; `None` if it is not in the table.
#[must_use]
pub fn rates(name: &str) -> Option<&'static Rates> {
    let upper = name.to_ascii_uppercase();
    // "NVIDIA A100-SXM4-80GB" → NVIDIA, A100, SXM4, 80GB.
    let words: Vec<&str> = upper.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let has = |word: &&str| words.contains(word);
    // A part of a card has a part of its rates: none are known.
    if has(&"MIG") {
        return None;
    }
    PRODUCTS.iter().find(|row| row.all.iter().all(has) && !row.none.iter().any(has)).map(|row| &row.rates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_drivers_print_them() {
        for (name, product) in [
            ("NVIDIA H200", "H200 SXM"),
            ("NVIDIA H100 80GB HBM3", "H100 SXM"),
            ("NVIDIA H100 PCIe", "H100 PCIe"),
            ("NVIDIA H100 NVL", "H100 NVL"),
            ("NVIDIA H20", "H20"),
            ("NVIDIA A100-SXM4-80GB", "A100 SXM 80GB"),
            ("NVIDIA A100 80GB PCIe", "A100 PCIe 80GB"),
            ("NVIDIA A100-SXM4-40GB", "A100 40GB"),
            ("NVIDIA A100-PG509-200", "A100 40GB"),
            ("Tesla V100-SXM2-16GB", "V100"),
            ("Tesla T4", "T4"),
            ("NVIDIA A10", "A10"),
            ("NVIDIA L4", "L4"),
            ("NVIDIA L40S", "L40S"),
            ("NVIDIA GeForce RTX 4090", "RTX 4090"),
            ("NVIDIA B200", "B200"),
            ("AMD Instinct MI300X", "MI300X"),
        ] {
            assert_eq!(rates(name).map(|r| r.product), Some(product), "{name}");
        }
        for unknown in ["", "NVIDIA A10G", "NVIDIA GeForce RTX 3090 Ti", "NVIDIA GeForce RTX 4090 D", "H2000"]
        {
            assert_eq!(rates(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn rates_are_plausible() {
        for product in PRODUCTS {
            let r = product.rates;
            assert!(r.fp32 > 1e12 && r.tf32 >= r.fp32 && r.fp16 >= r.tf32, "{}", r.product);
            assert!(r.fp8.is_none_or(|fp8| fp8 > r.fp16), "{}", r.product);
            assert!((1e11..2e13).contains(&r.bandwidth), "{}", r.product);
        }
    }
}
