// Signs a person in with Passerelle by oidc-client-ts, and out again, in a page without a server of its own.
const { issuer, client_id } = await (await fetch('settings.json')).json();
const manager = new oidc.UserManager({
  authority: issuer, client_id, redirect_uri: `${location.origin}/`, post_logout_redirect_uri: `${location.origin}/`,
  scope: 'openid profile email', extraQueryParams: { acr_values: 'eidas1' },
  loadUserInfo: true, // names are in userinfo only
  automaticSilentRenew: false, // tokens live 60 seconds and are not renewed; the hub shows its page at each login
});
const random = () => btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32)))).replace(/\W/g, '');
const element = (id) => document.getElementById(id);

const query = new URLSearchParams(location.search);
try {
  if (query.has('code') || query.has('error')) await manager.signinCallback();
  else if (query.has('state')) await manager.signoutCallback();
} finally {
  history.replaceState(null, '', '/');
}

const user = await manager.getUser();
if (user) document.querySelector('h1').textContent = `${user.profile.given_name} ${user.profile.family_name}`;
element('sign-in').hidden = Boolean(user);
element('sign-out').hidden = !user;
element('sign-in').onclick = () => manager.signinRedirect({ nonce: random() });
// The library sends the state, which the hub requires, only if there is something to keep in it.
element('sign-out').onclick = () => manager.signoutRedirect({ state: 'signed out' });
