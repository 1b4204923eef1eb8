"""Plugin of spid-sp-test: begins a login at the hub and posts a response, as a browser does.

`AUTHN_URL` is an authorization URL whose `idp_hint` leads to the connector. `RETURN` is the redirect URI of the service provider.
"""
import base64
import os
import zlib
from types import SimpleNamespace
from urllib.parse import parse_qs, urljoin, urlsplit


class Hub:
    def __init__(self, session, url, *_):
        self.session, self.url = session, url

    def follow(self, response):
        """Follows redirects to other pages of the hub; returns the page, or the redirect that leaves it."""
        hub = urlsplit(self.url).netloc
        while response.is_redirect:
            location = urljoin(response.url, response.headers["location"])
            if urlsplit(location).netloc != hub or location.startswith(os.environ["RETURN"]):
                return location
            response = self.session.get(location, allow_redirects=False)
        return response

    def request(self):
        location = self.follow(self.session.get(self.url, allow_redirects=False))
        query = {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}
        xml = zlib.decompress(base64.b64decode(query["SAMLRequest"]), -15).decode()
        return {"SAMLRequest_xml": xml.encode(), "SAMLRequest_redirect": location, "requests_session": self.session, **query}

    def response(self, url, data):
        page = self.follow(self.session.post(url, data=data, allow_redirects=False))
        if isinstance(page, str):
            accepted = "code" in parse_qs(urlsplit(page).query)
            return SimpleNamespace(status_code=200 if accepted else 403, content=page.encode())
        return SimpleNamespace(status_code=403 if page.status_code >= 400 else page.status_code, content=page.content)
