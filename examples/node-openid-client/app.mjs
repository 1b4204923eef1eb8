// Signs a person in with Passerelle by openid-client and Express, and out again.
import express from 'express';
import session from 'express-session';
import * as oidc from 'openid-client';

const {
  ISSUER = 'http://localhost:8080/api/v2', CLIENT_ID = 'example', CLIENT_SECRET = 'not-a-secret-for-the-demo-on-loopback',
  SESSION_SECRET = oidc.randomState(), PORT = '3000', BASE_URL = `http://localhost:${PORT}`,
} = process.env;

// Without these metadata the library expects RS256, and JSON from userinfo.
const signed = { id_token_signed_response_alg: 'ES256', userinfo_signed_response_alg: 'ES256' };
const insecure = ISSUER.startsWith('http://localhost:') ? [oidc.allowInsecureRequests] : []; // the demo
const hub = await oidc.discovery(new URL(ISSUER), CLIENT_ID, signed, oidc.ClientSecretPost(CLIENT_SECRET), {
  execute: [oidc.enableNonRepudiationChecks, ...insecure],
});

const escape = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
const app = express();
app.use(session({ secret: SESSION_SECRET, resave: false, saveUninitialized: false, cookie: { sameSite: 'lax' } }));

app.get('/', (request, response) => {
  const { person } = request.session;
  response.send(person
    ? `<h1>${escape(`${person.given_name} ${person.family_name}`)}</h1><p><a href="/logout">Sign out</a></p>`
    : '<h1>My application</h1><p><a href="/login">Sign in with Passerelle</a></p>');
});

app.get('/login', async (request, response) => {
  const login = { state: oidc.randomState(), nonce: oidc.randomNonce(), verifier: oidc.randomPKCECodeVerifier() };
  request.session.login = login;
  response.redirect(oidc.buildAuthorizationUrl(hub, {
    redirect_uri: `${BASE_URL}/callback`, scope: 'openid profile email', acr_values: 'eidas1', state: login.state, nonce: login.nonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(login.verifier), code_challenge_method: 'S256',
  }).href);
});

app.get('/callback', async (request, response) => {
  const { state, nonce, verifier } = request.session.login ?? {};
  const tokens = await oidc.authorizationCodeGrant(hub, new URL(request.url, BASE_URL), {
    expectedState: state ?? 'none', expectedNonce: nonce, pkceCodeVerifier: verifier,
  });
  const person = await oidc.fetchUserInfo(hub, tokens.access_token, tokens.claims().sub);
  request.session.regenerate(() => {
    Object.assign(request.session, { person, idToken: tokens.id_token });
    response.redirect('/');
  });
});

app.get('/logout', (request, response) => {
  const url = oidc.buildEndSessionUrl(hub, {
    id_token_hint: request.session.idToken ?? '', post_logout_redirect_uri: `${BASE_URL}/signed-out`, state: oidc.randomState(),
  });
  request.session.destroy(() => response.redirect(url.href));
});

app.get('/signed-out', (request, response) => response.redirect('/'));

app.listen(PORT, '127.0.0.1');
