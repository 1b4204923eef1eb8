//! Request parameters as ordered pairs. A map would silently drop one of two `redirect_uri`s, and
//! the hub, a proxy and the service provider could disagree on which one counts (HTTP parameter
//! pollution).

use super::catalogue::{ErrorCode, Param, RequiredParam};
use super::field_value::is_media_type;

/// Percent-decoded `(name, value)` pairs in request order.
/// `Debug` prints only the number of parameters: values are codes, secrets and hints.
#[derive(Clone, Default, PartialEq, Eq, derive_more::Debug)]
#[debug("Params({})", pairs.len() + unreadable.len())]
pub struct Params {
    pairs: Vec<(String, String)>,
    /// Names of the parameters whose values can't be decoded. Such a parameter is an error where it
    /// is read, and is ignored where it is unknown (RFC 6749 §3.1).
    unreadable: Vec<String>,
}

/// Error for a parameter whose value is ambiguous or unknown.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParamError {
    /// RFC 6749 §3.1 and §3.2 forbid it.
    #[error("the parameter was sent more than once")]
    Repeated,
    /// Its value has a malformed percent sequence, or is not UTF-8 (RFC 6749 Appendix B).
    #[error("the parameter can't be decoded")]
    Unreadable,
}

impl Params {
    /// Creates parameters from percent-decoded pairs.
    pub const fn new(pairs: Vec<(String, String)>) -> Self {
        Self { pairs, unreadable: Vec::new() }
    }

    /// Adds the names of parameters whose values can't be decoded.
    #[must_use]
    pub fn with_unreadable(self, unreadable: Vec<String>) -> Self {
        Self { unreadable, ..self }
    }

    /// Makes the values that have other characters than ASCII unreadable.
    #[must_use]
    pub fn with_ascii_only(self) -> Self {
        let (pairs, others): (Vec<_>, Vec<_>) =
            self.pairs.into_iter().partition(|(_, value)| value.is_ascii());
        let unreadable =
            self.unreadable.into_iter().chain(others.into_iter().map(|(name, _)| name));
        Self { pairs, unreadable: unreadable.collect() }
    }

    /// Decodes a query (without its `?`) or a form body. Never fails: invalid UTF-8 becomes U+FFFD,
    /// which every check rejects.
    pub fn decode(encoded: &[u8]) -> Self {
        Self::new(url::form_urlencoded::parse(encoded).into_owned().collect())
    }

    /// Returns the value of a parameter; an empty one counts as absent (RFC 6749 §3.1).
    ///
    /// # Errors
    /// `Repeated` if the name was sent more than once, even empty; `Unreadable`.
    pub fn single(&self, name: &str) -> Result<Option<&str>, ParamError> {
        let readable =
            self.pairs.iter().filter(|(n, _)| n == name).map(|(_, value)| Some(value.as_str()));
        let unreadable = self.unreadable.iter().filter(|n| *n == name).map(|_| None);
        let mut values = readable.chain(unreadable);
        match (values.next(), values.next()) {
            (_, Some(_)) => Err(ParamError::Repeated),
            (Some(None), None) => Err(ParamError::Unreadable),
            (first, None) => Ok(first.flatten().filter(|value| !value.is_empty())),
        }
    }

    /// Returns the value as [`Self::single`] does.
    ///
    /// # Errors
    /// `Repeated` if the name was sent more than once, `BadRequest` if its value is unreadable.
    pub fn once(&self, param: Param) -> Result<Option<&str>, ErrorCode> {
        self.single(param.name()).map_err(|error| match error {
            ParamError::Repeated => ErrorCode::Repeated(param),
            ParamError::Unreadable => ErrorCode::BadRequest,
        })
    }

    /// Returns the value of a parameter that must be sent.
    ///
    /// # Errors
    /// `Repeated` or `Missing`.
    pub fn required(&self, param: RequiredParam) -> Result<&str, ErrorCode> {
        self.once(param.param())?.ok_or(ErrorCode::Missing(param))
    }

    /// Checks that none of these was sent more than once.
    ///
    /// # Errors
    /// `Repeated`, of the first of `params`.
    pub fn check_repeated(&self, params: &[Param]) -> Result<(), ErrorCode> {
        params.iter().try_for_each(|param| self.once(*param).map(drop))
    }

