//! From an identity provider's methods to the `amr` of an ID token (decisions 9, RFC 8176, R060 to R067).
//!
//! Owns: which methods exist, what category each proves, when `mfa` is true. Must not know: whether `amr` was asked.
//! `mfa` is a conclusion of this hub, never a copy of somebody else's.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// No identity provider has more methods; what is beyond is dropped.
const MOST: usize = 32;

/// What an identity provider told of an authentication's methods, before any of it is weighed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Told {
    /// No `amr`: the connector's static list counts.
    Nothing,
    /// Its `amr`, an empty one included: whoever says something is believed to have said all.
    Methods {
        names: Vec<String>,
        /// Values that are no text, or a claim that is no list: how many.
        unreadable: usize,
    },
}

impl Told {
    /// The claim `amr` of an ID token: a list of texts (OpenID Connect Core 1.0, 2). `null` counts as absent.
    #[must_use]
    pub fn by_claim(amr: Option<&Value>) -> Self {
        match amr {
            None | Some(Value::Null) => Self::Nothing,
            Some(Value::Array(values)) => {
                let names: Vec<String> =
                    values.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                let unreadable = values.len() - names.len();
                Self::Methods { names, unreadable }
            }
            Some(_) => Self::Methods { names: Vec::new(), unreadable: 1 },
        }
    }

    #[must_use]
    pub fn these<S: AsRef<str>>(names: &[S]) -> Self {
        Self::Methods {
            names: names.iter().map(|name| name.as_ref().to_owned()).collect(),
            unreadable: 0,
        }
    }
}

/// What was used in one authentication; belongs to it, and is kept with its `auth_time`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Evidence {
    /// Never holds `mfa`.
    methods: BTreeMap<Method, Provenance>,
    /// What the `mfa` that was told stands for, where the connector's file says so. Counted, not sent.
    behind_mfa: BTreeSet<Method>,
}

/// Whose word a value of `amr` is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Provenance {
    /// The identity provider told it of this very authentication.
    IdentityProvider,
    /// The connector's file says it of every authentication there.
    StaticList,
    /// The hub concludes it: `mfa`, the `pop` of a key, the marker.
    Hub,
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::IdentityProvider => "identity provider",
            Self::StaticList => "static list",
            Self::Hub => "hub",
        })
    }
}

/// One value of the outgoing `amr`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stated<'a> {
    pub name: &'a str,
    pub by: Provenance,
}

impl fmt::Display for Stated<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.by)
    }
}

/// Why something that was told is not believed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Dropped {
    /// Neither RFC 8176 nor this hub knows the value.
    Unknown,
    /// No text, or no list of texts.
    Unreadable,
    /// More values than anybody has methods.
    TooMany,
    /// `mfa`, but the rest of it proves fewer than two categories.
    MfaUnproven,
}

impl Dropped {
    /// For metrics and logs.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Unreadable => "unreadable",
            Self::TooMany => "too_many",
            Self::MfaUnproven => "mfa_unproven",
        }
    }
}

/// Evidence, and what was dropped on the way to it: how many values, for each reason that there was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gathered {
    pub evidence: Evidence,
    pub dropped: BTreeMap<Dropped, usize>,
    /// The values that nobody knows: a stranger's text, to be shown with care.
    pub unknown: Vec<String>,
}

impl Evidence {
    /// `list`: the methods that the connector's file counts on when nothing is told. `mfa_means`: those for which it
    /// says that `mfa` stands there; empty when it says nothing.
    #[must_use]
    pub fn gather(told: &Told, list: &[String], mfa_means: &[String]) -> Gathered {
        let (names, unreadable, by) = match told {
            Told::Nothing => (list, 0, Provenance::StaticList),
            Told::Methods { names, unreadable } => {
                (names.as_slice(), *unreadable, Provenance::IdentityProvider)
            }
        };
        let read = names.get(..MOST).unwrap_or(names);
        let known: Vec<Method> = read.iter().filter_map(|name| Method::named(name)).collect();
        let unknown: Vec<String> = read.iter().filter(|name| !registered(name)).cloned().collect();
        let says_mfa = known.contains(&Method::Mfa);
        let not_mfa = |method: &Method| *method != Method::Mfa;
        let behind = if says_mfa { mfa_means } else { &[] };
        let evidence = Self {
            methods: known.iter().copied().filter(not_mfa).map(|method| (method, by)).collect(),
            behind_mfa: behind
                .iter()
                .filter_map(|name| Method::named(name))
                .filter(not_mfa)
                .collect(),
        };
        let unproven = says_mfa && !evidence.is_multi_factor();
        let counts = [
            (Dropped::Unknown, unknown.len()),
            (Dropped::Unreadable, unreadable),
            (Dropped::TooMany, names.len() - read.len()),
            (Dropped::MfaUnproven, usize::from(unproven)),
        ];
        Gathered {
            evidence,
            dropped: counts.into_iter().filter(|(_, count)| *count > 0).collect(),
            unknown,
        }
    }

    /// The claim `amr`: the methods in a fixed order, `pop` for every proof by a key, `mfa` if and only if two
    /// categories are proven, and last the marker that names this hub, always.
    #[must_use]
    pub fn outgoing(&self, marker: &str) -> Vec<String> {
        self.stated(marker).into_iter().map(|stated| stated.name.to_owned()).collect()
    }

    /// The values of [`Self::outgoing`], each with whose word it is.
    #[must_use]
    pub fn stated<'a>(&self, marker: &'a str) -> Vec<Stated<'a>> {
        let mut methods = self.methods.clone();
        if methods.keys().any(|method| method.is_a_key()) {
            methods.entry(Method::Pop).or_insert(Provenance::Hub);
        }
        if self.is_multi_factor() {
            methods.insert(Method::Mfa, Provenance::Hub);
        }
        let marker = Stated { name: marker, by: Provenance::Hub };
        methods
            .into_iter()
            .map(|(method, by)| Stated { name: method.as_str(), by })
            .chain([marker])
            .collect()
    }

    /// At least two factors of different categories (R061).
    fn is_multi_factor(&self) -> bool {
        let counted = self.methods.keys().chain(&self.behind_mfa);
        counted.filter_map(|method| method.category()).collect::<BTreeSet<Category>>().len() >= 2
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
mod tests;
