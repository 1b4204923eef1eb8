//! From an identity provider's methods to the `amr` of an ID token (decisions 9, RFC 8176, R060 to R067).
//!
//! Owns: which methods exist, what category each proves, when `mfa` is true. Must not know: whether `amr` was asked.
//! `mfa` is a conclusion of this hub, never a copy of somebody else's.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// What was used in one authentication; belongs to it, and is kept with its `auth_time`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Evidence {
    /// Never holds `mfa`.
    methods: BTreeSet<Method>,
    /// What the identity provider's `mfa` stands for, if it sent one and the connector's file says so. Counted, not sent.
    behind_mfa: BTreeSet<Method>,
}

/// Evidence, and how many values were dropped from it: those that neither RFC 8176 nor this hub knows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gathered {
    pub evidence: Evidence,
    pub dropped: usize,
}

impl Evidence {
    /// `sent`: the identity provider's `amr`, or the connector's static list. `mfa_means`: the methods for which the
    /// connector's file says that its identity provider's `mfa` stands; empty when it says nothing.
    #[must_use]
    pub fn gather<S: AsRef<str>>(sent: &[S], mfa_means: &[S]) -> Gathered {
        let known = |names: &[S]| names.iter().filter_map(|name| Method::named(name.as_ref())).collect::<Vec<_>>();
        let all = known(sent);
        let dropped = sent.len() - all.len();
        let behind_mfa = if all.contains(&Method::Mfa) { known(mfa_means) } else { Vec::new() };
        let without_mfa = |methods: Vec<Method>| methods.into_iter().filter(|method| *method != Method::Mfa).collect();
        Gathered { evidence: Self { methods: without_mfa(all), behind_mfa: without_mfa(behind_mfa) }, dropped }
    }

    /// The claim `amr`: the methods in a fixed order, `pop` for every proof by a key, `mfa` if and only if two
    /// categories are proven, and last the marker that names this hub, always.
    #[must_use]
    pub fn outgoing(&self, marker: &str) -> Vec<String> {
        let mut methods = self.methods.clone();
        if methods.iter().any(|method| method.is_a_key()) {
            methods.insert(Method::Pop);
        }
        if self.is_multi_factor() {
            methods.insert(Method::Mfa);
        }
        methods.into_iter().map(|method| method.as_str().to_owned()).chain([marker.to_owned()]).collect()
    }

    /// At least two factors of different categories (R061).
    fn is_multi_factor(&self) -> bool {
        let proven: BTreeSet<Category> = self.methods.union(&self.behind_mfa).filter_map(|method| method.category()).collect();
        proven.len() >= 2
    }
}

/// True for a name that has a meaning in `amr`: one of [`METHODS`]. None of them can be the marker.
#[must_use]
pub fn registered(name: &str) -> bool {
    Method::named(name).is_some()
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Category {
    Knowledge,
    Possession,
    Inherence,
}

macro_rules! methods {
    ($($variant:ident = $name:literal $category:expr;)*) => {
        /// A method of RFC 8176, section 2, or `mail` (specification 2.4).
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Method { $($variant,)* }

        /// Every name that may stand in `amr` beside the marker: by category, those without one last.
        pub const METHODS: &[&str] = &[$($name,)*];

        impl Method {
            fn named(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)* _ => None }
            }

            const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            const fn category(self) -> Option<Category> {
                match self { $(Self::$variant => $category,)* }
            }
        }
    };
}

methods! {
    Pwd = "pwd" Some(Category::Knowledge);
    Pin = "pin" Some(Category::Knowledge);
    Kba = "kba" Some(Category::Knowledge);
    Otp = "otp" Some(Category::Possession);
    Sms = "sms" Some(Category::Possession);
    Tel = "tel" Some(Category::Possession);
    Hwk = "hwk" Some(Category::Possession);
    Swk = "swk" Some(Category::Possession);
    Sc = "sc" Some(Category::Possession);
    Pop = "pop" Some(Category::Possession);
    Face = "face" Some(Category::Inherence);
    Fpt = "fpt" Some(Category::Inherence);
    Iris = "iris" Some(Category::Inherence);
    Retina = "retina" Some(Category::Inherence);
    Vbm = "vbm" Some(Category::Inherence);
    Mail = "mail" None; // a mailbox is behind a password: it proves nothing that `pwd` doesn't
    Geo = "geo" None;
    Mca = "mca" None; // two channels may still be one category
    Rba = "rba" None;
    User = "user" None;
    Wia = "wia" None;
    Mfa = "mfa" None; // a conclusion, not a factor
}

