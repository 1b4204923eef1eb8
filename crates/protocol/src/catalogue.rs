//! Every error of the hub; codes are stable forever (`docs/integrate/errors.md`).
//!
//! `passerelle errors` prints the table, and `docs/errors.md` is generated from it. Codes are
//! never reused or renumbered. `description` is sent as `error_description`: printable ASCII
//! without `"` and `\` (RFC 6749 §4.1.2.1), never a value from a request or an identity provider.

use std::sync::{PoisonError, RwLock};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Who caused an error. Determines metrics and alerts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ErrorOrigin {
    /// The service provider's (or data provider's) software.
    Client,
    /// The identity provider, or the register.
    Upstream,
    /// The user, or their browser.
    User,
    /// A rule of the federation.
    Policy,
    /// This hub.
    Hub,
}

/// Who can fix an error; the error page names them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ResponsibleParty {
    User,
    ServiceProvider,
    IdentityProvider,
    Operator,
}

/// Log level of an error.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LogSeverity {
    Info,
    Warn,
    Error,
}

/// One row of the catalogue.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct CatalogueEntry {
    /// `Y` and six digits.
    pub code: &'static str,
    /// HTTP status of a direct error response.
    pub status: u16,
    /// OAuth or OpenID Connect `error` for a service provider.
    pub oauth: &'static str,
    pub severity: LogSeverity,
    pub origin: ErrorOrigin,
    pub responsible: ResponsibleParty,
    /// Key of the public text in `locales/`: `error-…`.
    pub page_text: &'static str,
    /// `error_description`, and the developer's line on a 400 page.
    pub description: &'static str,
    /// Whether a wrong clock of the hub can cause the error: of the identity provider's times, or of
    /// the times in the hub's own assertions.
    pub depends_on_clock: bool,
    /// Of a row of an optional crate: whether a browser can cause an error of origin `Upstream` at
    /// will, so that it does not count against the identity provider's health.
    pub caused_by_browser: bool,
}

/// Expands to the row of a parameter that is missing or repeated.
macro_rules! param_entry {
    ($code:literal, $responsible:ident, $description:expr) => {
        &CatalogueEntry {
            code: $code,
            status: 400,
            oauth: "invalid_request",
            severity: LogSeverity::Info,
            origin: ErrorOrigin::Client,
            responsible: ResponsibleParty::$responsible,
            page_text: "error-bad-request",
            description: $description,
            depends_on_clock: false,
            caused_by_browser: false,
        }
    };
}

macro_rules! catalogue {
    (
        parameters {
            $($group:ident $party:ident {
                $($param:ident $name:literal Repeated $repeated:literal $($missing_variant:ident $missing:literal)?;)*
            })*
        }
        $($variant:ident = $code:literal $status:literal $oauth:literal $severity:ident $origin:ident $responsible:ident $text:literal $description:literal $($clock:ident)?;)*
    ) => {
        /// An error code of the catalogue.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum ErrorCode {
            $(#[doc = $description] $variant,)*
            /// The parameter was sent more than once.
            Repeated(Param),
            /// The parameter is missing or empty.
            Missing(RequiredParam),
            /// An error of an optional crate, which declares its row.
            Extension(&'static CatalogueEntry),
        }

        /// A parameter of one endpoint that may be sent at most once.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Param { $($(#[doc = concat!("`", $name, "`")] $param,)*)* }

        /// A parameter of one endpoint that must be sent.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum RequiredParam { $($($(#[doc = concat!("`", $name, "`; else ", $missing)] $param,)?)*)* }

        impl Param {
            $(
                /// The parameters of one endpoint, in the order in which a repeated one is
                /// reported.
                pub const $group: &'static [Self] = &[$(Self::$param,)*];
            )*

            /// Returns the name in a request.
            pub const fn name(self) -> &'static str {
                match self { $($(Self::$param => $name,)*)* }
            }
        }

        impl RequiredParam {
            /// Returns the parameter.
            pub const fn param(self) -> Param {
                // `$missing` makes the macro skip the others.
                match self { $($($(Self::$param => (Param::$param, $missing).0,)?)*)* }
            }
        }

        impl ErrorCode {
            /// Every code without those of optional crates.
            pub(super) const BUILT_IN: &'static [Self] = &[
                $(Self::$variant,)*
                $($(Self::Repeated(Param::$param), $(Self::$missing_variant(RequiredParam::$param),)?)*)*
            ];

            /// Returns the row of this code.
            pub const fn entry(self) -> &'static CatalogueEntry {
                match self {
                    Self::Extension(row) => row,
                    $(Self::$variant => const { &CatalogueEntry {
                        code: $code, status: $status, oauth: $oauth,
                        severity: LogSeverity::$severity, origin: ErrorOrigin::$origin,
                        responsible: ResponsibleParty::$responsible, page_text: $text, description: $description,
                        depends_on_clock: !<[&str]>::is_empty(&[$(stringify!($clock))?]),
                        caused_by_browser: false,
                    } },)*
                    $($(Self::Repeated(Param::$param) => param_entry!(
                        $repeated, $party,
                        concat!("The parameter ", $name, " was sent more than once.")
                    ),)*)*
                    $($($(Self::$missing_variant(RequiredParam::$param) => param_entry!(
                        $missing, $party,
                        concat!("The parameter ", $name, " is missing or empty.")
                    ),)?)*)*
                }
            }
        }
    };
}

