//! The JSON types of claims.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Claim;

/// The JSON type of a claim's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub enum ClaimType {
    /// A string.
    #[serde(rename = "string")]
    String,
    /// An array of strings.
    #[serde(rename = "string_array")]
    StringArray,
    /// `true` or `false`.
    #[serde(rename = "boolean")]
    Boolean,
    /// A number.
    #[serde(rename = "number")]
    Number,
    /// An object, for example an address.
    #[serde(rename = "object")]
    Object,
}

impl ClaimType {
    /// Returns the type of a claim.
    pub const fn for_claim(claim: Claim) -> Self {
        match claim {
            Claim::GivenNameArray => Self::StringArray,
            Claim::EmailVerified | Claim::PhoneNumberVerified => Self::Boolean,
            Claim::UpdatedAt => Self::Number,
            Claim::Address => Self::Object,
            Claim::Sub
            | Claim::GivenName
            | Claim::FamilyName
            | Claim::Birthdate
            | Claim::Gender
            | Claim::Birthplace
            | Claim::Birthcountry
            | Claim::Email
            | Claim::PreferredUsername
            | Claim::Name
            | Claim::MiddleName
            | Claim::Nickname
            | Claim::Profile
            | Claim::Picture
            | Claim::Website
            | Claim::Zoneinfo
            | Claim::Locale
            | Claim::PhoneNumber => Self::String,
        }
    }

    /// Reads a value of this type; `None` if it has another one. A list of strings may be sent as
    /// one string: a directory's attribute and many identity providers' claims are lists only when
    /// they have several values. What a service provider gets then depends on the claim alone.
    pub fn read_value(self, value: &Value) -> Option<Cow<'_, Value>> {
        if let (Self::StringArray, Value::String(_)) = (self, value) {
            return Some(Cow::Owned(Value::Array(vec![value.clone()])));
        }
        let fits = match self {
            Self::String => value.is_string(),
            Self::StringArray => {
                value.as_array().is_some_and(|items| items.iter().all(Value::is_string))
            }
            Self::Boolean => value.is_boolean(),
            Self::Number => value.is_number(),
            Self::Object => value.is_object(),
        };
        fits.then_some(Cow::Borrowed(value))
    }

    /// Returns what a value of this type is, for messages.
    pub const fn description(self) -> &'static str {
        match self {
            Self::String => "a string",
            Self::StringArray => "an array of strings",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::Object => "an object",
        }
    }
}

/// Returns what a value is, for messages.
pub const fn describe_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
