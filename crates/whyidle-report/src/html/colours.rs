//! Which colour a ledger line has: one per kind of work, one per family of waits. The colours themselves are in
//! `assets/report.css`; neighbours differ in lightness too, for those who tell hues apart badly.

/// The class of a ledger line, or of the kind of a total.
pub(crate) fn class(line: &str) -> &'static str {
    match line {
        "working.matmul" | "working.convolution" => "k-matmul",
        "working.attention" => "k-attention",
        "working.elementwise" | "working.normalisation" | "working.softmax" | "working.reduction" => {
            "k-element"
        }
        "working.optimizer" => "k-optimizer",
        line if line.starts_with("working.") => "k-work",
        line if line.starts_with("data.") => "k-data",
        "host.sync" => "k-sync",
        line if line.starts_with("host.") => "k-host",
        line if line.starts_with("comm.") => "k-comm",
        "gpu.wait" => "k-comm",
        "rest.unexplained" => "k-unknown",
        line if line.starts_with("rest.") => "k-rest",
        // The allocator, compilation, checkpoints, logging.
        _ => "k-other",
    }
}

#[cfg(test)]
mod tests {
    use super::class;

    /// Every class has its colour in the style.
    #[test]
    fn every_line_has_a_colour() {
        for line in whyidle_analysis::ledger::Line::ALL {
            let variable = format!("--{}:", class(line.id()));
            assert!(super::super::policy::STYLE.contains(&variable), "{variable} of {}", line.id());
        }
        assert_eq!((class("data.storage"), class("host.gil")), ("k-data", "k-host"));
    }
}
