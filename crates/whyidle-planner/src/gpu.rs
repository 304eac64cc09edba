//! GPUs and the links between them: memory and links here, rates from the table of the analysis.
//!
//! Memory is what a program finds (`torch.cuda.mem_get_info` total), a little below the label.

use whyidle_analysis::rates::rates;

use crate::PlanError;

/// A GPU as the planner sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Gpu {
    /// Short name, as on the command line.
    pub name: String,
    /// Memory, bytes.
    pub memory: f64,
    /// Memory bandwidth, bytes/s.
    pub bandwidth: f64,
    /// Dense 16-bit matrix peak with fp32 accumulation, FLOP/s.
    pub half: f64,
    /// fp32 matrix peak with TF32 where there is such a mode, FLOP/s.
    pub single: f64,
    /// Link to the other GPUs of a node.
    pub link: Link,
    /// GPUs of a node.
    pub per_node: u64,
    /// cuBLAS workspace of one handle, bytes (32 MiB on Hopper, 8 MiB elsewhere).
    pub workspace: u64,
    /// Where its rates are printed; `TOML` for one of the user's.
    pub source: String,
}

/// A link, per GPU and direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Name.
    pub name: &'static str,
    /// Bus bandwidth per GPU that collectives reach when large, bytes/s (nccl-tests' busbw).
    pub bus: f64,
    /// Time per step of a ring, s.
    pub latency: f64,
}

/// Links: nominal rate per direction × 0.8, which large NCCL collectives reach.
#[rustfmt::skip]
pub(crate) const LINKS: &[Link] = &[
    Link { name: "nvlink2", bus: 0.8 * 150e9, latency: 4e-6 },
    Link { name: "nvlink3", bus: 0.8 * 300e9, latency: 4e-6 },
    Link { name: "nvlink4", bus: 0.8 * 450e9, latency: 4e-6 },
    Link { name: "nvlink5", bus: 0.8 * 900e9, latency: 4e-6 },
    Link { name: "nvlink-a800", bus: 0.8 * 200e9, latency: 4e-6 },
    Link { name: "xgmi3", bus: 0.8 * 150e9, latency: 5e-6 },
    Link { name: "xgmi4", bus: 0.8 * 448e9, latency: 5e-6 },
    Link { name: "hccs", bus: 0.8 * 196e9, latency: 6e-6 },
    Link { name: "pcie3", bus: 0.8 * 15.75e9, latency: 10e-6 },
    Link { name: "pcie4", bus: 0.8 * 31.5e9, latency: 10e-6 },
    Link { name: "pcie5", bus: 0.8 * 63e9, latency: 10e-6 },
    Link { name: "ib-hdr", bus: 0.8 * 25e9, latency: 15e-6 },
    Link { name: "ib-ndr", bus: 0.8 * 50e9, latency: 15e-6 },
    Link { name: "ib-xdr", bus: 0.8 * 100e9, latency: 15e-6 },
    Link { name: "eth-100g", bus: 0.8 * 12.5e9, latency: 30e-6 },
    Link { name: "eth-25g", bus: 0.8 * 3.125e9, latency: 40e-6 },
    Link { name: "eth-10g", bus: 0.8 * 1.25e9, latency: 50e-6 },
];

/// The link called `name`.
///
/// # Errors
/// If there is none.
pub fn link(name: &str) -> Result<Link, PlanError> {
    LINKS.iter().find(|link| link.name == name).copied().ok_or_else(|| {
        let known: Vec<_> = LINKS.iter().map(|link| link.name).collect();
        PlanError::new("plan-error-unknown-link").with("link", name).with("known", known.join(", "))
    })
}

