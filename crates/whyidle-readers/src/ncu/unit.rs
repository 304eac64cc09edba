//! Units: Nsight Compute prints base units into CSV, or scaled ones (`--print-units auto`), which versions spell
//! differently: `usecond`, `us`; `Gbyte/second`, `Gbyte/s`.

/// What a value in `unit` is multiplied by to be in `wanted`; `None` where it is of another kind.
pub(super) fn factor(unit: &str, wanted: &str) -> Option<f64> {
    if wanted == "ns" {
        return Some(match unit {
            "ns" | "nsecond" => 1.0,
            "us" | "usecond" => 1e3,
            "ms" | "msecond" => 1e6,
            "s" | "second" => 1e9,
            _ => return None,
        });
    }
    if unit == wanted {
        return Some(1.0);
    }
    if wanted.is_empty() || wanted == "SM" || wanted == "inst" || wanted == "register/thread" {
        // Bare numbers are labelled now one way, now another.
        return (!matches!(unit, "%" | "ns" | "byte")).then_some(1.0);
    }
    // `Kbyte`, `Mcycle`: powers of ten.
    let scale = match unit.chars().next()? {
        'K' => 1e3,
        'M' => 1e6,
        'G' => 1e9,
        'T' => 1e12,
        _ => return (unit.is_empty() && wanted == "block").then_some(1.0),
    };
    (&unit[1..] == wanted).then_some(scale)
}

#[cfg(test)]
mod tests {
    use super::factor;

    #[test]
    fn scaled_units_are_brought_back() {
        assert_eq!(
            (factor("usecond", "ns"), factor("s", "ns"), factor("cycle", "ns")),
            (Some(1e3), Some(1e9), None)
        );
        assert_eq!(
            (factor("Gbyte", "byte"), factor("byte/s", "byte"), factor("Gbyte/s", "%")),
            (Some(1e9), None, None)
        );
        assert_eq!(
            (factor("", ""), factor("cycle", "inst"), factor("%", "inst")),
            (Some(1.0), Some(1.0), None)
        );
    }
}
