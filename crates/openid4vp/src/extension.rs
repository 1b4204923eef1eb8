//! What the crate adds to the hub besides the kind of connector.

use passerelle_audit::EventKind;
use passerelle_extension::Extension;
use passerelle_localization::message_texts;
use passerelle_store::Usage;
use passerelle_telemetry::{ExtensionMetric, ExtensionMetricType};
use passerelle_web::endpoint::Endpoint;

use super::presentation_request::WALLET_REQUEST;
use super::{endpoints, error_codes};

/// Requests that wallets have, two at most for each login, for some minutes. They take a kilobyte or
/// two.
const WALLET_REQUEST_USAGE: Usage = Usage { records: 50_000, bytes: 128 << 20 };

pub(super) static PRESENTATIONS: ExtensionMetric = ExtensionMetric {
    name: "wallet_presentations_total",
    metric_type: ExtensionMetricType::Counter,
    labels: &["connector", "outcome", "reason"],
    help: "Presentations of wallets by outcome: accepted, rejected, declined; reason is the rule that a rejected one breaks.",
};

/// The routes, pages, errors, records and metrics of wallets.
pub const EXTENSION: Extension = Extension {
    error_codes: error_codes::ALL,
    messages: message_texts!(),
    metrics: &[&PRESENTATIONS],
    record_kinds: &[(WALLET_REQUEST, |_| WALLET_REQUEST_USAGE)],
    endpoints: wallet_endpoints,
    ..Extension::new("openid4vp")
};

fn wallet_endpoints() -> Vec<Endpoint> {
    let step = |path| Endpoint::at(path).rejected_as(EventKind::StepRefused).traced();
    let program = |path| Endpoint::at(path).rejected_as(EventKind::CallbackRefused).for_programs();
    vec![
        step("/connectors/{connector}/wallet").get(endpoints::show_page),
        step("/connectors/{connector}/wallet/other-device")
            .get(endpoints::show_other_device)
            .post(endpoints::submit_code),
        step("/connectors/{connector}/wallet/digital-credential")
            .post(endpoints::submit_digital_credential),
        step("/connectors/{connector}/wallet/code").get(endpoints::show_code),
        program("/api/v2/wallet/{connector}/{request}")
            .get(endpoints::get_request)
            .post(endpoints::post_request),
        program("/api/v2/wallet/{connector}/{request}/response").post(endpoints::post_response),
    ]
}