/// Short name, name in the table of rates, GiB that a program finds, link, GPUs of a node.
type Row = (&'static str, &'static str, f64, &'static str, u64);

#[rustfmt::skip]
const TABLE: &[Row] = &[
    ("v100-16", "V100", 15.8, "nvlink2", 8),
    ("v100", "V100", 31.7, "nvlink2", 8),
    ("t4", "T4", 14.6, "pcie3", 4),
    ("a10", "A10", 22.1, "pcie4", 4),
    ("a100-40", "A100", 39.4, "nvlink3", 8),
    ("a100", "A100 SXM4 80GB", 79.2, "nvlink3", 8),
    ("a100-pcie", "A100 80GB PCIE", 79.2, "pcie4", 8),
    ("a800", "A800", 79.2, "nvlink-a800", 8),
    ("h100", "H100", 79.1, "nvlink4", 8),
    ("h100-pcie", "H100 PCIE", 79.1, "pcie5", 8),
    ("h100-nvl", "H100 NVL", 93.1, "nvlink3", 2),
    ("h800", "H800", 79.1, "nvlink-a800", 8),
    ("h200", "H200", 139.8, "nvlink4", 8),
    ("h20", "H20", 95.1, "nvlink4", 8),
    ("gh200", "GH200", 94.5, "nvlink4", 1),
    ("b200", "B200", 178.4, "nvlink5", 8),
    ("b300", "B300", 267.7, "nvlink5", 8),
    ("l4", "L4", 22.0, "pcie4", 4),
    ("l40s", "L40S", 44.4, "pcie4", 8),
    ("rtx3080", "3080", 9.8, "pcie4", 4),
    ("rtx3090", "3090", 23.7, "pcie4", 4),
    ("rtx4080", "4080", 15.7, "pcie4", 4),
    ("rtx4090", "4090", 23.5, "pcie4", 8),
    ("rtx5080", "5080", 15.5, "pcie5", 4),
    ("rtx5090", "5090", 31.4, "pcie5", 8),
    ("mi250", "MI250", 64.0, "xgmi3", 8),
    ("mi300x", "MI300X", 192.0, "xgmi4", 8),
    ("mi325x", "MI325X", 256.0, "xgmi4", 8),
    ("mi355x", "MI355X", 288.0, "xgmi4", 8),
    ("ascend-910b", "Ascend 910B", 61.0, "hccs", 8),
    ("ascend-910c", "Ascend 910C", 61.0, "hccs", 16),
];

/// Every GPU of the table.
#[must_use]
pub fn gpus() -> Vec<Gpu> {
    TABLE.iter().filter_map(from_row).collect()
}

fn from_row(&(name, product, gib, link_name, per_node): &Row) -> Option<Gpu> {
    let rates = rates(product)?;
    Some(Gpu {
        name: name.to_owned(),
        memory: gib * f64::from(1 << 30),
        bandwidth: rates.bandwidth,
        half: rates.bf16.unwrap_or(rates.fp16),
        single: rates.tf32,
        link: link(link_name).ok()?,
        per_node,
        workspace: if ["h", "g", "b"].iter().any(|hopper| name.starts_with(hopper)) {
            32 << 20
        } else {
            8 << 20
        },
        source: rates.source.to_owned(),
    })
}

/// The GPU called `name`: of `extra` first, else of the table.
///
/// # Errors
/// If there is none.
pub fn gpu(name: &str, extra: &[Gpu]) -> Result<Gpu, PlanError> {
    let wanted = name.to_ascii_lowercase();
    if let Some(found) = extra.iter().find(|gpu| gpu.name.to_ascii_lowercase() == wanted) {
        return Ok(found.clone());
    }
    TABLE.iter().find(|row| row.0 == wanted).and_then(from_row).ok_or_else(|| {
        let known: Vec<_> =
            TABLE.iter().map(|row| row.0).chain(extra.iter().map(|gpu| gpu.name.as_str())).collect();
        PlanError::new("plan-error-unknown-gpu").with("gpu", name).with("known", known.join(", "))
    })
}

/// The GPU that a program calls `product`, of the variant whose memory is nearest to `memory` bytes.
#[must_use]
pub fn by_product(product: &str, memory: u64) -> Option<Gpu> {
    let wanted = rates(product)?;
    let distance = |gpu: &Gpu| (gpu.memory - memory as f64).abs();
    let mut found = TABLE
        .iter()
        .filter(|row| rates(row.1).is_some_and(|rates| rates.product == wanted.product))
        .filter_map(from_row)
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    if memory > 0 {
        found.memory = memory as f64;
    }
    Some(found)
}

/// Fields of an entry.
const FIELDS: [&str; 6] = ["memory_gib", "bandwidth_gbs", "half_tflops", "single_tflops", "link", "per_node"];

/// GPUs of a TOML table: `[gpu.NAME]` with `memory_gib`, `bandwidth_gbs`, `half_tflops`, and if wanted
/// `single_tflops`, `link` (a name), `per_node`.
///
/// # Errors
/// If the text is no TOML, or an entry lacks a figure, has one that is none, or a field that is not known.
pub fn parse_gpus(text: &str) -> Result<Vec<Gpu>, PlanError> {
    let bad = |reason: String| PlanError::new("plan-error-gpu-table").with("reason", reason);
    let table: toml::Table =
        text.parse().map_err(|error: toml::de::Error| bad(error.message().to_owned()))?;
    let Some(entries) = table.get("gpu").and_then(toml::Value::as_table) else {
        return Err(bad("[gpu.NAME]".to_owned()));
    };
    entries
        .iter()
        .map(|(name, entry)| {
            let wrong = |key: &str| bad(format!("gpu.{name}.{key}"));
            let fields = entry.as_table().ok_or_else(|| bad(format!("gpu.{name}")))?;
            if let Some(unknown) = fields.keys().find(|key| !FIELDS.contains(&key.as_str())) {
                return Err(wrong(unknown));
            }
            // A figure that is there must be one.
            let figure = |key: &str| match fields.get(key) {
                None => Ok(None),
                Some(value) => value
                    .as_float()
                    .or(value.as_integer().map(|n| n as f64))
                    .filter(|figure| (1e-3..=1e9).contains(figure))
                    .map(Some)
                    .ok_or_else(|| wrong(key)),
            };
            let need = |key: &str| figure(key)?.ok_or_else(|| wrong(key));
            let half = need("half_tflops")? * 1e12;
            Ok(Gpu {
                name: name.clone(),
                memory: need("memory_gib")? * f64::from(1 << 30),
                bandwidth: need("bandwidth_gbs")? * 1e9,
                half,
                single: figure("single_tflops")?.map_or(half / 2.0, |tera| tera * 1e12),
                link: match fields.get("link") {
                    None => link("pcie4")?,
                    Some(name) => link(name.as_str().ok_or_else(|| wrong("link"))?)?,
                },
                per_node: figure("per_node")?.map_or(8, |count| count.max(1.0) as u64),
                workspace: 8 << 20,
                source: "TOML".to_owned(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_rates_and_a_link() {
        assert_eq!(gpus().len(), TABLE.len());
        for (gpu, row) in gpus().iter().zip(TABLE) {
            assert_eq!(gpu.name, row.0);
            assert!(gpu.memory > 10e9 && gpu.half > 5e13, "{}", gpu.name);
        }
        assert!(link("carrier-pigeon").is_err());
        assert_eq!(gpu("gtx680", &[]).expect_err("none").id, "plan-error-unknown-gpu");
    }

    #[test]
    fn a_table_of_ones_own() {
        let text =
            "[gpu.mine]\nmemory_gib = 100\nbandwidth_gbs = 2000.0\nhalf_tflops = 500\nlink = \"nvlink4\"\n";
        let own = parse_gpus(text).expect("a table");
        let mine = gpu("MINE", &own).expect("the entry");
        assert_eq!((mine.half, mine.link.name), (500e12, "nvlink4"));
        let with = |line: &str| parse_gpus(&format!("{text}{line}\n"));
        assert!(with("per_node = 4").is_ok() && with("single_tflops = 60").is_ok());
        for slip in
            ["per_nodes = 4", "per_node = 0", "single_tflops = -1", "single_tflops = nan", "per_node = \"4\""]
        {
            let error = with(slip).expect_err(slip);
            let (key, _) = slip.split_once(' ').expect("a key");
            assert!(error.to_string().contains(&format!("gpu.mine.{key}")), "{slip}: {error}");
        }
        assert!(parse_gpus("gpu = 1").is_err() && parse_gpus("[gpu]\nx = 1").is_err());
        assert!(parse_gpus("[gpu.x]\nmemory_gib = inf\nbandwidth_gbs = 1\nhalf_tflops = 1").is_err());
        assert!(parse_gpus("[gpu.x]\nmemory_gib = 1").is_err());
        assert!(parse_gpus("gpu = ").is_err());
        assert!(parse_gpus("a = 1").is_err());
    }
}
