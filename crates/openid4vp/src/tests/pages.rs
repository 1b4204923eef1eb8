//! Tests of the pages of wallets in every language.

use crate::EXTENSION;
use crate::pages::{
    ConfirmationCodePage, DigitalCredentialsForm, OpenWalletPage, OtherDevicePage, QrImage,
    WalletCodeError,
};
use crate::wallet_page::{RequestedClaim, WalletLink};
use passerelle_localization::Languages;
use passerelle_web::pages::{HiddenField, PageChrome};
use passerelle_web::testing::page_checks::{check_pages, render_in_every_language, sample_theme};

const HASH: &str = "Zm9vYmFy";

fn open_wallet_page() -> OpenWalletPage {
    let claim = |name: &str, is_optional| RequestedClaim { name: name.into(), is_optional };
    let link = |name: Option<&str>, url: &str| WalletLink {
        name: name.map(str::to_owned),
        url: url.into(),
    };
    OpenWalletPage {
        provider: "Portefeuille européen".into(),
        logo: None,
        service: "Mairie de Saint-Étienne".into(),
        claims: vec![
            claim("given_name", false),
            claim("birth_family_name", false),
            claim("/place_of_birth/locality", false),
            claim("/place_of_birth/country", false),
            claim("personal_administrative_number", false),
            claim("<script>", false),
            claim("nationalities", true),
        ],
        links: vec![
            link(None, "openid4vp://?client_id=x509_hash%3Aabc&request_uri=https%3A%2F%2Fhub"),
            link(Some("Wallet \"<b>"), "https://wallet.example/authorize?client_id=a&b=c"),
        ],
        digital_credentials: None,
        other_device_url: Some("/connectors/eudi/wallet/other-device?state=s".into()),
        back_url: format!("/api/v2/interaction/{HASH}"),
    }
}

fn wallet_pages(chrome: &PageChrome<'_>) -> Vec<(String, String)> {
    let open = open_wallet_page();
    let with_api = OpenWalletPage {
        digital_credentials: Some(DigitalCredentialsForm {
            request: "e30.e30.\"><script>".into(),
            action: "/connectors/eudi/wallet/digital-credential".into(),
            hidden: vec![HiddenField::new("state", "\"><script>"), HiddenField::new("csrf", "c")],
        }),
        ..open.clone()
    };
    let scan = |error| {
        let page = OtherDevicePage {
            service: "Mairie de Saint-Étienne".into(),
            qr: QrImage { size: 21, path: "M0 0h7v7h-7zM14 0h7v7h-7z".into() },
            action: "/connectors/eudi/wallet/other-device".into(),
            hidden: vec![HiddenField::new("state", "\"><script>"), HiddenField::new("csrf", "c")],
            error,
            back_url: format!("/api/v2/interaction/{HASH}"),
        };
        page.render(chrome)
    };
    let code = ConfirmationCodePage { service: "Mairie <b>".into(), code: "048213".into() };
    let pages = vec![
        ("wallet", open.render(chrome)),
        ("wallet-api", with_api.render(chrome)),
        ("wallet-other-device", scan(None)),
        ("wallet-waiting", scan(Some(WalletCodeError::Waiting))),
        ("wallet-wrong-code", scan(Some(WalletCodeError::Wrong))),
        ("wallet-exhausted", scan(Some(WalletCodeError::Exhausted))),
        ("wallet-code", code.render(chrome)),
    ];
    pages.into_iter().map(|(name, html)| (name.to_owned(), html)).collect()
}

#[test]
fn every_page_of_a_wallet_keeps_the_rules_of_pages() {
    EXTENSION.install();
    check_pages(&render_in_every_language(&Languages::built_in(), &sample_theme(), wallet_pages));
}

#[test]
fn every_text_and_every_error_of_wallets_is_complete() {
    passerelle_extension::testing::check_extension(&EXTENSION);
}
