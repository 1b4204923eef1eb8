//! The pages for wallets below `/connectors/{connector}/wallet`, and the endpoints that wallets
//! call, `/api/v2/wallet/{connector}/{request}`.
//!
//! The pages belong to one login: only the browser that started it sees them. A wallet's response
//! returns to the hub's callback through the browser, like any identity provider's response, and is
//! of no use in another browser.

use actix_web::http::header::CONTENT_TYPE;
use actix_web::{HttpResponse, web};
use qrcodegen::{QrCode, QrCodeEcc};
use serde_json::json;

use super::WalletConnector;
use super::error_codes;
use super::pages::{
    ConfirmationCodePage, DigitalCredentialsForm, OpenWalletPage, OtherDevicePage, QrImage,
    WalletCodeError,
};
use super::wallet_page::{WalletConfirmation, WalletResponse};
use passerelle_connector::ConnectorError;
use passerelle_grants::error::GrantError;
use passerelle_hub::Connectors;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{ConnectorId, Secret};
use passerelle_protocol::params::Params;
use passerelle_web::csrf::FormPurpose;
use passerelle_web::form::{self, FormError};
use passerelle_web::page_attempt::PageAttempt;
use passerelle_web::page_models::LoginPageContext;
use passerelle_web::pages::{HiddenField, connector_logo_path};
use passerelle_web::rejection::Rejection;
use passerelle_web::request_context::RequestContext;
use passerelle_web::responses::{
    BASE_PATH, interaction_path, json_response, page_response, see_other,
};

/// Sends the code that another device shows; binds the attempt's `state`.
const CONFIRM_WALLET: FormPurpose = FormPurpose("confirm wallet");
/// Sends what the Digital Credentials API returned; binds the attempt's `state`.
const PRESENT_CREDENTIAL: FormPurpose = FormPurpose("present credential");
/// Media type of a request object (RFC 9101 §10.2).
const REQUEST_OBJECT: &str = "application/oauth-authz-req+jwt";

/// Handles `GET /connectors/{connector}/wallet`: says what the wallet will be asked for, and links
/// to it.
pub(crate) async fn show_page(
    context: RequestContext,
    path: web::Path<String>,
) -> Result<HttpResponse, Rejection> {
    let query = context.query().unwrap_or_default();
    let attempt = verify_attempt(&context, path.into_inner(), query.get("state")).await?;
    let PageAttempt { connector, state, login, summary } = &attempt;
    let offer = with_wallet(&context, connector, async |wallet| wallet.offer(state).await).await;
    let offer = offer.map_err(|code| wallet_rejection(&attempt, code))?;
    let login = LoginPageContext::new(&context, login, summary);
    let logo = login.hub.connectors.logo(connector);
    let page = OpenWalletPage {
        provider: login.hub.provider_name(connector, &login.locale).unwrap_or_default(),
        logo: logo.map(|logo| connector_logo_path(connector.as_str(), &logo)),
        service: login.service_name(),
        claims: offer.claims,
        digital_credentials: offer.digital_credentials_request.map(|request| {
            let purpose = PRESENT_CREDENTIAL;
            DigitalCredentialsForm {
                request,
                action: format!("/connectors/{connector}/wallet/digital-credential"),
                hidden: vec![
                    HiddenField::new("state", state.as_str()),
                    HiddenField::new("csrf", login.form_token(purpose, state)),
                ],
            }
        }),
        links: offer.links,
        other_device_url: offer
            .allows_other_device
            .then(|| format!("/connectors/{connector}/wallet/other-device?state={state}")),
        back_url: interaction_path(login.hash()),
    };
    Ok(page_response(login.hub, 200, &login.locale, |chrome| page.render(chrome)))
}

/// Handles `GET /connectors/{connector}/wallet/other-device`: shows the QR code.
pub(crate) async fn show_other_device(
    context: RequestContext,
    path: web::Path<String>,
) -> Result<HttpResponse, Rejection> {
    let query = context.query().unwrap_or_default();
    let attempt = verify_attempt(&context, path.into_inner(), query.get("state")).await?;
    other_device_response(&context, &attempt, None).await
}