    /// Checks that the value of each of these can be decoded. Otherwise the hub could not return a
    /// `state` unchanged.
    ///
    /// # Errors
    /// `BadRequest`.
    pub fn check_readable(&self, params: &[Param]) -> Result<(), ErrorCode> {
        let is_unreadable = |param: &Param| self.unreadable.iter().any(|name| name == param.name());
        if params.iter().any(is_unreadable) { Err(ErrorCode::BadRequest) } else { Ok(()) }
    }

    /// Returns the value; a repeated or unreadable parameter counts as absent, too.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.single(name).ok().flatten()
    }

    /// Returns true if the name was sent, even without a value.
    pub fn contains(&self, name: &str) -> bool {
        self.pairs.iter().map(|(n, _)| n).chain(&self.unreadable).any(|n| n == name)
    }

    /// Returns all readable pairs in request order.
    pub fn pairs(&self) -> &[(String, String)] {
        &self.pairs
    }
}

/// Returns true for `application/x-www-form-urlencoded`, in any case and with any media type
/// parameters.
pub fn is_form_urlencoded(content_type: Option<&str>) -> bool {
    is_media_type(content_type, "application/x-www-form-urlencoded")
}

/// Checks that a POST is a form without a query (R120). `query` is the part after the `?`.
///
/// # Errors
/// `not_form` or `with_query`, the code for a 400 page.
pub fn check_post(
    content_type: Option<&str>,
    query: &str,
    not_form: ErrorCode,
    with_query: ErrorCode,
) -> Result<(), ErrorCode> {
    if !is_form_urlencoded(content_type) {
        return Err(not_form);
    }
    if query.is_empty() { Ok(()) } else { Err(with_query) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_parameter_is_seen_even_if_empty_or_equal() {
        for twice in ["a=1&a=1", "a=1&b=2&a=", "a&a=1", "%61=1&a=1"] {
            assert_eq!(
                Params::decode(twice.as_bytes()).single("a"),
                Err(ParamError::Repeated),
                "{twice}"
            );
            assert_eq!(Params::decode(twice.as_bytes()).get("a"), None, "{twice}");
        }
    }

    #[test]
    fn a_repeated_parameter_is_named_before_a_missing_one() {
        let params = Params::decode(b"scope=&scope=&nonce=");
        let repeated = ErrorCode::Repeated(Param::Scope);
        assert_eq!(params.once(Param::Scope), Err(repeated));
        assert_eq!(params.required(RequiredParam::Scope), Err(repeated));
        assert_eq!(params.check_repeated(&[Param::Nonce, Param::Scope]), Err(repeated));
        assert_eq!(params.once(Param::Nonce), Ok(None));
        let missing = ErrorCode::Missing(RequiredParam::Nonce);
        assert_eq!(params.required(RequiredParam::Nonce), Err(missing));
    }

    #[test]
    fn empty_is_absent_but_named() {
        let params = Params::decode(b"a=&b=x+y%20z");
        assert_eq!(params.single("a"), Ok(None));
        assert_eq!(params.single("b"), Ok(Some("x y z")));
        assert_eq!(params.single("A"), Ok(None));
        assert!(params.contains("a") && !params.contains("c"));
        assert_eq!(params.pairs().len(), 2);
    }

    #[test]
    fn values_are_not_printed() {
        assert_eq!(format!("{:?}", Params::decode(b"client_secret=hunter2")), "Params(1)");
    }

    #[test]
    fn form_bodies_are_known_by_their_media_type() {
        let form = "application/x-www-form-urlencoded";
        for good in [
            form,
            "Application/X-WWW-Form-Urlencoded",
            "application/x-www-form-urlencoded ; charset=UTF-8",
        ] {
            assert!(is_form_urlencoded(Some(good)), "{good}");
        }
        for bad in [
            None,
            Some(""),
            Some("application/json"),
            Some("text/plain; application/x-www-form-urlencoded"),
        ] {
            assert!(!is_form_urlencoded(bad), "{bad:?}");
        }
    }

    // R120
    #[test]
    fn post_is_a_form_without_a_query() {
        let check = |content_type, query| {
            check_post(
                content_type,
                query,
                ErrorCode::LogoutNotForm,
                ErrorCode::LogoutPostWithQuery,
            )
        };
        let form = Some("application/x-www-form-urlencoded; charset=utf-8");
        assert_eq!(check(form, ""), Ok(()));
        assert_eq!(check(form, "state=1"), Err(ErrorCode::LogoutPostWithQuery));
        for other in [None, Some("application/json"), Some("multipart/form-data")] {
            assert_eq!(check(other, "state=1"), Err(ErrorCode::LogoutNotForm));
        }
    }
}
