// Runs the identity provider (oidc-provider) as a process: node idp.mjs PORT REDIRECT_URI POST_LOGOUT_REDIRECT_URI
import { IDP_CLIENT, IDP_SECRET } from '../peers/harness.mjs';
import { startIdp } from '../peers/real-idp.mjs';

const [port, redirectUri, postLogoutUri] = process.argv.slice(2);
const idp = await startIdp({
  port: Number(port), clientId: IDP_CLIENT, clientSecret: IDP_SECRET, redirectUris: [redirectUri], userinfoAlg: 'ES256',
  client: { post_logout_redirect_uris: [postLogoutUri] },
});
// Nothing reads the recorded responses: the arrays must not grow.
setInterval(() => {
  for (const fault of idp.faults.splice(0)) console.error(fault);
  idp.answers.length = 0;
}, 1000);
