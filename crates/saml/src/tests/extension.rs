//! Tests of what the crate adds to the hub, and of its page in every language.

use passerelle_extension::testing::check_extension;
use passerelle_localization::Languages;
use passerelle_web::pages::HiddenField;
use passerelle_web::testing::page_checks::{check_pages, render_in_every_language, sample_theme};

use crate::EXTENSION;
use crate::pages::RequestPage;

#[test]
fn every_text_and_every_error_is_complete() {
    check_extension(&EXTENSION);
}

#[test]
fn the_page_keeps_the_rules_of_pages() {
    EXTENSION.install();
    let pages = render_in_every_language(&Languages::built_in(), &sample_theme(), |chrome| {
        let page = RequestPage {
            provider: "Universit\u{e9} <b>".into(),
            action: "https://sp.example/sso?a=b&c=\"><script>".into(),
            fields: vec![HiddenField::new("RelayState", "\"><script>")],
        };
        vec![("saml request".to_owned(), page.render(chrome))]
    });
    check_pages(&pages);
}
