//! Figures with their intervals, one below the other on one scale: effects of changes, step times, differences. Pictures
//! without a script, so that they stand on paper too; the figures beside them are the text of the page.

use std::fmt::Write as _;

use super::both::Both;

/// Width of the scale in the units of its picture.
const WHOLE: f64 = 1000.0;
/// Room on either side of the outermost figure, as a share of the scale.
const ROOM: f64 = 0.03;

/// A figure.
pub(crate) struct Span {
    pub(crate) name: Both,
    /// The figure, drawn from 0.
    pub(crate) value: f64,
    /// Its interval, where there is one.
    pub(crate) range: Option<(f64, f64)>,
    /// In words.
    pub(crate) figure: Both,
    /// Said of it.
    pub(crate) says: Both,
    /// The class of its colour.
    pub(crate) class: &'static str,
}

/// Figures on one scale, which holds 0; `limits` are lines across all of them.
pub(crate) fn set(title: &Both, spans: &[Span], limits: &[f64]) -> String {
    if spans.is_empty() {
        return String::new();
    }
    let of = |span: &Span| {
        let (low, high) = span.range.unwrap_or((span.value, span.value));
        [span.value, low, high]
    };
    let all = || spans.iter().flat_map(of).chain(limits.iter().copied());
    let (low, high) = (all().fold(0.0, f64::min), all().fold(0.0, f64::max));
    let room = ROOM * (high - low);
    let (low, high) = (low - if low < 0.0 { room } else { 0.0 }, high + if high > 0.0 { room } else { 0.0 });
    let place = |value: f64| (value - low) / (high - low).max(f64::MIN_POSITIVE) * WHOLE;
    let mut out = format!("<h2>{title}</h2><ol class=\"ladder spans\">");
    for span in spans {
        let (zero, to) = (place(0.0), place(span.value));
        let mut picture = format!(
            "<rect class=\"{}\" x=\"{:.1}\" width=\"{:.1}\" y=\"3\" height=\"14\"></rect>",
            span.class,
            zero.min(to),
            (to - zero).abs()
        );
        let mut line = |class: &str, [x1, x2]: [f64; 2], [y1, y2]: [u8; 2]| {
            // Writing to a String cannot fail.
            let _ = write!(
                picture,
                "<line class=\"{class}\" x1=\"{x1:.1}\" x2=\"{x2:.1}\" y1=\"{y1}\" y2=\"{y2}\"></line>"
            );
        };
        line("zero", [zero, zero], [0, 20]);
        limits.iter().map(|limit| place(*limit)).for_each(|at| line("limit", [at, at], [0, 20]));
        if let Some((low, high)) = span.range {
            line("whisker", [place(low), place(high)], [10, 10]);
        }
        let _ = write!(
            out,
            "<li><span class=\"what\">{}</span><svg viewBox=\"0 0 1000 20\" preserveAspectRatio=\"none\" \
             aria-hidden=\"true\">{picture}</svg><span class=\"n\">{}</span>",
            span.name, span.figure
        );
        if !span.says.is_empty() {
            let _ = write!(out, "<span class=\"small faint\">{}</span>", span.says);
        }
        out.push_str("</li>");
    }
    out.push_str("</ol>");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(value: f64, range: Option<(f64, f64)>) -> Span {
        Span {
            name: Both::same("<b>"),
            value,
            range,
            figure: Both::same("1"),
            says: Both::default(),
            class: "better",
        }
    }

    #[test]
    fn zero_is_on_the_scale_and_names_stay_text() {
        let html = set(&Both::same("t"), &[span(-0.4, Some((-0.5, -0.25)))], &[0.1]);
        assert!(html.contains("&lt;b&gt;") && !html.contains("<b>"), "{html}");
        // The scale goes from −0.518 to 0.118.
        assert!(html.contains("class=\"zero\" x1=\"814.5\""), "{html}");
        assert!(html.contains("x=\"185.5\" width=\"628.9\""), "{html}");
        assert!(html.contains("class=\"whisker\" x1=\"28.3\" x2=\"421.4\""), "{html}");
        assert!(html.contains("class=\"limit\" x1=\"971.7\""), "{html}");
        assert!(set(&Both::same("t"), &[], &[]).is_empty());
        // All figures 0: nothing to divide by.
        assert!(set(&Both::same("t"), &[span(0.0, None)], &[]).contains("x=\"0.0\" width=\"0.0\""));
    }
}
