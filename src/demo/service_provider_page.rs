//! The demo service provider's one page, from what it knows to HTML. Everything is escaped: most of it came from outside.

use std::fmt::Write as _;

/// What the page shows.
pub enum View<'a> {
    SignedOut(SignedOut<'a>),
    SignedIn(&'a SignedIn),
    Failed(&'a Failed),
}

pub struct SignedOut<'a> {
    pub issuer: &'a str,
    /// The level of assurance that a sign-in asks for.
    pub acr: &'a str,
    /// Space-separated.
    pub scopes: &'a str,
}

/// A finished sign-in: every check has passed.
pub struct SignedIn {
    pub id_token: Decoded,
    pub userinfo: Decoded,
    /// The claims of userinfo, one row each.
    pub claims: Vec<(String, String)>,
    /// The token endpoint's body as it came.
    pub token_answer: String,
}

/// A JWS, as it came and taken apart.
pub struct Decoded {
    pub raw: String,
    /// Indented JSON.
    pub header: String,
    /// Indented JSON.
    pub payload: String,
}

pub enum Failed {
    /// The hub sent the browser back with an error (RFC 6749, 4.1.2.1).
    Returned { error: String, description: Option<String> },
    /// The answer broke a rule, or could not be had; nothing of it was used.
    Refused { reason: String },
}

/// A whole HTML document.
#[must_use]
pub fn render(view: &View<'_>) -> String {
    let mut page = String::from(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>Demo service</title></head><body><main><h1>Demo service</h1>",
    );
    match view {
        View::SignedOut(view) => signed_out(&mut page, view),
        View::SignedIn(view) => signed_in(&mut page, view),
        View::Failed(view) => failed(&mut page, view),
    }
    page.push_str("</main></body></html>");
    page
}

const SIGN_IN: &str = "<form method=\"post\" action=\"/login\"><button>Sign in</button></form>";

fn signed_out(page: &mut String, view: &SignedOut<'_>) {
    page.push_str("<p>You are not signed in.</p>");
    page.push_str(SIGN_IN);
    paragraph(page, "Hub", view.issuer);
    paragraph(page, "Level asked", view.acr);
    paragraph(page, "Scopes asked", view.scopes);
}

fn signed_in(page: &mut String, view: &SignedIn) {
    page.push_str("<p>You are signed in.</p><form method=\"post\" action=\"/logout\"><button>Sign out here</button></form>");
    page.push_str("<h2>Claims</h2><table>");
    for (name, value) in &view.claims {
        let _ = write!(page, "<tr><th scope=\"row\">{}</th><td>{}</td></tr>", escape(name), escape(value));
    }
    page.push_str("</table>");
    for (title, token) in [("ID token", &view.id_token), ("Userinfo", &view.userinfo)] {
        let _ = write!(page, "<section><h2>{title}</h2>");
        block(page, "Header", &token.header);
        block(page, "Payload", &token.payload);
        block(page, "As it came", &token.raw);
        page.push_str("</section>");
    }
    block(page, "Token answer as it came", &view.token_answer);
}

fn failed(page: &mut String, view: &Failed) {
    match view {
        Failed::Returned { error, description } => {
            page.push_str("<p>The hub sent you back without signing you in.</p>");
            paragraph(page, "Error", error);
            if let Some(description) = description {
                paragraph(page, "Description", description);
            }
        }
        Failed::Refused { reason } => {
            page.push_str("<p>This service refused the answer.</p>");
            paragraph(page, "Reason", reason);
        }
    }
    page.push_str(SIGN_IN);
}

fn paragraph(page: &mut String, name: &str, value: &str) {
    let _ = write!(page, "<p>{name}: <code>{}</code></p>", escape(value));
}

fn block(page: &mut String, name: &str, value: &str) {
    let _ = write!(page, "<h3>{name}</h3><pre>{}</pre>", escape(value));
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_in_an_error_description_stays_text() {
        let description = Some("<script>alert('x')</script>&\"".to_owned());
        let page = render(&View::Failed(&Failed::Returned { error: "<b>".into(), description }));
        assert!(!page.contains("<script") && !page.contains("<b>"));
        assert!(page.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&quot;"));
    }
}
