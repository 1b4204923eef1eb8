//! Derives the `amr` of an ID token from an identity provider's methods (RFC 8176, R060 to R067).
//!
//! Responsible for the known methods, for the category that each proves, and for when `mfa` is
//! released. `mfa` is always the hub's own conclusion, never copied from the identity provider.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use passerelle_protocol::acr::{AchievedAcr, Level};

/// Maximum number of methods that are read; more are dropped.
const MAX_METHODS: usize = 32;

/// The `amr` of an identity provider's response, before it is evaluated.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum UpstreamAmr {
    /// No `amr`: the connector's static list applies.
    #[serde(rename = "Nothing")]
    Absent,
    /// An `amr`, possibly empty: it is taken as complete.
    Methods {
        names: Vec<String>,
        /// Number of values that are not strings; 1 if the claim is neither a list nor a string.
        unreadable: usize,
    },
}

impl UpstreamAmr {
    /// Reads the claim `amr` of an ID token: a list of strings (OpenID Connect Core 1.0 §2). `null`
    /// counts as absent, and one string as a list of one.
    pub fn from_claim(amr: Option<&Value>) -> Self {
        match amr {
            None | Some(Value::Null) => Self::Absent,
            Some(Value::Array(values)) => {
                let names: Vec<String> =
                    values.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                let unreadable = values.len() - names.len();
                Self::Methods { names, unreadable }
            }
            Some(Value::String(only)) => Self::from_methods(&[only]),
            Some(_) => Self::Methods { names: Vec::new(), unreadable: 1 },
        }
    }

    /// Creates an `amr` with these methods.
    pub fn from_methods<S: AsRef<str>>(names: &[S]) -> Self {
        Self::Methods {
            names: names.iter().map(|name| name.as_ref().to_owned()).collect(),
            unreadable: 0,
        }
    }
}

/// The methods of one authentication, stored with its `auth_time`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct AmrEvidence {
    /// Never holds `mfa`.
    methods: BTreeMap<Method, Provenance>,
    /// Methods that the identity provider's `mfa` implies, according to the connector's file.
    /// They count as factors but are not released.
    #[serde(default, rename = "behind_mfa", skip_serializing_if = "BTreeSet::is_empty")]
    mfa_implies: BTreeSet<Method>,
    /// Methods beyond RFC 8176 and `mail` that the connector's file passes on (R065). They prove no
    /// factor.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    passed: BTreeSet<Arc<str>>,
    /// Level names to which the returned `acr` maps, according to the connector's file.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    acr_names: BTreeSet<Arc<str>>,
}

/// Origin of an `amr` value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, derive_more::Display)]
pub enum Provenance {
    /// Reported by the identity provider for this authentication.
    #[display("identity provider")]
    IdentityProvider,
    /// Configured in the connector's file for every authentication.
    #[display("static list")]
    StaticList,
    /// By the hub: `mfa`, the `pop` of a key, its own `mail`, the marker.
    #[display("hub")]
    Hub,
}

/// One value of the outgoing `amr`.
#[derive(Clone, PartialEq, Eq, Debug, derive_more::Display)]
#[display("{name} ({provenance})")]
pub struct AmrValue<'a> {
    pub name: &'a str,
    pub provenance: Provenance,
}

/// Why a reported method is dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DropReason {
    /// Unknown to RFC 8176, to this hub and to the connector's file.
    Unknown,
    /// Not a string, or not a list of strings.
    Unreadable,
    /// More values than the limit.
    TooMany,
    /// `mfa`, but the other methods prove fewer than two categories.
    MfaUnproven,
}

impl DropReason {
    /// Returns the label for metrics and logs.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Unreadable => "unreadable",
            Self::TooMany => "too_many",
            Self::MfaUnproven => "mfa_unproven",
        }
    }
}

/// Evidence, with the number of dropped values by reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GatheredEvidence {
    pub evidence: AmrEvidence,
    pub dropped: BTreeMap<DropReason, usize>,
    /// The unknown values. Untrusted text, to be displayed with care.
    pub unknown: Vec<String>,
}

impl AmrEvidence {
    /// Evaluates a reported `amr`. `static_methods` are the connector's, for a response without
    /// `amr`. `mfa_implies` are the methods that `mfa` stands for, and `passed` those beyond RFC 8176
    /// that are passed on, according to the connector's file; both may be empty.
    pub fn gather(
        reported: &UpstreamAmr,
        static_methods: &[String],
        mfa_implies: &[String],
        passed: &[String],
    ) -> GatheredEvidence {
        let (names, unreadable, by) = match reported {
            UpstreamAmr::Absent => (static_methods, 0, Provenance::StaticList),
            UpstreamAmr::Methods { names, unreadable } => {
                (names.as_slice(), *unreadable, Provenance::IdentityProvider)
            }
        };
        let read = names.get(..MAX_METHODS).unwrap_or(names);
        let known: Vec<Method> = read.iter().filter_map(|name| Method::from_name(name)).collect();
        let others = read.iter().filter(|name| !is_known_method(name));
        let (passed, unknown): (Vec<String>, Vec<String>) =
            others.cloned().partition(|name| passed.contains(name));
        let says_mfa = known.contains(&Method::Mfa);
        let not_mfa = |method: &Method| *method != Method::Mfa;
        let implied = if says_mfa { mfa_implies } else { &[] };
        let evidence = Self {
            acr_names: BTreeSet::new(),
            passed: passed.into_iter().map(Arc::from).collect(),
            methods: known.iter().copied().filter(not_mfa).map(|method| (method, by)).collect(),
            mfa_implies: implied
                .iter()
                .filter_map(|name| Method::from_name(name))
                .filter(not_mfa)
                .collect(),
        };
        let unproven = says_mfa && !evidence.is_multi_factor();
        let counts = [
            (DropReason::Unknown, unknown.len()),
            (DropReason::Unreadable, unreadable),
            (DropReason::TooMany, names.len() - read.len()),
            (DropReason::MfaUnproven, usize::from(unproven)),
        ];
        GatheredEvidence {
            evidence,
            dropped: counts.into_iter().filter(|(_, count)| *count > 0).collect(),
            unknown,
        }
    }

