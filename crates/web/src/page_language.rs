//! The language of a page, and where the page's choice of another language leads back to, so that a
//! login keeps its place.

use std::ops::Deref;

use actix_web::HttpRequest;
use actix_web::http::Method;

use passerelle_localization::Locale;
use passerelle_protocol::ids::InteractionHash;

/// Bytes of a path to return to: a longer one makes the page and its address too long.
const MAX_RETURN_PATH_BYTES: usize = 2000;

/// Prefixes of the addresses of pages.
const PAGE_PREFIXES: [&str; 3] = ["/api/v2/", "/connectors/", "/sandbox/"];

/// Prefix of the addresses of logins.
const INTERACTION_PREFIX: &str = "/api/v2/interaction/";

/// Prefixes of the addresses that serve their page once.
const ONE_TIME_PREFIXES: [&str; 2] = ["/api/v2/callback/", "/api/v2/session/end/"];

/// The language of a page, and the path to return to after the choice of another one. Without a
/// path, the page has no choice.
#[derive(Clone, Debug)]
pub struct PageLanguage {
    locale: Locale,
    return_path: Option<String>,
}

impl PageLanguage {
    /// Creates the language of the page that answers a request.
    pub fn for_request(locale: Locale, request: &HttpRequest) -> Self {
        let (path, query) = (request.path(), request.query_string());
        let return_path = if !matches!(*request.method(), Method::GET | Method::HEAD) {
            parse_interaction_path(path)
        } else if ONE_TIME_PREFIXES.iter().any(|prefix| path.starts_with(prefix)) {
            None
        } else if query.is_empty() {
            Some(path.to_owned())
        } else {
            Some(format!("{path}?{query}"))
        };
        Self { locale, return_path: return_path.filter(|path| is_page_path(path)) }
    }

    /// Leads back to `path` if the page itself can't be requested again.
    #[must_use]
    pub fn with_default_return_path(self, path: String) -> Self {
        let default = || Some(path).filter(|path| is_page_path(path));
        Self { return_path: self.return_path.or_else(default), ..self }
    }

    /// Leads back to `path` only.
    #[must_use]
    pub fn with_return_path(&self, path: String) -> Self {
        self.without_return_path().with_default_return_path(path)
    }

    /// Returns the language of a page that must repeat nothing of its request.
    #[must_use]
    pub fn without_return_path(&self) -> Self {
        Self { locale: self.locale.clone(), return_path: None }
    }

    /// Returns the path to return to.
    pub fn return_path(&self) -> Option<&str> {
        self.return_path.as_deref()
    }
}

impl Deref for PageLanguage {
    type Target = Locale;

    fn deref(&self) -> &Locale {
        &self.locale
    }
}

/// Returns the address of the login that a form belongs to.
fn parse_interaction_path(path: &str) -> Option<String> {
    let (start, rest) = path.split_at_checked(INTERACTION_PREFIX.len())?;
    let hash = rest.split('/').next()?;
    (start == INTERACTION_PREFIX && InteractionHash::is_well_formed(hash))
        .then(|| format!("{start}{hash}"))
}

/// Returns whether the path is `/`, or `/` and a word, as `/status`.
fn is_top_level(path: &str) -> bool {
    path.strip_prefix('/').is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_lowercase()))
}

/// Returns whether the path is one of the hub's own pages, in characters that a browser takes
/// literally. Against open redirects: `//host`, `/\host`, `https:host` and control characters.
pub fn is_page_path(path: &str) -> bool {
    path.len() <= MAX_RETURN_PATH_BYTES
        && (is_top_level(path) || PAGE_PREFIXES.iter().any(|prefix| path.starts_with(prefix)))
        && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_return_path_never_leads_to_another_site() {
        for good in [
            "/",
            "/status",
            "/api/v2/interaction/abc",
            "/api/v2/authorize?a=%2F%2Fb",
            "/connectors/x/login?state=1",
        ] {
            assert!(is_page_path(good), "{good}");
        }
        for bad in [
            "",
            "/?x",
            "//evil.example/api/v2/",
            "/\\evil.example",
            "https://evil.example/api/v2/",
            "javascript:alert(1)",
            "api/v2/interaction/abc",
            "/api/v2/\r\nset-cookie: a=b",
            "/api/v2/\\evil",
            "/api/v2/é",
            "@evil.example/api/v2/",
        ] {
            assert!(!is_page_path(bad), "{bad}");
        }
        assert!(!is_page_path(&format!("/api/v2/{}", "a".repeat(MAX_RETURN_PATH_BYTES))));
    }
}
