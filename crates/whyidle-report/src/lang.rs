//! Which language to speak, and how a locale or an option names it.

/// A language of the reports. All say the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Chinese, simplified.
    Zh,
}

impl Lang {
    /// Every language.
    pub const ALL: [Self; 2] = [Self::En, Self::Zh];

    /// The languages that a page for the browser holds, side by side: it opens in one of them.
    pub const OF_PAGES: [Self; 2] = [Self::En, Self::Zh];

    /// The BCP 47 tag, also the name of the catalogue's folder.
    #[must_use]
    pub fn tag(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh-CN",
        }
    }

    /// The language that an option names: `en`, `zh`, `zh-CN`, `zh_CN.UTF-8`; `None` for any other.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match language_part(name).as_str() {
            "en" => Some(Self::En),
            "zh" => Some(Self::Zh),
            _ => None,
        }
    }

    /// The language for a POSIX locale such as `zh_CN.UTF-8` or `C`: English unless it is Chinese.
    #[must_use]
    pub(crate) fn from_locale(locale: &str) -> Self {
        Self::parse(locale).unwrap_or_default()
    }

    /// The language of the environment, read through `variable`: the first that is set of
    /// `LC_ALL`, `LC_MESSAGES` and `LANG` decides, as POSIX has it.
    #[must_use]
    pub fn detect(variable: impl Fn(&str) -> Option<String>) -> Self {
        ["LC_ALL", "LC_MESSAGES", "LANG"]
            .iter()
            .find_map(|name| variable(name).filter(|value| !value.is_empty()))
            .map_or_else(Self::default, |locale| Self::from_locale(&locale))
    }
}

/// `zh` of `zh_CN.UTF-8@pinyin`, in lower case.
fn language_part(locale: &str) -> String {
    locale.split(['_', '-', '.', '@']).next().unwrap_or_default().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::Lang;

    #[test]
    fn locales_name_their_language() {
        for locale in ["zh_CN.UTF-8", "zh_TW", "zh", "zh-Hans-CN", "ZH_cn.GB18030"] {
            assert_eq!(Lang::from_locale(locale), Lang::Zh, "{locale}");
        }
        for locale in ["C", "POSIX", "", "en_GB.UTF-8", "C.UTF-8", "de_DE", "zhx"] {
            assert_eq!(Lang::from_locale(locale), Lang::En, "{locale}");
        }
        assert_eq!(Lang::parse("fr"), None);
    }

    #[test]
    fn the_first_variable_that_is_set_decides() {
        let environment = |pairs: &'static [(&'static str, &'static str)]| {
            move |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        assert_eq!(Lang::detect(environment(&[("LANG", "zh_CN.UTF-8")])), Lang::Zh);
        assert_eq!(Lang::detect(environment(&[("LC_ALL", "C"), ("LANG", "zh_CN.UTF-8")])), Lang::En);
        assert_eq!(Lang::detect(environment(&[("LC_ALL", ""), ("LC_MESSAGES", "zh_CN")])), Lang::Zh);
        assert_eq!(Lang::detect(environment(&[])), Lang::En);
    }
}