    /// Adds the level names that the returned `acr` stands for. `names` holds the identity
    /// provider's values by level name.
    #[must_use]
    pub fn with_returned_acr(
        self,
        returned: Option<&str>,
        names: &BTreeMap<String, Vec<String>>,
    ) -> Self {
        let stands_for =
            |values: &[String]| returned.is_some_and(|acr| values.iter().any(|value| value == acr));
        let met = names.iter().filter(|(_, values)| stands_for(values));
        let acr_names = met.map(|(name, _)| Arc::from(name.as_str())).collect();
        Self { acr_names, ..self }
    }

    /// Returns what the authentication proves of a requested `acr`.
    pub fn acr_proof(&self, level: Level) -> AchievedAcr<'_> {
        AchievedAcr {
            level,
            multi_factor: self.is_multi_factor(),
            mail: self.has_mail(),
            names: &self.acr_names,
        }
    }

    /// Returns true if the methods contain `mail`.
    pub fn has_mail(&self) -> bool {
        self.methods.contains_key(&Method::Mail)
    }

    /// Returns true unless two categories or `mail` are proven: the user has shown no more than one
    /// factor.
    pub fn is_without_second_step(&self) -> bool {
        !self.has_mail() && !self.is_multi_factor()
    }

    /// Adds `mail`: the user has entered the hub's code. It proves no factor (R063).
    pub fn add_mail(&mut self) {
        self.methods.insert(Method::Mail, Provenance::Hub);
    }

    /// Returns the claim `amr`: the methods in a fixed order, `pop` for every proof by a key, `mfa`
    /// if and only if two categories are proven, the methods that are passed on, and always the
    /// marker of this hub, last.
    pub fn amr_claim(&self, marker: &str) -> Vec<String> {
        self.amr_values(marker).into_iter().map(|value| value.name.to_owned()).collect()
    }

    /// Returns the values of [`Self::amr_claim`] with their origin.
    pub fn amr_values<'a>(&'a self, marker: &'a str) -> Vec<AmrValue<'a>> {
        let mut methods = self.methods.clone();
        if methods.keys().any(|method| method.proves_key_possession()) {
            methods.entry(Method::Pop).or_insert(Provenance::Hub);
        }
        if self.is_multi_factor() {
            methods.insert(Method::Mfa, Provenance::Hub);
        }
        // An identity provider can't speak for the hub.
        let passed = self.passed.iter().filter(|name| ***name != *marker);
        let provenance = Provenance::IdentityProvider;
        let passed = passed.map(|name| AmrValue { name, provenance });
        methods
            .into_iter()
            .map(|(method, by)| AmrValue { name: method.as_str(), provenance: by })
            .chain(passed)
            .chain([AmrValue { name: marker, provenance: Provenance::Hub }])
            .collect()
    }

    /// Returns true for at least two factors of different categories (R061).
    fn is_multi_factor(&self) -> bool {
        let counted = self.methods.keys().chain(&self.mfa_implies);
        counted.filter_map(|method| method.category()).collect::<BTreeSet<Category>>().len() >= 2
    }
}

/// Returns true for a known `amr` value: one of [`METHODS`]. None of them can be the marker.
pub fn is_known_method(name: &str) -> bool {
    Method::from_name(name).is_some()
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Category {
    Knowledge,
    Possession,
    Inherence,
}

macro_rules! methods {
    ($($variant:ident = $name:literal $category:expr;)*) => {
        /// A method of RFC 8176 §2, or `mail`.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Method { $($variant,)* }

        /// Every `amr` value except the marker: by category, those without one last.
        pub const METHODS: &[&str] = &[$($name,)*];

        impl Method {
            fn from_name(name: &str) -> Option<Self> {
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
    Mail = "mail" None; // a mailbox has a password: it proves no more than `pwd`
    Geo = "geo" None;
    Mca = "mca" None; // two channels may still be one category
    Rba = "rba" None;
    User = "user" None;
    Wia = "wia" None;
    Mfa = "mfa" None; // a conclusion, not a factor
}

impl Method {
    /// RFC 8176 §2: a hardware key, a software key and a smart card all prove possession of a key.
    const fn proves_key_possession(self) -> bool {
        matches!(self, Self::Hwk | Self::Swk | Self::Sc)
    }
}

#[cfg(test)]
mod tests;
