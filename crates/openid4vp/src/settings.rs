//! Defines the `[kind.openid4vp]` table of a connector.

use schemars::JsonSchema;
use serde::Deserialize;

use super::credential::CredentialFormat;
use super::signature::CredentialAlg;
use super::status_list::UnreachableStatusPolicy;
use passerelle_protocol::acr::Level;
use passerelle_settings::{AuthoritiesPath, CertificatePath, FilePath, SecretRef};

/// Longest `request_minutes`: an attacker can use a copied request for as long.
const MAX_REQUEST_MINUTES: u64 = 10;

/// Wallets that present a credential (OpenID for Verifiable Presentations 1.0, HAIP 1.0), such as
/// the European Digital Identity Wallet with a PID.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{
    "certificate": "wallet/access.pem",
    "private_key": { "file": "wallet.key" },
    "trust_anchors": "wallet/issuers.pem",
    "subject_claims": ["personal_administrative_number", "issuing_country"],
    "credentials": [{
        "id": "pid",
        "format": "dc+sd-jwt",
        "types": ["urn:eudi:pid:1"],
        "claims": ["given_name", "family_name", "birthdate", "personal_administrative_number", "issuing_country"]
    }]
}]))]
pub struct Openid4vpKind {
    /// PEM file of the hub's access certificate, and of the intermediate authorities after it. Its
    /// key is on P-256.
    pub certificate: CertificatePath,
    /// The private key of the certificate, in PEM.
    pub private_key: SecretRef,
    /// Name of the hub in the certificate, for `client_id = "x509_san_dns:…"`, which HAIP 1.0 does
    /// not have: for wallets that know no other. Default: `x509_hash` with the digest of the
    /// certificate.
    #[serde(default)]
    pub dns_name: Option<String>,
    /// PEM file of the authorities that issue accepted credentials, or of issuers themselves.
    #[serde(default)]
    pub trust_anchors: Option<AuthoritiesPath>,
    /// PEM file of the authorities of those who sign status lists. Default: the authorities of the
    /// credential.
    #[serde(default)]
    pub status_trust_anchors: Option<AuthoritiesPath>,
    /// Object identifiers of extended key usages that certificates of issuers may have, beyond
    /// document signing (docs/wallet.md).
    #[serde(default)]
    pub extended_key_usages: Vec<String>,
    /// Lists of trusted issuers (ETSI TS 119 602, JSON).
    #[serde(default)]
    pub trust_lists: Vec<TrustListSettings>,
    /// Sends wallets the key identifiers of `trust_anchors` (`trusted_authorities`), so that they
    /// offer only credentials of these authorities.
    #[serde(default)]
    pub send_trusted_authorities: bool,
    /// JSON file with the `verifier_info` of the requests: an array, with the hub's registration
    /// certificate.
    #[serde(default)]
    pub verifier_info: Option<FilePath>,
    /// Wallets that the page links to. Default: any wallet of this device (`openid4vp://`).
    #[serde(default = "any_wallet")]
    pub wallets: Vec<WalletSettings>,
    /// Offers the Digital Credentials API in browsers that have it (OpenID4VP 1.0 appendix A), with
    /// a script on the page. Without the API the page is as before.
    #[serde(default)]
    pub digital_credentials_api: bool,
    /// Shows a QR code for a wallet on another device. The user then types a code of that device
    /// into the browser; the hub can't detect a user who was tricked into doing both for an
    /// attacker (docs/wallet.md).
    #[serde(default)]
    pub cross_device: bool,
    /// What the QR code begins with: a scheme, or the https address of a wallet.
    #[serde(default = "any_wallet_url")]
    pub cross_device_url: String,
    /// Minutes in which the wallet can answer: 1 to 10.
    #[serde(default = "default_minutes")]
    #[schemars(range(min = 1, max = MAX_REQUEST_MINUTES))]
    pub request_minutes: u64,
    /// Level that a presentation of these credentials proves.
    #[serde(default = "highest_level")]
    pub level: Level,
    /// Claims that together identify a person permanently: each required by every credential.
    pub subject_claims: Vec<String>,
    /// Accepted signature algorithms of issuers and holders.
    #[serde(default = "default_algs")]
    pub algs: Vec<CredentialAlg>,
    /// What happens if the status list of a credential can't be fetched: `refuse` or `accept`.
    #[serde(default)]
    pub unreachable_status: UnreachableStatusPolicy,
    /// Allows http for status lists and trust lists. For tests only.
    #[serde(default)]
    pub insecure_http: bool,
    /// Hosts that may resolve to loopback, link-local or private addresses.
    #[serde(default)]
    pub internal_hosts: Vec<String>,
    /// `[[kind.openid4vp.credentials]]`: the accepted credentials. The wallet presents one.
    pub credentials: Vec<CredentialSettings>,
}

/// A credential that the wallet can present.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CredentialSettings {
    /// Name of the query: letters, digits, `_` and `-`.
    pub id: String,
    /// Format: `dc+sd-jwt` or `mso_mdoc`.
    pub format: CredentialFormat,
    /// Accepted `vct` values of an SD-JWT VC, or the document type of an mdoc.
    pub types: Vec<String>,
    /// PEM file of the authorities that issue this credential, instead of `trust_anchors` and of
    /// `trust_lists` that name no credential.
    #[serde(default)]
    pub trust_anchors: Option<AuthoritiesPath>,
    /// The only issuers of this credential: the subjects of their certificates as
    /// `passerelle check connector --sample` shows them, or `sha256:` and the fingerprints. Default:
    /// every issuer below the authorities.
    #[serde(default)]
    pub issuers: Vec<String>,
    /// Namespace of the claims of an mdoc. Default: the document type.
    #[serde(default)]
    pub namespace: Option<String>,
    /// Claims that the wallet must disclose: names, or paths such as `/place_of_birth/locality`.
    pub claims: Vec<String>,
    /// Claims that it may leave out.
    #[serde(default)]
    pub optional_claims: Vec<String>,
    /// Claims of an mdoc that the hub or a service keeps for longer than the login
    /// (`intent_to_retain`). Wallets show it to their users.
    #[serde(default)]
    pub retained_claims: Vec<String>,
}

/// A wallet on the user's device.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WalletSettings {
    /// Name of the wallet on the page. Without it the link says "my wallet".
    #[serde(default)]
    pub name: Option<String>,
    /// Scheme such as `openid4vp://` or `haip-vp://`, or the wallet's https address.
    pub url: String,
}

/// A list of trusted issuers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustListSettings {
    /// Address of the list.
    pub url: String,
    /// PEM file of who may sign the list.
    pub signers: AuthoritiesPath,
    /// Accepted `ServiceTypeIdentifier` values. Default: all.
    #[serde(default)]
    pub service_types: Vec<String>,
    /// The credentials, by `id`, whose issuers it has. Default: those without `trust_anchors` of
    /// their own.
    #[serde(default)]
    pub credentials: Vec<String>,
}

fn any_wallet() -> Vec<WalletSettings> {
    vec![WalletSettings { name: None, url: any_wallet_url() }]
}

fn any_wallet_url() -> String {
    "openid4vp://".to_owned()
}

const fn default_minutes() -> u64 {
    5
}

const fn highest_level() -> Level {
    Level::Eidas3
}

fn default_algs() -> Vec<CredentialAlg> {
    vec![CredentialAlg::ES256]
}