/// Declares the rows of an optional crate, in the form of the catalogue's own table, as constants, and
/// `ALL` of them. The constants work as patterns. A row may end in `, CausedByBrowser`.
#[macro_export]
macro_rules! error_codes {
    ($($name:ident = $code:literal $status:literal $oauth:literal $severity:ident $origin:ident $responsible:ident $text:literal $description:literal $($clock:ident)? $(, $browser:ident)?;)*) => {
        $(
            #[doc = $description]
            pub const $name: $crate::catalogue::ErrorCode =
                $crate::catalogue::ErrorCode::Extension(&$crate::catalogue::CatalogueEntry {
                    code: $code,
                    status: $status,
                    oauth: $oauth,
                    severity: $crate::catalogue::LogSeverity::$severity,
                    origin: $crate::catalogue::ErrorOrigin::$origin,
                    responsible: $crate::catalogue::ResponsibleParty::$responsible,
                    page_text: $text,
                    description: $description,
                    depends_on_clock: !<[&str]>::is_empty(&[$(stringify!($clock))?]),
                    caused_by_browser: !<[&str]>::is_empty(&[$(stringify!($browser))?]),
                });
        )*

        /// Every code.
        pub const ALL: &[$crate::catalogue::ErrorCode] = &[$($name),*];
    };
}

mod families;
mod rendering;
mod table;

pub use rendering::{CatalogueRow, catalogue_rows, explain_code, render_markdown, render_table};
pub use table::{ErrorCode, Param, RequiredParam};

/// Codes of the optional crates of this program. A stored record names an error by its code, and
/// serde hands its reader no context, so the list belongs to the process
/// (docs/design/adr/0037-extensions.md).
static EXTENSION_CODES: RwLock<Vec<ErrorCode>> = RwLock::new(Vec::new());

impl ErrorCode {
    /// Adds the codes of an optional crate. Has no effect on those that were added before.
    pub fn add_extension(codes: &[Self]) {
        let mut known = EXTENSION_CODES.write().unwrap_or_else(PoisonError::into_inner);
        for code in codes {
            if !known.contains(code) {
                known.push(*code);
            }
        }
    }

    /// Returns every code of this program.
    pub fn all() -> Vec<Self> {
        let extensions = EXTENSION_CODES.read().unwrap_or_else(PoisonError::into_inner);
        Self::BUILT_IN.iter().chain(extensions.iter()).copied().collect()
    }

    /// Returns the error with this code, for example `Y020020`.
    pub fn find(code: &str) -> Option<Self> {
        let extensions = EXTENSION_CODES.read().unwrap_or_else(PoisonError::into_inner);
        let mut all = Self::BUILT_IN.iter().chain(extensions.iter());
        all.find(|known| known.entry().code == code).copied()
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.entry().code)
    }
}

impl<'de> Deserialize<'de> for ErrorCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::find(&name).ok_or_else(|| D::Error::custom("unknown error code"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_code_is_read_as_the_same_code() {
        for code in &ErrorCode::all() {
            let stored = serde_json::to_string(code).unwrap();
            assert_eq!(serde_json::from_str::<ErrorCode>(&stored).unwrap(), *code, "{stored}");
        }
        assert!(serde_json::from_str::<ErrorCode>("\"Repeated\"").is_err());
    }
}
