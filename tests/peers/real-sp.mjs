// A small service provider (npm openid-client) with pages: they show the user's claims and which hub answered each request.
import { createServer } from 'node:http';
import * as oidc from 'openid-client';

const escape = (value) => String(value).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
const page = (title, body) => `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title><style>
body { font: 1rem/1.5 sans-serif; margin: 2rem auto; max-width: 46rem; padding: 0 1rem } table { border-collapse: collapse; margin: 1rem 0 }
td, th { border: 1px solid #bbb; padding: .2rem .6rem; overflow-wrap: anywhere; text-align: left } a.button { background: #1f4fa3; border-radius: 4px; color: #fff; display: inline-block; padding: .6rem 1.2rem; text-decoration: none }
</style></head><body><main><h1>${title}</h1>${body}</main></body></html>`;
const rows = (heads, lines) => `<table><tr>${heads.map((head) => `<th>${head}</th>`).join('')}</tr>${
  lines.map((line) => `<tr>${line.map((cell) => `<td>${escape(cell)}</td>`).join('')}</tr>`).join('')}</table>`;
const BUTTON = '<p><a class="button" href="/sign-in">Sign in</a></p>';

/**
 * Listens on `port` of loopback. `readForwardedRequests()` returns what the balancer forwarded since its last call, each
 * { request, hub }.
 */
export async function startService({ port, issuer, id, secret, redirectUri, postLogoutUri, readForwardedRequests }) {
  const client = await oidc.discovery(new URL(issuer), id, { id_token_signed_response_alg: 'ES256', userinfo_signed_response_alg: 'ES256' },
    oidc.ClientSecretPost(secret), { execute: [oidc.allowInsecureRequests, oidc.enableNonRepudiationChecks] });
  const pending = new Map();

  async function signIn() {
    const [state, nonce, verifier] = [oidc.randomState(), oidc.randomNonce(), oidc.randomPKCECodeVerifier()];
    pending.set(state, { nonce, verifier });
    readForwardedRequests();
    return oidc.buildAuthorizationUrl(client, {
      redirect_uri: redirectUri, scope: 'openid profile', acr_values: 'eidas1', state, nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256',
    }).href;
  }

  async function completeLogin(url) {
    const { nonce, verifier } = pending.get(url.searchParams.get('state')) ?? {};
    pending.delete(url.searchParams.get('state'));
    const tokens = await oidc.authorizationCodeGrant(client, url, { pkceCodeVerifier: verifier, expectedNonce: nonce, expectedState: url.searchParams.get('state') });
    const claims = await oidc.fetchUserInfo(client, tokens.access_token, tokens.claims().sub);
    const logoutUrl = oidc.buildEndSessionUrl(client, { id_token_hint: tokens.id_token, post_logout_redirect_uri: postLogoutUri, state: oidc.randomState() }).href;
    const shown = Object.entries(claims).filter(([name]) => !['aud', 'exp', 'iat', 'iss'].includes(name));
    return page('Signed in', `<h2>Claims</h2>${rows(['claim', 'value'], shown)}
<h2>Which hub answered</h2>${rows(['request', 'answered by'], readForwardedRequests().map(({ request, hub }) => [request, hub]))}
${BUTTON}<p><a href="${escape(logoutUrl)}">Sign out</a></p>`);
  }

  const server = createServer(async (request, response) => {
    const url = new URL(request.url, redirectUri);
    const show = (status, html) => response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' }).end(html);
    try {
      if (url.pathname === '/sign-in') response.writeHead(303, { location: await signIn() }).end();
      else if (url.pathname === new URL(redirectUri).pathname) show(200, await completeLogin(url));
      else if (url.pathname === new URL(postLogoutUri).pathname) show(200, page('Signed out', BUTTON));
      else if (url.pathname === '/') show(200, page('Town hall', BUTTON));
      else show(404, page('Not found', '<p><a href="/">Back</a></p>'));
    } catch (error) {
      show(502, page('Sign-in failed', `<p>${escape(error.cause?.message ?? error.message)}</p>${BUTTON}`));
    }
  });
  await new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  return { close: () => new Promise((done) => { server.close(done); server.closeAllConnections(); }) };
}