impl Method {
    /// RFC 8176, 2: a hardware key, a software key and a smart card all prove possession of a key.
    const fn is_a_key(self) -> bool {
        matches!(self, Self::Hwk | Self::Swk | Self::Sc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 8176, section 2, in its order.
    const RFC_8176: [&str; 21] = [
        "face", "fpt", "geo", "hwk", "iris", "kba", "mca", "mfa", "otp", "pin", "pop", "pwd", "rba", "retina", "sc", "sms",
        "swk", "tel", "user", "vbm", "wia",
    ];

    fn words(text: &str) -> Vec<&str> {
        text.split_whitespace().collect()
    }

    fn out(sent: &str, mfa_means: &str) -> String {
        Evidence::gather(&words(sent), &words(mfa_means)).evidence.outgoing("hub").join(" ")
    }

    #[test]
    fn the_examples_of_the_specification() {
        assert_eq!(out("pwd", ""), "pwd hub");
        assert_eq!(out("pwd mail", ""), "pwd mail hub");
        assert_eq!(out("pin pop", ""), "pin pop mfa hub");
    }

    #[test]
    fn every_registered_name_alone() {
        for name in RFC_8176.into_iter().chain(["mail"]) {
            assert!(registered(name), "{name}");
            let expected = match name {
                "hwk" | "swk" | "sc" => format!("{name} pop hub"),
                "mfa" => "hub".into(),
                _ => format!("{name} hub"),
            };
            assert_eq!(out(name, ""), expected);
        }
        assert!(!registered("hub") && !registered("PWD") && !registered(""));
    }

    #[test]
    fn categories_by_decisions_9() {
        let categories = [
            ("pwd pin kba", Some(Category::Knowledge)),
            ("pop hwk swk sc otp sms tel", Some(Category::Possession)),
            ("face fpt iris retina vbm", Some(Category::Inherence)),
            ("mail geo mca rba user wia mfa", None),
        ];
        let mut seen = 0;
        for (names, category) in categories {
            for name in words(names) {
                assert_eq!(Method::named(name).unwrap().category(), category, "{name}");
                assert_eq!(Method::named(name).unwrap().as_str(), name);
                seen += 1;
            }
            assert!(!out(names, "").contains("mfa"), "one category is not multi-factor: {names}");
        }
        assert_eq!(seen, METHODS.len());
    }

    #[test]
    fn outgoing_by_table() {
        for (sent, mfa_means, expected) in [
            ("", "", "hub"),
            ("otp pwd", "", "pwd otp mfa hub"),
            ("pwd pwd", "", "pwd hub"),
            ("pin hwk", "", "pin hwk pop mfa hub"),
            ("face hwk user", "", "hwk pop face user mfa hub"),
            ("hwk otp sms", "", "otp sms hwk pop hub"),
            ("iris pwd", "", "pwd iris mfa hub"),
            ("mail geo rba", "", "mail geo rba hub"),
            // The identity provider's own conclusion is not evidence…
            ("mfa", "", "hub"),
            ("pwd mfa", "", "pwd hub"),
            ("pwd mfa mail", "", "pwd mail hub"),
            // …unless the connector's file says what stands behind it.
            ("mfa", "pwd otp", "mfa hub"),
            ("pwd mfa", "pwd otp", "pwd mfa hub"),
            ("pwd mfa", "otp", "pwd mfa hub"),
            ("mfa", "pwd", "hub"),
            ("mfa", "pwd pin", "hub"),
            ("mfa", "mfa", "hub"),
            ("pwd", "pwd otp", "pwd hub"),
            ("unheard hub HWK pwd ", "", "pwd hub"),
        ] {
            assert_eq!(out(sent, mfa_means), expected, "{sent:?} with mfa = {mfa_means:?}");
        }
    }

    #[test]
    fn unknown_values_and_a_forged_marker_are_dropped_and_counted() {
        let gathered = Evidence::gather(&words("pwd hub Pwd eidas3 otp"), &[]);
        assert_eq!(gathered.dropped, 3);
        assert_eq!(gathered.evidence.outgoing("hub"), ["pwd", "otp", "mfa", "hub"]);
    }

    #[test]
    fn evidence_survives_being_stored() {
        let evidence = Evidence::gather(&["sc", "mfa"], &["pin", "sc"]).evidence;
        let stored = serde_json::to_string(&evidence).unwrap();
        assert_eq!(serde_json::from_str::<Evidence>(&stored).unwrap(), evidence);
    }

    proptest! {
        #[test]
        fn mfa_if_and_only_if_two_categories(picked in proptest::sample::subsequence(&RFC_8176[..], 0..=21)) {
            let gathered = Evidence::gather(&picked, &[]);
            let outgoing = gathered.evidence.outgoing("hub");
            let categories: BTreeSet<Category> =
                outgoing.iter().filter_map(|name| Method::named(name)).filter_map(Method::category).collect();
            prop_assert_eq!(outgoing.contains(&"mfa".to_owned()), categories.len() >= 2);
            prop_assert_eq!(outgoing.last().map(String::as_str), Some("hub"));
            prop_assert_eq!(gathered.dropped, 0);
            prop_assert_eq!(outgoing.iter().collect::<BTreeSet<_>>().len(), outgoing.len());
        }
    }
}
