//! The pages for wallets: the one that opens a wallet, the one with a QR code for another device,
//! and the one with the code that this device shows.

use passerelle_localization::OperatorText;
use passerelle_web::page_template;
use passerelle_web::pages::{HiddenField, Locale, PageMessages as _, title_with_error};

use super::wallet_page::{RequestedClaim, WalletLink};

/// Says what the wallet will be asked for, and links to it.
#[derive(Clone, Debug)]
pub(crate) struct OpenWalletPage {
    /// Name of the connector.
    pub provider: OperatorText,
    /// Path of the connector's logo on this host.
    pub logo: Option<String>,
    /// Name of the service provider.
    pub service: OperatorText,
    pub claims: Vec<RequestedClaim>,
    /// For browsers with the Digital Credentials API, if the connector offers it.
    pub digital_credentials: Option<DigitalCredentialsForm>,
    pub links: Vec<WalletLink>,
    /// The page for a wallet on another device, if that is allowed.
    pub other_device_url: Option<String>,
    /// URL of the choice of another account.
    pub back_url: String,
}

/// What the script of the page gives to the Digital Credentials API, and posts afterwards.
#[derive(Clone, Debug)]
pub(crate) struct DigitalCredentialsForm {
    /// Signed request.
    pub request: String,
    /// URL that the form posts to.
    pub action: String,
    pub hidden: Vec<HiddenField>,
}

/// Shows a QR code, and asks for the code that the other device shows.
#[derive(Clone, Debug)]
pub(crate) struct OtherDevicePage {
    /// Name of the service provider.
    pub service: OperatorText,
    pub qr: QrImage,
    /// URL that the form posts to.
    pub action: String,
    pub hidden: Vec<HiddenField>,
    pub error: Option<WalletCodeError>,
    /// URL of the choice of another account.
    pub back_url: String,
}

/// A QR code as an SVG path in a square of `size` units.
#[derive(Clone, Debug)]
pub(crate) struct QrImage {
    pub size: i32,
    pub path: String,
}

/// Why the form is shown again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WalletCodeError {
    /// The wallet has not answered yet.
    Waiting,
    Wrong,
    /// Too many wrong codes: the login at this connector starts again.
    Exhausted,
}

/// Shows the code on the device with the wallet.
#[derive(Clone, Debug)]
pub(crate) struct ConfirmationCodePage {
    /// Name of the service provider.
    pub service: OperatorText,
    pub code: String,
}

page_template!(OpenWalletPage, "wallet.html", |page, t| {
    t.text_with("sign-in-title", "provider", &page.provider)
});
page_template!(OtherDevicePage, "wallet_other_device.html", |page, t| {
    title_with_error(page.error.map(|error| error.text(t)), t.text("wallet-scan-title"))
});
page_template!(ConfirmationCodePage, "wallet_code.html", |_, t| t.text("wallet-code-title"));

impl OpenWalletPage {
    /// Returns the labels of the claims, required ones first, each once.
    fn claim_labels(&self, t: &Locale) -> Vec<(String, bool)> {
        let mut labels: Vec<(String, bool)> = Vec::new();
        for claim in &self.claims {
            let label = claim_label(t, &claim.name);
            if !labels.iter().any(|(known, _)| *known == label) {
                labels.push((label, claim.is_optional));
            }
        }
        labels
    }
}

impl WalletCodeError {
    fn text(self, t: &Locale) -> String {
        t.text(match self {
            Self::Waiting => "wallet-waiting",
            Self::Wrong => "wallet-wrong-code",
            Self::Exhausted => "wallet-exhausted",
        })
    }
}

impl ConfirmationCodePage {
    /// Returns the code in two groups, which are easier to read and type.
    fn grouped_code(&self) -> String {
        let (first, second) = self.code.split_at_checked(3).unwrap_or((&self.code, ""));
        format!("{first} {second}")
    }
}

/// Returns the label of a claim of a PID, or its name.
fn claim_label(t: &Locale, name: &str) -> String {
    let top_level = name.trim_start_matches('/').split('/').next().unwrap_or_default();
    t.text(match top_level {
        "given_name" => "claim-given-names",
        "family_name" => "wallet-family-name",
        "birth_family_name" => "claim-family-name",
        "birth_given_name" => "wallet-birth-given-name",
        "birthdate" => "claim-birthdate",
        "place_of_birth" => "claim-birthplace",
        "nationalities" => "wallet-nationalities",
        "sex" => "claim-gender",
        "personal_administrative_number" => "wallet-personal-number",
        "issuing_country" => "wallet-issuing-country",
        "email" => "claim-email",
        "phone_number" => "claim-phone-number",
        "address" => "claim-address",
        "picture" => "claim-picture",
        _ => return name.to_owned(),
    })
}