/// Handles the code that the user typed.
pub(crate) async fn submit_code(
    context: RequestContext,
    path: web::Path<String>,
    body: web::Payload,
) -> Result<HttpResponse, Rejection> {
    let params = form::parse_body(&context.request, body).await?;
    let attempt = verify_attempt(&context, path.into_inner(), params.get("state")).await?;
    let attempt = attempt.verify_form(&context.request, CONFIRM_WALLET, params.get("csrf"))?;
    let (connector, state) = (&attempt.connector, attempt.state.as_str());
    let typed = params.get("code").unwrap_or_default();
    let confirmed =
        with_wallet(&context, connector, async |wallet| wallet.confirm(state, typed).await).await;
    let error = match confirmed.map_err(|code| wallet_rejection(&attempt, code))? {
        WalletConfirmation::Accepted(query) => {
            return Ok(see_other(&format!("{BASE_PATH}/callback/{connector}?{}", query.reveal())));
        }
        WalletConfirmation::Waiting => WalletCodeError::Waiting,
        WalletConfirmation::Wrong => WalletCodeError::Wrong,
        WalletConfirmation::Exhausted => WalletCodeError::Exhausted,
    };
    other_device_response(&context, &attempt, Some(error)).await
}

/// Handles what the Digital Credentials API returned to the script of the page.
pub(crate) async fn submit_digital_credential(
    context: RequestContext,
    path: web::Path<String>,
    body: web::Payload,
) -> Result<HttpResponse, Rejection> {
    let params = form::parse_body(&context.request, body).await?;
    let attempt = verify_attempt(&context, path.into_inner(), params.get("state")).await?;
    let purpose = PRESENT_CREDENTIAL;
    let attempt = attempt.verify_form(&context.request, purpose, params.get("csrf"))?;
    let (connector, state) = (&attempt.connector, attempt.state.as_str());
    let response = wallet_response(&params).map_err(|code| wallet_rejection(&attempt, code))?;
    let query = with_wallet(&context, connector, async |wallet| {
        wallet.receive_api_response(state, response).await
    })
    .await;
    let query = query.map_err(|code| wallet_rejection(&attempt, code))?;
    Ok(see_other(&format!("{BASE_PATH}/callback/{connector}?{}", query.reveal())))
}

async fn other_device_response(
    context: &RequestContext,
    attempt: &PageAttempt,
    error: Option<WalletCodeError>,
) -> Result<HttpResponse, Rejection> {
    let PageAttempt { connector, state, login, summary } = attempt;
    let service = &summary.client_id;
    let link = with_wallet(context, connector, async |wallet| {
        wallet.other_device_link(state, service).await
    })
    .await;
    let link = link.map_err(|code| wallet_rejection(attempt, code))?;
    let login = LoginPageContext::new(context, login, summary);
    let page = OtherDevicePage {
        service: login.service_name(),
        qr: qr_image(&link).ok_or(Rejection::OutsideLogin(ErrorCode::Internal))?,
        action: format!("/connectors/{connector}/wallet/other-device"),
        hidden: vec![
            HiddenField::new("state", state.as_str()),
            HiddenField::new("csrf", login.form_token(CONFIRM_WALLET, state)),
        ],
        error,
        back_url: interaction_path(login.hash()),
    };
    let status = if error.is_some() { 403 } else { 200 };
    Ok(page_response(login.hub, status, &login.locale, |chrome| page.render(chrome)))
}

/// Handles `GET /connectors/{connector}/wallet/code`: the device with the wallet shows the code to
/// type into the browser that began.
pub(crate) async fn show_code(
    context: RequestContext,
    path: web::Path<String>,
) -> Result<HttpResponse, Rejection> {
    let (hub, connector) = (&context.hub, ConnectorId::new(path.into_inner()));
    let query = context.query().unwrap_or_default();
    let (Some(request), Some(secret)) = (query.get("request"), query.get("secret")) else {
        return Err(Rejection::malformed(ErrorCode::BadRequest));
    };
    let code = with_wallet(&context, &connector, async |wallet| {
        wallet.confirmation_code(request, secret).await
    })
    .await;
    let code = code.map_err(Rejection::OutsideLogin)?;
    let locale = context.locale(&[]);
    let page = ConfirmationCodePage {
        service: hub.service_name(&code.service, &locale).unwrap_or_default(),
        code: code.code,
    };
    Ok(page_response(hub, 200, &locale, |chrome| page.render(chrome)))
}

