"""An ordinary service provider, which knows OpenID Connect and nothing of this hub: Authlib, as its documentation has it.

    ordinary.py     reads its registration as JSON from standard input, signs a user in twice, prints what it read
"""

import json
import sys
import urllib.parse

from authlib.integrations.base_client.sync_app import OAuth2Mixin
from authlib.integrations.base_client.sync_openid import OpenIDMixin
from authlib.integrations.requests_client import OAuth2Session

from browser import Browser


class Client(OAuth2Mixin, OpenIDMixin):
    """What Authlib's clients for Flask and Django are made of, without a web framework. `get` is the library's too."""

    client_cls = OAuth2Session

    def get(self, url, **kwargs):
        return self.request("GET", url, **kwargs)


def returned(back):
    if not isinstance(back, str):
        sys.exit(f"the browser did not come back: {back.url}: {back.html[:2000]}")
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(back).query, strict_parsing=True))


def tokens(client, registered, asked, answer):
    if answer.get("state") != asked["state"]:
        sys.exit("state did not come back as sent")
    token = client.fetch_access_token(code=answer["code"], redirect_uri=registered["redirect_uri"])
    return token, dict(client.parse_id_token(token, nonce=asked["nonce"]))


def main():
    registered = json.load(sys.stdin)
    client = Client(
        None,
        client_id=registered["client_id"],
        client_secret=registered["client_secret"],
        server_metadata_url=f"{registered['issuer']}/.well-known/openid-configuration",
        # Authlib gives a token up a minute before its end, and these live for a minute.
        client_kwargs={"scope": registered["scope"], "leeway": 5, "trust_env": False},
    )
    browser = Browser(registered["redirect_uri"])

    asked = client.create_authorization_url(registered["redirect_uri"])
    choice = browser.open(asked["url"])
    upstream = browser.submit(choice, "/provider", provider=registered["provider"])
    answer = returned(browser.submit(upstream, login=registered["login"], password="any"))
    token, id_token = tokens(client, registered, asked, answer)
    userinfo = dict(client.userinfo(token=token))

    asked = client.create_authorization_url(registered["redirect_uri"], prompt="none")
    _, again = tokens(client, registered, asked, returned(browser.open(asked["url"])))

    asked = client.create_authorization_url(registered["redirect_uri"], prompt="none")
    stranger = returned(Browser(registered["redirect_uri"]).open(asked["url"]))
    print(json.dumps({"id_token": id_token, "userinfo": userinfo, "again": again, "stranger": stranger}))


if __name__ == "__main__":
    main()