/// Handles `GET /api/v2/wallet/{connector}/{request}`.
pub(crate) async fn get_request(
    context: RequestContext,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, Rejection> {
    let (connector, request) = path.into_inner();
    request_response(&context, &connector.as_str().into(), &request, None).await
}

/// Handles `POST /api/v2/wallet/{connector}/{request}` (`request_uri_method=post`).
pub(crate) async fn post_request(
    context: RequestContext,
    path: web::Path<(String, String)>,
    body: web::Payload,
) -> Result<HttpResponse, Rejection> {
    let (connector, request) = path.into_inner();
    let params = form::parse_body(&context.request, body).await;
    let params = params.map_err(|error| rejection_of_caller(&context, error.code()))?;
    let nonce = params
        .single("wallet_nonce")
        .map_err(|_| rejection_of_caller(&context, ErrorCode::BadRequest))?;
    request_response(&context, &connector.as_str().into(), &request, nonce).await
}

async fn request_response(
    context: &RequestContext,
    connector: &ConnectorId,
    request: &str,
    wallet_nonce: Option<&str>,
) -> Result<HttpResponse, Rejection> {
    let signed = with_wallet(context, connector, async |wallet| {
        wallet.request_object(request, wallet_nonce).await
    })
    .await;
    let signed = signed.map_err(|code| rejection_of_caller(context, code))?;
    Ok(HttpResponse::Ok().insert_header((CONTENT_TYPE, REQUEST_OBJECT)).body(signed))
}

/// Handles `POST /api/v2/wallet/{connector}/{request}/response` (OpenID4VP 1.0 §8.2).
pub(crate) async fn post_response(
    context: RequestContext,
    path: web::Path<(String, String)>,
    body: web::Payload,
) -> Result<HttpResponse, Rejection> {
    let (connector, request) = path.into_inner();
    let response =
        read_response(&context, body).await.map_err(|code| rejection_of_caller(&context, code))?;
    let connector = ConnectorId::new(connector);
    let received = with_wallet(&context, &connector, async |wallet| {
        wallet.receive_response(&request, response).await
    });
    match received.await {
        Ok(Some(redirect_uri)) => {
            Ok(json_response(json!({ "redirect_uri": redirect_uri }).to_string()))
        }
        Ok(None) => Ok(json_response("{}")),
        Err(code) => Err(rejection_of_caller(&context, code)),
    }
}

async fn read_response(
    context: &RequestContext,
    body: web::Payload,
) -> Result<WalletResponse, ErrorCode> {
    let params = form::parse_body(&context.request, body).await.map_err(FormError::code)?;
    wallet_response(&params)
}

fn wallet_response(params: &Params) -> Result<WalletResponse, ErrorCode> {
    let single = |name| params.single(name).map_err(|_| error_codes::WALLET_RESPONSE_MALFORMED);
    match (single("response")?, single("error")?) {
        (Some(response), None) => Ok(WalletResponse::Encrypted(Secret::new(response.to_owned()))),
        (None, Some(error)) => Ok(WalletResponse::Error(error.to_owned())),
        // A plain `vp_token` was not asked for: anyone on the way could read it.
        _ => Err(error_codes::WALLET_RESPONSE_MALFORMED),
    }
}

/// Counts a rejected call against the caller's network, as a failed client authentication: anyone
/// can call.
fn rejection_of_caller(context: &RequestContext, code: ErrorCode) -> Rejection {
    if code.entry().status >= 500 {
        return Rejection::Client(code.into());
    }
    let hub = &context.hub;
    let address = || hub.proxies.client_address(&context.request);
    Rejection::Client(match hub.core.rate_limits.check_failed_authentication(address) {
        Ok(()) => code.into(),
        Err(over) => GrantError::from(over),
    })
}

/// Calls the connector, if it is one to wallets.
async fn with_wallet<T>(
    context: &RequestContext,
    id: &ConnectorId,
    call: impl AsyncFnOnce(&WalletConnector) -> Result<T, ConnectorError>,
) -> Result<T, ErrorCode> {
    let called = context.hub.connectors.with_own_pages(id, call).await;
    called.ok_or(ErrorCode::NotFound)?.map_err(|error| {
        tracing::info!(connector = %id, code = error.code.entry().code, detail = error.detail, "request of a wallet failed");
        error.code
    })
}

async fn verify_attempt(
    context: &RequestContext,
    connector: String,
    state: Option<&str>,
) -> Result<PageAttempt, Rejection> {
    PageAttempt::verify(context, connector, state, Connectors::has_own_pages::<WalletConnector>)
        .await
}

/// Returns the rejection for a request that can't be shown. One that has expired or was answered
/// leads back to the choice page, where the user starts again.
fn wallet_rejection(attempt: &PageAttempt, code: ErrorCode) -> Rejection {
    match code {
        error_codes::WALLET_REQUEST_UNKNOWN => Rejection::OutdatedForm(attempt.login.hash.clone()),
        code => Rejection::OutsideLogin(code),
    }
}

/// Returns the QR code of a link.
fn qr_image(link: &str) -> Option<QrImage> {
    let code = QrCode::encode_text(link, QrCodeEcc::Low).ok()?;
    let dark = |(x, y): (i32, i32)| code.get_module(x, y).then(|| format!("M{x} {y}h1v1h-1z"));
    let modules = (0..code.size()).flat_map(|y| (0..code.size()).map(move |x| (x, y)));
    Some(QrImage { size: code.size(), path: modules.filter_map(dark).collect() })
}
